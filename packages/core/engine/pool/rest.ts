/**
 * A rest of all makers: they take no new claims until a moment, to show what a step takes without them. Each maker looks at
 * the clock itself, so that a rest ends even where the thread that asked for it is blocked or gone.
 */
import { monotonicMs } from '../../spans/clock.js'
import { PoolWord } from './messages.js'

/** The longest rest (ms). */
const MAX_REST = 5000

/** Lets makers rest until `until` (ms of CLOCK_MONOTONIC), 5 s at most; a moment that has passed ends a rest. */
export function setRest(words: Int32Array, until: number): void {
  const now = monotonicMs()
  const left = Math.min(MAX_REST, until - now)
  // 0 means no rest: a moment whose low bits are 0 is taken a millisecond later.
  Atomics.store(words, PoolWord.Rest, left > 0 ? low(now + left) || 1 : 0)
}

/** How long (ms) makers have still to rest; 0: not at all. */
export function restLeft(words: Int32Array): number {
  const until = Atomics.load(words, PoolWord.Rest)
  if (until === 0) return 0
  const left = (until - low(monotonicMs())) | 0
  // A longer one is no rest of ours: the word is older than the clock's low bits go.
  return left > 0 && left <= MAX_REST + 1 ? left : 0
}

function low(ms: number): number {
  return Math.ceil(ms) | 0
}
