/**
 * Random files of every format, written by the reference writers: a feed delivers, in order and shuffled, what the reference readers
 * say, bit for bit. Damaged, they are refused by an error of ours, or deliver rows; where checksums cover all, none but true ones.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Ragged } from '../../packages/all/index.js'
import {
  type AnyBatch,
  type AnyLoader,
  engine,
  type FeedJson,
  type OpenOptions,
  open,
} from '../support/engine.js'
import { temporaryFolder } from '../support/folder.js'
import { damaged } from '../support/fuzz.js'
import { pythonHas, RUNS, SEED } from './support.js'

const COUNT = 1200 * RUNS
/** A damaged file that takes longer than this hangs. */
const LONGEST_MS = 300_000
/** Each of so many files is damaged as well. */
const DAMAGE_EVERY = 2

interface Case {
  seed: number
  format: string
  source: FeedJson['source']
  fields: FeedJson['fields']
  /** For each field its rows, as `told` tells them. */
  rows: Record<string, string[]>
  whole: boolean
}

const ORACLES = ['numpy', 'pyarrow', 'polars', 'duckdb', 'h5py', 'zarr']
const root = temporaryFolder()
const cases: Case[] = []

describe.skipIf(!pythonHas(ORACLES, 'Random files of all formats'))('random files', () => {
  beforeAll(() => {
    process.env.MILLRACE_CACHE = join(root, 'cache')
    const script = join(import.meta.dirname, 'formats.py')
    const made = spawnSync('python3', [script, root, String(SEED), String(COUNT)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 31,
    })
    expect(made.status, made.stderr).toBe(0)
    const all = made.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    cases.push(...all.filter(one => one.unwritten === undefined))
    // A writer may not know what another one does; if it knows little, this test tests little.
    expect(cases.length).toBeGreaterThan(0.9 * COUNT)
  })

  test('are delivered as their reference readers have them', async () => {
    const failures: string[] = []
    for (const one of cases) {
      for (const order of ['none', { shuffle: 'global', seed: one.seed }] as const) {
        const failed = await delivers(one, order).catch((error: Error) => error.message)
        if (failed !== undefined)
          failures.push(`seed ${one.seed}, ${one.format}, ${JSON.stringify(order)}: ${failed}`)
      }
    }
    expect(failures).toEqual([])
  })

  test('that are damaged are refused by name, or deliver rows', async () => {
    const failures: string[] = []
    let refused = 0
    for (const one of cases.filter(({ seed }) => seed % DAMAGE_EVERY === 0)) {
      const place = join(root, String(one.seed))
      const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
        .filter(name => !/(^|\/)\.[^z][^/]*$|\.millrace$/.test(name) && statSync(join(place, name)).isFile())
        .sort()
      const name = files[one.seed % files.length]
      const golden = readFileSync(join(place, name))
      const [bytes] = fc.sample(damaged(golden), { seed: one.seed, numRuns: 1 })
      writeFileSync(join(place, name), bytes)
      const outcome = await Promise.race([
        damagedOutcome(one),
        new Promise<string>(resolve => setTimeout(resolve, LONGEST_MS, 'it hangs').unref()),
      ])
      if (outcome === 'refused') refused++
      else if (outcome !== undefined) failures.push(`seed ${one.seed}, ${one.format}, ${name}: ${outcome}`)
    }
    expect(failures).toEqual([])
    expect(refused).toBeGreaterThan(0)
  })
})

/** Every row that came, by its id; null for a bad one. */
async function read(one: Case, order: FeedJson['order'], options: OpenOptions) {
  const found = new Map<string, Record<string, string> | null>()
  const json: FeedJson = {
    source: one.source,
    fields: one.fields,
    order,
    onError: { policy: 'mask', budget: 1e6 },
    batch: { size: 1 + (one.seed % 37), last: 'keep' },
  }
  const loader = open(json, {
    root: join(root, String(one.seed)),
    epochs: 1,
    notice: () => {},
    ...options,
  }) as AnyLoader
  try {
    for await (const batch of loader) {
      batch.ids.forEach((id, row) => {
        if (found.has(id)) throw new Error(`${id} came twice`)
        found.set(id, batch.valid[row] ? reported(one, batch, row) : null)
      })
    }
  } finally {
    await loader.close()
  }
  return found
}

async function delivers(one: Case, order: FeedJson['order']): Promise<string | undefined> {
  const found = await read(one, order, { workers: order === 'none' ? 0 : 2 })
  const count = Object.values(one.rows)[0].length
  if (found.size !== count) return `${found.size} rows came, of ${count}`
  for (const [id, row] of found) {
    const wrong = wrongIn(one, Number(id.split(':').at(-1)), row)
    if (wrong !== undefined) return `${id}: ${wrong}`
  }
}

/** How a row differs from the reference's. */
function wrongIn(one: Case, at: number, row: Record<string, string> | null): string | undefined {
  const names = Object.keys(one.rows)
  if (row === null) return 'it is bad'
  const name = names.find(name => row[name] !== one.rows[name][at])
  return (
    name &&
    `${name} (${JSON.stringify(one.fields)}) is ${row[name].slice(0, 99)}, not ${one.rows[name][at]?.slice(0, 99)}`
  )
}

/** 'refused', or what is wrong with how a damaged file was read. */
async function damagedOutcome(one: Case): Promise<string | undefined> {
  try {
    const found = await read(one, 'none', { workers: 1 })
    if (!one.whole) return
    for (const [id, row] of found) {
      const wrong = row && wrongIn(one, Number(id.split(':').at(-1)), row)
      if (wrong) return `${id}: ${wrong}`
    }
  } catch (error) {
    return error instanceof engine.MillraceError ? 'refused' : `came out: ${(error as Error).stack}`
  } finally {
    const place = join(root, String(one.seed))
    rmSync(place, { recursive: true })
    mkdirSync(place)
  }
}

/** The fields of a row, as formats.py tells them. */
function reported(one: Case, batch: AnyBatch, row: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(one.fields).map(([name, field]) => {
      const value = batch.get(name)
      if (field.as === 'int') return [name, String((value as BigInt64Array)[row])]
      if (field.as === 'float') return [name, bits((value as Float64Array)[row])]
      if (field.as === 'text') return [name, (value as string[])[row]]
      if (!('offsets' in value)) {
        const array = value as Uint8Array
        const each = array.length / batch.shape(name)[0]
        return [name, hex(array.subarray(row * each, (row + 1) * each))]
      }
      const { values, offsets } = value as Ragged
      return [name, hex(values.subarray(offsets[row], offsets[row + 1]))]
    }),
  )
}

function bits(value: number): string {
  return Number.isNaN(value) ? 'nan' : hex(new Float64Array([value]))
}

function hex({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('hex')
}
