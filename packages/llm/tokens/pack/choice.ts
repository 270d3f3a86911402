/**
 * Which documents belong to a part of a corpus, before they are packed. Each file is divided for itself, so that files that come
 * later move no document.
 *
 *   megatron   stretches of its documents in their order, with the borders that Megatron-LM rounds: half to even
 *   hash       by hash of the file's name and the document's number
 */
import { SourceError } from '../../../core/basics/errors.js'
import type { TokenDocumentsJson } from '../../../core/define/token-types.js'
import { hashKey, place } from '../../../core/source/index/key-hash.js'
import { splitRange } from '../megatron/split.js'

/** Chosen documents, counted through all files. */
export interface Choice {
  has(document: number): boolean
}

/** `files`: their names, and how many documents each has. */
export function chooseDocuments(
  json: TokenDocumentsJson,
  files: readonly { name: string; count: number }[],
): Choice {
  const choice = json.by === 'hash' ? byHash(json, files) : byStretches(json, files)
  if (choice.chosen === 0) {
    const all = files.reduce((sum, { count }) => sum + count, 0)
    throw new SourceError(
      `"documents": share ${json.take} of [${json.split.join(', ')}] has none of the ${all} documents: there are too few for so small a share`,
    )
  }
  return choice
}

/** Borders of the shares, from 0 to 1. */
function sharesOf(split: readonly number[]): number[] {
  const sum = split.reduce((a, b) => a + b, 0)
  const borders = [0]
  for (const share of split) borders.push(borders[borders.length - 1] + share / sum)
  return borders
}

function byStretches(
  { split, take }: TokenDocumentsJson,
  files: readonly { count: number }[],
): Choice & { chosen: number } {
  // Where the stretch of each file begins and ends, and where the file ends.
  const from: number[] = []
  const to: number[] = []
  const ends: number[] = []
  let base = 0
  let chosen = 0
  for (const { count } of files) {
    const stretch = splitRange(split, take, count)
    from.push(base + stretch.from)
    to.push(base + stretch.to)
    ends.push((base += count))
    chosen += to[to.length - 1] - from[from.length - 1]
  }
  let file = 0
  const has = (document: number): boolean => {
    if (document >= ends[file] || (file > 0 && document < ends[file - 1]))
      file = ends.findIndex(end => document < end)
    return document >= from[file] && document < to[file]
  }
  return { has, chosen }
}

function byHash(
  { split, take, seed = 0 }: TokenDocumentsJson,
  files: readonly { name: string; count: number }[],
): Choice & { chosen: number } {
  const borders = sharesOf(split)
  const low = borders[take]
  const high = take === split.length - 1 ? 1 : borders[take + 1]
  const total = files.reduce((sum, { count }) => sum + count, 0)
  const bits = new Uint8Array(Math.ceil(total / 8))
  let document = 0
  let chosen = 0
  for (const { name, count } of files) {
    const file = hashKey(name) % 2 ** 52
    for (let i = 0; i < count; i++, document++) {
      const at = place(file + i * STEP, seed)
      if (at < low || at >= high) continue
      bits[document >>> 3] |= 1 << (document & 7)
      chosen++
    }
  }
  return { has: i => (bits[i >>> 3] & (1 << (i & 7))) !== 0, chosen }
}

/** Odd, and far from a power of two: numbers that follow each other fall far apart. Their product stays a whole number. */
const STEP = 2654435
