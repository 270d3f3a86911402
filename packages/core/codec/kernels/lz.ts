/** LZ4's blocks, Snappy, LZF and BloscLZ by the kernel `lz`. */
import { copyBytes } from '../../system/memory/copy.js'
import { kernel, SLACK, START, workspace } from './load.js'

type Format = 'lz4' | 'snappy' | 'lzf' | 'blosclz'
type Kernel = Record<
  Format,
  (from: number, length: number, to: number, room: number, before?: number) => number
>

/** Below this many bytes of output, the plain version is as fast. */
const WORTH_IT = 256

const NONE = new Uint8Array(0)

/**
 * Decompresses into `into`, and returns the bytes written; what came `before` may be referred to by LZ4. undefined: something is wrong, or it is too much for the kernel's memory;
 * the plain version then does it, or says what is wrong.
 */
export function lzInto(
  format: Format,
  from: Uint8Array,
  into: Uint8Array,
  before: Uint8Array = NONE,
): number | undefined {
  if (into.length < WORTH_IT) return undefined
  const out = (START + from.length + SLACK + before.length + 15) & ~15
  const memory = workspace(out - START + into.length + SLACK)
  if (memory === undefined) return undefined
  copyBytes(from, memory.subarray(START))
  if (before.length > 0) copyBytes(before, memory.subarray(out - before.length))
  const written = kernel<Kernel>('lz')[format](START, from.length, out, into.length, before.length)
  if (written < 0) return undefined
  copyBytes(memory.subarray(out, out + written), into)
  return written
}
