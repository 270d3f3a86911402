/** Waiting in tests. No test depends on being quick: only what hangs reaches the limit, on any machine. */
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a test waits for what must come, in ms. */
export const LONGEST_WAIT = 300_000

/** Waits until something is so. */
export async function until(condition: () => unknown, what = String(condition)): Promise<void> {
  const end = performance.now() + LONGEST_WAIT
  while (!condition()) {
    if (performance.now() > end) throw new Error(`it never came to this: ${what}`)
    await sleep(10)
  }
}
