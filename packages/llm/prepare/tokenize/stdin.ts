/** Tasks from a stream of lines: blocks that end at a line break. */
import { SourceError } from '../../../core/basics/errors.js'
import type { Task } from './plan.js'

/** Bytes of a block, more where a line is longer. */
const BLOCK = 8 << 20
const LF = 0x0a

export async function* blocksOf(stream: AsyncIterable<Uint8Array>, json: boolean): AsyncGenerator<Task> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  let number = 0
  let line = 1
  const task = (given: Buffer): Task => {
    const block = number === 0 ? withoutMark(given) : given
    const shared = new Uint8Array(new SharedArrayBuffer(block.length))
    shared.set(block)
    const made: Task = { number, pieces: [{ kind: 'block', bytes: shared, json, line }], bytes: block.length }
    number++
    for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) line++
    return made
  }
  let first = true
  for await (const piece of stream) {
    if (first) refusePacked(piece)
    first = false
    pieces.push(piece)
    bytes += piece.length
    if (bytes < BLOCK || !piece.includes(LF)) continue
    const all = Buffer.concat(pieces)
    const end = all.lastIndexOf(LF) + 1
    yield task(all.subarray(0, end))
    pieces = end < all.length ? [all.subarray(end)] : []
    bytes = all.length - end
  }
  if (bytes > 0) yield task(Buffer.concat(pieces))
}

/** Without the byte order mark that a file may begin with. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function refusePacked(head: Uint8Array): void {
  const gzip = head[0] === 0x1f && head[1] === 0x8b
  const zstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd
  if (gzip || zstd)
    throw new SourceError(
      `stdin is compressed: pipe it through ${gzip ? 'zcat' : 'zstdcat'}, or give the file instead`,
    )
}
