/** The simulated trainer's own work: it sleeps, as a thread does that waits for its GPU. */

const never = new Int32Array(new SharedArrayBuffer(4))

/** Sleeps of so many ms are tried in order to see by how much they are too long, and so many of them. */
const TRIED_MS = 5
const TRIES = 30

/** Not by setTimeout, which cuts fractions of a millisecond off. */
export function sleep(ms: number): void {
  if (ms > 0) Atomics.wait(never, 0, 0, ms)
}

/** By how much this system's sleeps are longer than they should be (ms): the median. The feed is not open yet. */
export function oversleep(longest: number): number {
  const ms = Math.min(TRIED_MS, longest)
  if (ms <= 0) return 0
  const over = Array.from({ length: TRIES }, () => {
    const begun = performance.now()
    sleep(ms)
    return performance.now() - begun - ms
  })
  return Math.max(0, over.sort((a, b) => a - b)[TRIES >> 1])
}
