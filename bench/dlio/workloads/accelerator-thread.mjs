/** The thread of a simulated accelerator: waits for its step, and sleeps as long as that takes. */
import { workerData } from 'node:worker_threads'
import { sleep } from './accelerator.mjs'
import { DONE, GO, TOOK } from './accelerator-words.mjs'

const { words, times, computeMs } = workerData
for (let step = 1; ; step++) {
  while (Atomics.load(words, GO) < step) Atomics.wait(words, GO, step - 1)
  times[TOOK] = sleep(computeMs)
  Atomics.store(words, DONE, step)
  Atomics.notify(words, DONE)
}
