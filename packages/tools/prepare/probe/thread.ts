/** A thread of a probe: does the tasks that it is given, one after the other. */
import { parentPort } from 'node:worker_threads'
import { measure, type ProbeTask } from './measures.js'

parentPort?.on('message', (task: ProbeTask) => {
  try {
    parentPort?.postMessage({ passes: measure(task) })
  } catch (error) {
    parentPort?.postMessage({ failed: (error as Error).message })
  }
})
