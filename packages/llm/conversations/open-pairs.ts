/** Pairs of the kept tokens: those that are not left out, and that fit. */
import { statSync } from 'node:fs'
import { SourceError } from '../../core/basics/errors.js'
import type { ChatJson } from '../../core/define/types.js'
import type { Manifest, Source } from '../../core/source/source.js'
import type { KeptChat } from './kept.js'
import { readIndex } from './kept-index.js'
import { PARTS, type PairsManifest } from './pairs-source.js'

export function openPairs(json: ChatJson, inner: Manifest, source: Source, kept: KeptChat): PairsManifest {
  const { length, long = 'truncate', naming } = json
  const { lengths, bytes } = readIndex(kept.idx)
  const rows: number[] = []
  for (let row = 0; row < source.count; row++) {
    const [prompt, chosen, rejected] = lengths.subarray(PARTS * row, PARTS * (row + 1))
    if (chosen + rejected === 0) continue
    const longest = prompt + Math.max(chosen, rejected)
    // What is cut to its prompt alone has nothing to prefer.
    if (longest > length && (long === 'drop' || prompt >= length)) continue
    rows.push(row)
  }
  if (rows.length === 0)
    throw new SourceError(
      `chat: none of ${source.count} pairs fits into a length of ${length}: raise "length"`,
    )
  const starts = new Float64Array(new SharedArrayBuffer(8 * (lengths.length + 1)))
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + lengths[i]
  const kept_ = new Uint32Array(new SharedArrayBuffer(4 * rows.length))
  kept_.set(rows)
  const { size, mtimeMs } = statSync(kept.bin)
  return {
    kind: 'chat',
    fingerprint: { kind: 'chat', count: rows.length, digest: '' },
    indexBytes: starts.byteLength + kept_.byteLength + inner.indexBytes,
    inner,
    file: { path: kept.bin, version: { size, mtimeMs } },
    bytes,
    starts,
    rows: kept_,
    length,
    ...(naming && { naming }),
  }
}
