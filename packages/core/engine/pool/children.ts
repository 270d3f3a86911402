/**
 * Each maker notes the child process that it drives, in shared words behind those of the pool. A maker that is ended can't
 * end its child, so the pool does.
 */
import { MAX_MAKERS } from '../../batch/ring.js'
import type { ChildHandle } from '../../system/process/child.js'
import { PoolWord } from './messages.js'

const FIRST = PoolWord.Taking + MAX_MAKERS
/** For each maker: the pid, and up to three descriptors of this process for it. */
const EACH = 4

/** Words that pool and makers share, all together. */
export const POOL_WORDS = FIRST + MAX_MAKERS * EACH

export function noteChild(words: Int32Array, maker: number, child: ChildHandle | undefined): void {
  const at = FIRST + maker * EACH
  words.fill(0, at, at + EACH)
  if (child) words.set([child.pid, ...child.descriptors], at)
}

/** The process that a maker drove when it ended; noted no more. */
export function leftChild(words: Int32Array, maker: number): ChildHandle | undefined {
  const at = FIRST + maker * EACH
  const [pid, ...descriptors] = words.slice(at, at + EACH)
  noteChild(words, maker, undefined)
  return pid === 0 ? undefined : { pid, descriptors: descriptors.filter(descriptor => descriptor > 0) }
}
