/** The threads of a probe: as many as reads are to be in flight. They block in their calls, so that this thread can wait with a limit. */
import { Worker } from 'node:worker_threads'
import { SourceError } from '../../basics/errors.js'
import { threadFlags } from '../../system/node/thread-flags.js'
import { Gate } from './gate.js'
import type { TaskRuns } from './task.js'
import type { ProbeTask } from './work.js'

type Answer = { runs: TaskRuns } | { failed: string }

/** A call that the storage does not answer for so long (ms) ends the probe. */
const PATIENCE = 30_000

export class ProbeThreads {
  private readonly threads: Worker[] = []

  /** Does a task with so many threads at a time. Returns what each of them did. */
  async run(task: Omit<ProbeTask, 'thread' | 'threads' | 'gate'>, threads: number): Promise<TaskRuns[]> {
    while (this.threads.length < threads)
      this.threads.push(new Worker(new URL('./thread.js', import.meta.url), { execArgv: threadFlags() }))
    const { memory } = new Gate()
    return await Promise.all(
      this.threads.slice(0, threads).map((thread, i) => {
        thread.postMessage({ ...task, thread: i, threads, gate: memory } satisfies ProbeTask)
        return answer(thread, task.ms, task.files[0].path)
      }),
    )
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map(thread => thread.terminate()))
  }
}

function answer(thread: Worker, ms: number, path: string): Promise<TaskRuns> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer)
      thread.off('error', failed).off('message', heard)
      settle()
    }
    const late = new SourceError(`the storage of ${path} did not answer for ${PATIENCE / 1000} s`)
    const timer = setTimeout(() => end(() => reject(late)), ms + PATIENCE)
    const failed = (error: Error) => end(() => reject(error))
    const heard = (answer: Answer) =>
      end(() => ('runs' in answer ? resolve(answer.runs) : reject(new SourceError(answer.failed))))
    thread.on('error', failed).on('message', heard)
  })
}
