/** Takes the compression off a page. */
import { DecodeError } from '../../../core/basics/errors.js'
import { decompressInto } from '../../../core/codec/codec.js'
import { CODECS, DECOMPRESSED } from '../names.js'

/** Fills `into`, which is as long as the page's header says. */
export function decompressPage(codec: number, from: Uint8Array, into: Uint8Array): void {
  const name = DECOMPRESSED[codec]
  if (name === undefined || name === 'none') throw new DecodeError(`it has the codec ${codec}`)
  if (into.length === 0) return
  const written = name === 'hadoop-lz4' ? hadoop(from, into) : decompressInto(name, from, into)
  if (written !== into.length)
    throw new DecodeError(
      `the ${CODECS[codec]} data has ${written} bytes, decompressed, and its header says ${into.length}`,
    )
}

/**
 * Hadoop's lz4: blocks, each behind its sizes decompressed and compressed, in big-endian. Some writers call bare blocks by the same
 * name: what does not fit the frame is taken for one.
 */
function hadoop(from: Uint8Array, into: Uint8Array): number {
  const view = new DataView(from.buffer, from.byteOffset, from.length)
  let at = 0
  let done = 0
  while (at + 8 <= from.length) {
    const raw = view.getUint32(at)
    const length = view.getUint32(at + 4)
    if (raw > into.length - done || length > from.length - at - 8) break
    const block = into.subarray(done, done + raw)
    try {
      if (raw > 0 && decompressInto('lz4-block', from.subarray(at + 8, at + 8 + length), block) !== raw) break
    } catch {
      break
    }
    at += 8 + length
    done += raw
  }
  return at === from.length && done === into.length ? done : decompressInto('lz4-block', from, into)
}
