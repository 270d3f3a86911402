/**
 * Datasets and functions in Python for tests, pickled as the Python package would: a module in a temporary folder, and
 * payloads that refer to it. Needs `python3`; arrays and random generators need numpy as well.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FeedJson, type OpenOptions, using } from './engine.js'
import { temporaryFolder } from './folder.js'

const MAKER = join(import.meta.dirname, '../../python/millrace/_data/worker.py')

/** The command of a Python maker. */
export const command = ['python3', MAKER]

/** Options that let a definition run what is in it. */
export const withPython = { allowCode: true, python: command }

const probe = spawnSync('python3', ['-c', 'import numpy'])
/** Why tests with Python are skipped; undefined when they needn't be. */
export const withoutPython =
  probe.error !== undefined ? 'there is no python3' : probe.status !== 0 ? 'python3 has no numpy' : undefined

let modules = 0

/** A module of the user's: its code, and payloads made of expressions in it. */
export class PythonModule {
  private readonly folder = temporaryFolder()
  private readonly name = `user_module_${process.pid}_${modules++}`
  private payloads = 0

  constructor(code: string) {
    writeFileSync(join(this.folder, `${this.name}.py`), code)
  }

  dataset(expression: string, count: number, rest: { iterable?: boolean; columns?: string[] } = {}) {
    const { iterable = false, columns } = rest
    const names = columns ? JSON.stringify(columns) : 'None'
    const inner = `{"dataset": ${expression}, "columns": ${names}, "map": None, "count": ${iterable ? count : 'None'}}`
    const payload = this.pickle('dataset', inner)
    const hash = createHash('sha256').update(readFileSync(payload)).digest('hex').slice(0, 32)
    const python = { payload, hash, count, name: expression, ...(iterable && { iterable }) }
    return { python } satisfies FeedJson['source']
  }

  call(expression: string): { call: { module: string; export: string; hash: string } } {
    const module = `python:${this.pickle('function', expression)}`
    return { call: { module, export: 'map', hash: expression } }
  }

  private pickle(kind: string, expression: string): string {
    const path = join(this.folder, `payload-${this.payloads++}.pickle`)
    const code = [
      'import pickle, sys',
      `sys.path.insert(0, ${JSON.stringify(this.folder)})`,
      `from ${this.name} import *`,
      `with open(${JSON.stringify(path)}, "wb") as file:`,
      `    pickle.dump({"kind": "${kind}", "path": [${JSON.stringify(this.folder)}], "main": None, "argv": [""]}, file)`,
      `    pickle.dump(${expression}, file)`,
    ]
    const made = spawnSync('python3', ['-c', code.join('\n')], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(made.stderr)
    return path
  }
}

/** All numbers of a field, over one epoch. */
export function labels(json: FeedJson, options: OpenOptions = {}, field = 'label'): Promise<number[]> {
  return using(json, { ...withPython, ...options }, async loader => {
    const out: number[] = []
    for await (const batch of loader) out.push(...Array.from(batch.get(field) as BigInt64Array, Number))
    return out
  })
}

/** A feed of samples that are one number each. */
export function simple(source: FeedJson['source'], rest: Partial<FeedJson> = {}): FeedJson {
  return { source, fields: { label: { from: '0', as: 'int' } }, batch: 8, ...rest }
}

/** 0, 1, … */
export const counted = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
