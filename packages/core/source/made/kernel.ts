/**
 * Samples that a user's CUDA kernel makes on the GPU. There is nothing to read and nothing to decode: a row is a number. The
 * manifest carries the kernel's text to the process that launches it.
 */

import { createHash } from 'node:crypto'
import { kernelThreads } from '../../define/check/kernel.js'
import type { KernelJson } from '../../define/types.js'
import type { Columns, Manifest, SourceKind } from '../source.js'
import { readKernel } from './kernel-text.js'
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
