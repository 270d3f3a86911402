/** Copies bytes between any two arrays. A typed array copies to or from shared memory a byte at a time where they are not aligned. */
import { memcpy } from '../native.js'

/** Below this many bytes, a call into native code costs more than it saves. */
const WORTH_A_CALL = 2048

const isShared = (bytes: Uint8Array): boolean => bytes.buffer instanceof SharedArrayBuffer

/** Copies all of `from` to the beginning of `into`. The two must not overlap. */
export function copyBytes(from: Uint8Array, into: Uint8Array): void {
  const aligned = ((from.byteOffset | into.byteOffset) & 7) === 0
  if (aligned || from.length < WORTH_A_CALL || !(isShared(from) || isShared(into))) {
    into.set(from)
    return
  }
  if (from.length > into.length) throw new RangeError(`${from.length} bytes are copied to ${into.length}`)
  memcpy(into, from, from.length)
}
