/**
 * DELTA_BYTE_ARRAY leaves out what a text has in common with the one before it, so that no header says how long the texts are:
 * the lengths are read once, when the file is indexed. Footers are not asked: Arrow's writers count what is left of the texts.
 */
import { DecodeError, inFile } from '../../core/basics/errors.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import { ChunkLoader } from './decode/chunk.js'
import { delta, readDelta } from './decode/delta.js'
import { scratch } from './decode/scratch.js'
import type { ValueSink } from './decode/sink.js'
import { ENCODING } from './names.js'
import type { Footer } from './structure/footer.js'

/** Adds up lengths, page by page. */
class Measure implements ValueSink {
  readonly pages: number[] = []

  setDictionary(): void {}

  target(): undefined {
    return undefined
  }

  put(encoding: number, content: Uint8Array, at: number, n: number): void {
    let bytes = 0
    let from = at
    for (let pass = 0; pass < 2 && encoding === ENCODING.DELTA_BYTE_ARRAY; pass++) {
      const lengths = scratch.lengths.words(n)
      readDelta(content, from, content.length, 1, lengths, 0, n)
      for (let i = 0; i < n; i++) bytes += lengths[i]
      from = delta.at
    }
    this.pages.push(bytes)
  }

  spread(_to: number, _count: number, n: number): void {
    if (n === 0) this.pages.push(0) // `put` was not called
  }

  finish(): void {}
}

/** Fills in the column `text` where it is needed. Gives the bytes in each data page, by the chunk's number. */
export async function measureTexts(
  { leaves, chunks, groupRows }: Footer,
  read: ReadAt,
  file: string,
): Promise<Map<number, readonly number[]>> {
  const measured = new Map<number, readonly number[]>()
  for (let chunk = 0; chunk < chunks.start.length; chunk++) {
    const leaf = leaves[chunk % leaves.length]
    const isPrefixed = (chunks.encodings.at(chunk) & (1 << ENCODING.DELTA_BYTE_ARRAY)) !== 0
    if (leaf.physical !== 'BYTE_ARRAY' || !isPrefixed || leaf.repetition > 1) continue
    const [start, length] = [chunks.start.at(chunk), chunks.length.at(chunk)]
    const bytes = Buffer.allocUnsafeSlow(length)
    await read(bytes, start)
    const rows = groupRows.at(Math.floor(chunk / leaves.length))
    const list = leaf.repetition > 0 ? { elements: chunks.values.at(chunk) } : undefined
    const none = new Uint8Array(0)
    const offsets = new Uint32Array(leaf.repetition > 0 ? rows + 1 : 0)
    const space = {
      validity: none,
      itemValidity: none,
      values: none,
      offsets,
      dims: offsets,
      codes: offsets,
      valueOffsets: offsets,
      header: offsets,
    }
    const measure = new Measure()
    const room = { rows, items: 'bytes' as const, list }
    try {
      const [codec, raw] = [chunks.codec.at(chunk), chunks.raw.at(chunk)]
      new ChunkLoader(leaf, measure, room, space, codec, raw, true).load(bytes, start)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw inFile(file, `: column "${leaf.name}": ${error.message}: write the file again`, {
        offset: start,
        cause: error,
      })
    }
    measured.set(chunk, measure.pages)
    chunks.text.set(
      chunk,
      measure.pages.reduce((sum, one) => sum + one, 0),
    )
  }
  return measured
}
