/**
 * Samples that a user's CUDA kernel makes on the GPU. There is nothing to read and nothing to decode: a row is a number. The
 * manifest carries the kernel's text to the process that launches it.
 */

import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { nearest, SourceError } from '../../basics/errors.js'
import { expandHome } from '../../basics/path.js'
import { kernelThreads } from '../../define/check/kernel.js'
import type { KernelJson } from '../../define/types.js'
import { readRegular } from '../../system/files/regular.js'
import type { Columns, Manifest, SourceKind } from '../source.js'
import { MadeSource } from './made-source.js'

export interface KernelManifest extends Manifest {
  kind: 'kernel'
  count: number
  /** Absolute. */
  file: string
  text: string
  /** Files that it includes, by the names in the #include lines. */
  headers: Record<string, string>
  entry: string
  /** Threads for each row. */
  threads: number
  /** Undefined: the order's. */
  seed?: number
  /** In the order of the kernel's arguments. */
  fields: ({ name: string } & KernelJson['fields'][string])[]
}

export const kernel: SourceKind<KernelJson> = {
  async open(json, { root }) {
    const { count, entry, seed, name = '' } = json
    const { file, text, headers } = readKernel(json.file, root, entry)
    const threads = kernelThreads(json)
    const fields = Object.entries(json.fields).map(([field, facts]) => ({ name: field, ...facts }))
    const manifest: KernelManifest = {
      kind: 'kernel',
      fingerprint: { kind: 'kernel', count, digest: digest(name, count) },
      content: digest(text, Object.entries(headers).sort(), entry, threads, seed, fields),
      indexBytes: 0,
      count,
      file,
      text,
      headers,
      entry,
      threads,
      ...(seed !== undefined && { seed }),
      fields,
    }
    return manifest
  },

  attach(manifest) {
    return new KernelSource((manifest as KernelManifest).count, [])
  },
}

function digest(...parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

class KernelSource extends MadeSource {
  sample(_row: number, _epoch: number, columns: readonly string[]): Columns {
    if (columns.length > 0) throw new Error('it is generated on the GPU: there is nothing to read')
    return {}
  }
}

/**
 * The text of a user's CUDA kernel: its file and the files beside it that it includes, since they also decide what it draws.
 * Headers that do not lie there belong to the compiler or to Millrace (`millrace.cuh`).
 */
interface KernelText {
  /** Absolute. */
  file: string
  text: string
  /** Texts of included files, by the names in the #include lines. */
  headers: Record<string, string>
}

/** The header that is given to every kernel; a file of the user's of this name is not looked at. */
const OURS = 'millrace.cuh'

function readKernel(file: string, root: string, entry: string): KernelText {
  const path = resolve(root, expandHome(file))
  const text = read(path, file)
  if (text === undefined) throw new SourceError(missing(path), { file: path })
  const headers: Record<string, string> = {}
  addHeaders(text, path, headers)
  const all = [text, ...Object.values(headers)].join('\n')
  // Macros may put a name together; otherwise it has to stand there.
  if (!all.includes('##') && !new RegExp(`\\b${entry}\\b`).test(all)) {
    const near = nearest(entry, all.match(/\b[A-Za-z_]\w*(?=\s*\()/g) ?? [])
    throw new SourceError(
      `${path} has no function "${entry}"${near === undefined ? ': give its "entry"' : `; did you mean "${near}"?`}`,
      { file: path },
    )
  }
  return { file: path, text, headers }
}

function addHeaders(text: string, includer: string, headers: Record<string, string>): void {
  for (const [, name] of text.matchAll(/^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"/gm)) {
    if (name === OURS) continue
    const path = resolve(dirname(includer), name)
    const found = read(path, name)
    if (found === undefined) continue
    const known = headers[name]
    if (known === found) continue
    if (known !== undefined) {
      throw new SourceError(
        `two different files are included as "${name}", one of them is ${path}: rename one`,
        {
          file: path,
        },
      )
    }
    headers[name] = found
    addHeaders(found, path, headers)
  }
}

/** The text of a file; undefined where there is none. */
function read(path: string, name: string): string | undefined {
  try {
    return readRegular(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SourceError(`${name} can't be read: ${message}`, { file: path, cause: error })
  }
}

function missing(path: string): string {
  try {
    const near = nearest(basename(path), readdirSync(dirname(path)))
    const hint =
      near === undefined ? "a relative path is relative to the definition's file" : `did you mean "${near}"?`
    return `${path}, the file of the kernel, is not there; ${hint}`
  } catch {
    return `${path}, the file of the kernel, is not there, nor is its folder`
  }
}
