/** How long tests wait for what must come. No test depends on being quick: only what hangs takes longer, on any machine. */
import { setTimeout as sleep } from 'node:timers/promises'

/** In ms. */
export const PATIENCE = 300_000

/** Waits until something is so. */
export async function until(condition: () => unknown, what = String(condition)): Promise<void> {
  const end = performance.now() + PATIENCE
  while (!condition()) {
    if (performance.now() > end) throw new Error(`it never came to this: ${what}`)
    await sleep(10)
  }
}
