/**
 * Copies bytes into shared memory. V8 copies into a shared buffer word by word, so that no word is torn. No thread reads a
 * row that is being made, so the C library's memcpy will do, which is three to ten times as fast.
 */
import { memcpy } from '../native.js'
import type { Workspace } from './workspace.js'

/** Below this a call into native code costs more than it saves. */
const WORTH_IT = 16384

/** Copies `bytes` to offset `at` of the workspace's memory. */
export function copyInto(work: Workspace, bytes: Uint8Array, at: number): void {
  if (bytes.length < WORTH_IT) work.u8.set(bytes, at)
  else memcpy(work.pointer(at), bytes, bytes.length)
}
