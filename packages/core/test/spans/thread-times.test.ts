import { expect, test } from 'vitest'
import { ThreadTimes } from '../../spans/lane.js'

const never = new Int32Array(new SharedArrayBuffer(4))

/** Computes for so long, however many others want the core meanwhile. */
function spin(ms: number): void {
  for (const begun = process.cpuUsage(); ; ) {
    const { user, system } = process.cpuUsage(begun)
    if (user + system >= 1000 * ms) return
  }
}

test.runIf(process.platform === 'linux')('short work between sleeps is all told, none of it as sleep', () => {
  const times = new ThreadTimes()
  let [work, sleep, own] = [0, 0, 0]
  times.since()
  const before = process.cpuUsage()
  for (let i = 0; i < 60; i++) {
    spin(1.5)
    work += times.since()[0]
    Atomics.wait(never, 0, 0, 3)
    sleep += times.since()[0]
  }
  const { user, system } = process.cpuUsage(before)
  own = (user + system) / 1000
  expect(work + sleep).toBeLessThan(1.1 * own + 5)
  // Waking up and asking cost a little; the file alone tells some two thirds of the work too late.
  expect(work).toBeGreaterThan(2 * sleep)
})
