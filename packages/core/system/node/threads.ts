/**
 * Independent pieces of work, spread over threads: whole shards to pack, runs of samples to verify. Each thread
 * is set up once and then asks for the next piece, so a slow piece holds up no other. `threads: 0` does the same
 * in the calling thread, for debugging and for tests.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { EngineError, MillraceError, SourceError } from '../../basics/errors.js'
import type { Maybe } from '../../basics/maybe.js'
import { within } from '../process/exit.js'
import { loadRegistry } from './registry.js'
import { threadFlags } from './thread-flags.js'

/** How long (ms) a thread may take to load what it needs, before it is ended all the same. */
const START = 3000

/** Does one piece; tells of progress inside it by `report(n more)`. */
export type Handler<Task, Result> = (task: Task, report: (more: number) => void) => Maybe<Result>

export interface Spread<Setup, Task, Result> {
  threads: number
  /** The module that a thread runs: it calls `serve(start)`. */
  worker: URL
  /** Plain data for `start`. */
  setup: Setup
  start: (setup: Setup) => Handler<Task, Result>
  /** All of them, or one after the other as they come. */
  tasks: readonly Task[] | AsyncIterable<Task>
  /** Called in the order of completion. */
  onResult: (result: Result, task: Task) => void
  onProgress?: (more: number) => void
}

type FromThread<Result> = { ready: true } | { more: number } | { result: Result } | { failed: Failure }

/** An error on its way between threads: classes don't survive it, so their essence travels. */
interface Failure {
  ours: boolean
  message: string
  stack?: string
  file?: string
  /** The system's code, such as ENOSPC. */
  code?: string
}

/** Does all the tasks, or rejects with the first error, all threads ended in either case. */
export async function spread<Setup, Task, Result>(work: Spread<Setup, Task, Result>): Promise<void> {
  if (work.threads <= 0) return inCaller(work)
  const most = Array.isArray(work.tasks) ? work.tasks.length : Infinity
  const tasks = iteratorOf(work.tasks)
  const members: { worker: Worker; heard: Promise<void> }[] = []
  const member = () =>
    new Promise<void>((resolve, reject) => {
      let task: Task
      const worker = new Worker(work.worker, { workerData: work.setup, execArgv: threadFlags() })
      const heard = new Promise<void>(said => worker.once('message', () => said()).once('exit', () => said()))
      members.push({ worker, heard })
      worker.on('error', reject)
      worker.on('exit', () =>
        reject(new EngineError(`a thread ended in the middle of its work (${work.worker})`)),
      )
      const give = async () => {
        try {
          const next = await tasks.next()
          if (next.done) return resolve()
          task = next.value
          worker.postMessage(task)
        } catch (error) {
          reject(error)
        }
      }
      worker.on('message', (message: FromThread<Result>) => {
        if ('more' in message) return work.onProgress?.(message.more)
        if ('failed' in message) return reject(revive(message.failed))
        try {
          if ('result' in message) work.onResult(message.result, task)
        } catch (error) {
          return reject(error)
        }
        give()
      })
    })
  try {
    await Promise.all(Array.from({ length: Math.min(work.threads, most) }, member))
  } finally {
    // One that is still loading native libraries would take the process with it.
    await Promise.all(members.map(({ worker, heard }) => within(heard, START).then(() => worker.terminate())))
  }
}

function iteratorOf<Task>(tasks: readonly Task[] | AsyncIterable<Task>): {
  next(): Maybe<IteratorResult<Task>>
} {
  return Symbol.asyncIterator in tasks ? tasks[Symbol.asyncIterator]() : tasks[Symbol.iterator]()
}

async function inCaller<Setup, Task, Result>(work: Spread<Setup, Task, Result>): Promise<void> {
  const handle = work.start(work.setup)
  for await (const task of work.tasks) {
    const result = await handle(task, more => work.onProgress?.(more))
    work.onResult(result, task)
    await new Promise(setImmediate) // so that Ctrl-C and progress get their turn
  }
}

/** The thread's side: loads what it needs, sets up, then does one task after the other. */
export function serve<Setup, Task, Result>(
  start: (setup: Setup) => Handler<Task, Result>,
  load?: (setup: Setup) => Promise<void>,
): void {
  const say = (message: FromThread<Result>) => parentPort!.postMessage(message)
  const guarded = async (act: () => Maybe<FromThread<Result>>) => {
    try {
      say(await act())
    } catch (error) {
      say({ failed: essence(error) })
    }
  }
  guarded(async () => {
    await loadRegistry()
    await load?.(workerData as Setup)
    const handle = start(workerData as Setup)
    parentPort!.on('message', (task: Task) =>
      guarded(async () => ({ result: await handle(task, more => say({ more })) })),
    )
    return { ready: true }
  })
}

function essence(error: unknown): Failure {
  if (!(error instanceof Error)) return { ours: false, message: String(error) }
  const { code } = error as NodeJS.ErrnoException
  const file = error instanceof SourceError ? error.file : undefined
  return { ours: error instanceof MillraceError, message: error.message, stack: error.stack, file, code }
}

function revive({ ours, message, stack, file, code }: Failure): Error {
  const error = ours ? new SourceError(message, { file }) : new Error(message)
  if (stack !== undefined) error.stack = stack
  return Object.assign(error, code === undefined ? {} : { code })
}
