/** A thread of a probe: does the tasks that it is given, one after the other. */
import { parentPort } from 'node:worker_threads'
import { runTask } from './task.js'
import type { ProbeTask } from './work.js'

parentPort?.on('message', (task: ProbeTask) => {
  try {
    parentPort?.postMessage({ runs: runTask(task) })
  } catch (error) {
    parentPort?.postMessage({ failed: (error as Error).message })
  }
})
