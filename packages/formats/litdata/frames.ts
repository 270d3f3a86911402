/**
 * Chunks that LitData compresses in frames of some samples each (`compression_level="batch"`):
 *
 *    0  8  "LDFZ01\0\0"
 *    8  4  version 1, flags 0 (u16)
 *   12  4  samples n      16  4  samples a frame      20  4  frames f
 *   24     u32 offsets[n + 1] in the unpacked samples
 *          f × { u32 first sample, u32 samples, u64 offset, u32 length, u32 unpacked length }
 */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import { readRange } from '../../core/store/access.js'
import type { Version } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import type { Unit } from '../shards/manifest.js'

const MAGIC = 'LDFZ01\0\0'
const HEAD = 24
const FRAME = 24

/** The offsets of a chunk's samples, and its frames as units. */
export async function readFrames(
  stores: Stores,
  chunk: { file: string; bytes: number; count: number; was: Version },
  shard: number,
): Promise<{ offsets: Uint32Array; units: Unit[] }> {
  const { file, bytes, count, was } = chunk
  const fault = (problem: string): SourceError =>
    inFile(file, `: ${problem}: the chunk is damaged; copy or write it again`, { offset: 0 })
  const read = async (offset: number, length: number): Promise<Buffer> => {
    if (offset + length > bytes)
      throw fault(`it has ${bytes} bytes, its tables end at byte ${offset + length}`)
    const buffer = Buffer.alloc(length)
    await readRange(stores, { file, offset, length, was }, buffer)
    return buffer
  }
  const head = await read(0, HEAD)
  if (head.toString('latin1', 0, 8) !== MAGIC || head.readUInt16LE(8) !== 1)
    throw fault('it does not begin as a chunk of frames, version 1')
  const [samples, frames] = [head.readUInt32LE(12), head.readUInt32LE(20)]
  if (samples !== count) throw fault(`it has ${samples} samples, index.json says ${count}`)
  if (frames > count) throw fault(`it has ${frames} frames for ${count} samples`)
  const words = 4 * (count + 1)
  const tables = await read(HEAD, words + FRAME * frames)
  const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => tables.readUInt32LE(4 * i))
  if (offsets.some((offset, i) => i > 0 && offset < offsets[i - 1])) throw fault('its offsets do not ascend')
  let next = 0
  const units = Array.from({ length: frames }, (_, i): Unit => {
    const at = words + FRAME * i
    const [first, rows] = [tables.readUInt32LE(at), tables.readUInt32LE(at + 4)]
    const offset = Number(tables.readBigUInt64LE(at + 8))
    const [length, unpacked] = [tables.readUInt32LE(at + 16), tables.readUInt32LE(at + 20)]
    const right = first === next && rows > 0 && first + rows <= count && offset + length <= bytes
    if (!right || offsets[first + rows] - offsets[first] !== unpacked)
      throw fault(`its frame ${i} does not fit its offsets`)
    next += rows
    return {
      shard,
      first,
      count: rows,
      offset,
      length,
      bytes: unpacked,
      exact: true,
      base: offsets[first],
      codec: 'zstd',
    }
  })
  if (next !== count) throw fault(`its frames have ${next} samples of ${count}`)
  return { offsets, units }
}
