/**
 * A simulated accelerator: it computes by sleeping as long as a step takes, like DLIO's, and says how long that was.
 *
 * One alone sleeps in the loop's own thread, as a trainer that waits for its GPU does. Several have a thread each, and their
 * loops go on in one thread, so that all of them are fed by one engine.
 */
import { Worker } from 'node:worker_threads'
import { threadFlags } from '../../../build/core/system/node/thread-flags.js'
import { DONE, GO, TOOK } from './accelerator-words.mjs'

const never = new Int32Array(new SharedArrayBuffer(4))
/** Sleeps. Not by setTimeout, which cuts fractions of a millisecond off. */
export function sleep(ms) {
  const begun = performance.now()
  Atomics.wait(never, 0, 0, ms)
  return performance.now() - begun
}
/** Steps that are slept to learn how long a step is, and the most time that may take (ms). */
const TRIED = { steps: 20, ms: 500 }
/** How long a step really takes with nothing else at work: a system sleeps a little longer than it is told to. */
export function sleptMs(computeMs) {
  const steps = Math.max(3, Math.min(TRIED.steps, Math.floor(TRIED.ms / computeMs)))
  let sum = 0
  for (let step = 0; step < steps; step++) sum += sleep(computeMs)
  return sum / steps
}
export function accelerators(count, computeMs) {
  if (count === 1) return [{ compute: () => sleep(computeMs), close: async () => {} }]
  return Array.from({ length: count }, () => new ThreadedAccelerator(computeMs))
}
class ThreadedAccelerator {
  shared
  worker
  steps = 0
  failed
  constructor(computeMs) {
    this.shared = {
      words: new Int32Array(new SharedArrayBuffer(8)),
      times: new Float64Array(new SharedArrayBuffer(8)),
    }
    this.worker = new Worker(new URL('./accelerator-thread.mjs', import.meta.url), {
      workerData: { ...this.shared, computeMs },
      execArgv: threadFlags(),
    })
    this.worker.on('error', error => {
      this.failed = error
      Atomics.notify(this.shared.words, DONE)
    })
  }
  async compute() {
    const { words, times } = this.shared
    const step = ++this.steps
    Atomics.store(words, GO, step)
    Atomics.notify(words, GO)
    while (Atomics.load(words, DONE) < step) {
      if (this.failed) throw this.failed
      const wait = Atomics.waitAsync(words, DONE, step - 1)
      if (wait.async) await wait.value
    }
    return times[TOOK]
  }
  async close() {
    await this.worker.terminate()
  }
}
