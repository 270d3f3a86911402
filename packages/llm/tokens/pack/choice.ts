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

/** A file's name, and how many documents it has. */
interface Counted {
  name: string
  count: number
}

export function chooseDocuments(json: TokenDocumentsJson, files: readonly Counted[]): Choice {
  const chooserOf = json.by === 'hash' ? byHash(json) : byStretches(json)
  const total = files.reduce((sum, { count }) => sum + count, 0)
  const bits = new Uint8Array(Math.ceil(total / 8))
  let document = 0
  let chosen = 0
  for (const file of files) {
    const has = chooserOf(file)
    for (let i = 0; i < file.count; i++, document++) {
      if (!has(i)) continue
      bits[document >>> 3] |= 1 << (document & 7)
      chosen++
    }
  }
  if (chosen === 0)
    throw new SourceError(
      `"documents": share ${json.take} of [${json.split.join(', ')}] has none of the ${total} documents: there are too few for so small a share`,
    )
  return { has: i => (bits[i >>> 3] & (1 << (i & 7))) !== 0 }
}

/** Tells which documents of a file are chosen. */
type Chooser = (file: Counted) => (document: number) => boolean

function byStretches({ split, take }: TokenDocumentsJson): Chooser {
  return ({ count }) => {
    const { from, to } = splitRange(split, take, count)
    return i => i >= from && i < to
  }
}

function byHash({ split, take, seed = 0 }: TokenDocumentsJson): Chooser {
  const sum = split.reduce((a, b) => a + b, 0)
  // Borders of the shares, from 0 to 1.
  const borders = [0]
  for (const share of split) borders.push(borders[borders.length - 1] + share / sum)
  const low = borders[take]
  const high = take === split.length - 1 ? 1 : borders[take + 1]
  return ({ name }) => {
    const file = hashKey(name) % 2 ** 52
    return i => {
      const at = place(file + i * STEP, seed)
      return at >= low && at < high
    }
  }
}

/** Odd, and far from a power of two: numbers that follow each other fall far apart. Their product stays a whole number. */
const STEP = 2654435
