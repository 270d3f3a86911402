/** One worker thread, as the pool sees it: it is started, told of jobs, listened to, and ended. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { threadFlags } from '../../system/node/thread-flags.js'
import {
  closeTerminationGuard,
  closeTerminationGuardNow,
  leaveTerminationGuard,
  newTerminationGuard,
} from '../../system/node/unbroken.js'
import { within } from '../../system/process/exit.js'
import type { FromMaker, MakerData, ToMaker } from './messages.js'

/**
 * How long (ms) a thread may take to end once it was told to: a large picture may be decoded for seconds, and the machine
 * may be busy. One that takes longer is blocked in a system call.
 */
const BLOCKED = 5000

/** What the pool does about what a thread says, and about its end. */
export interface ThreadListener {
  heard(message: FromMaker): void
  left(cause: Error): void
}

export class MakerThread {
  /** Resolves when the thread has ended. */
  readonly gone: Promise<void>
  private readonly worker: Worker
  private readonly inbox: MessagePort
  private readonly outbox: MessagePort
  private readonly terminationGuard = newTerminationGuard()

  constructor(
    data: Omit<MakerData, 'terminationGuard' | 'inbox' | 'outbox'>,
    private readonly listener: ThreadListener,
    jobs: Iterable<ToMaker>,
  ) {
    const inbox = new MessageChannel()
    const outbox = new MessageChannel()
    this.inbox = inbox.port1
    this.outbox = outbox.port1
    for (const job of jobs) this.tell(job)
    const { terminationGuard } = this
    this.worker = new Worker(new URL('../make/maker.js', import.meta.url), {
      workerData: { ...data, terminationGuard, inbox: inbox.port2, outbox: outbox.port2 } satisfies MakerData,
      transferList: [inbox.port2, outbox.port2],
      name: `millrace worker ${data.maker}`,
      execArgv: threadFlags(),
    })
    this.gone = new Promise<void>(resolve => this.worker.once('exit', () => resolve()))
    this.outbox.on('message', (message: FromMaker) => listener.heard(message))
    this.outbox.unref()
    this.worker.once('exit', () => leaveTerminationGuard(terminationGuard))
    let cause: Error | undefined
    this.worker.on('error', error => {
      cause = error
    })
    this.worker.on('exit', code => listener.left(cause ?? new Error(`it left with code ${code}`)))
  }

  /** Whether the thread is still there. */
  get alive(): boolean {
    return this.worker.threadId >= 0
  }

  tell(message: ToMaker): void {
    this.inbox.postMessage(message)
  }

  /** Hands on what the thread has said so far, without waiting for the event loop. */
  read(): void {
    for (let got = receiveMessageOnPort(this.outbox); got; got = receiveMessageOnPort(this.outbox))
      this.listener.heard(got.message)
  }

  /** Whether the process stays alive for this thread. */
  hold(yes: boolean): void {
    if (yes) this.worker.ref()
    else this.worker.unref()
  }

  /** Tells the thread to end, and waits for that. False when it can't: it is blocked. */
  async end(): Promise<boolean> {
    if (!(await closeTerminationGuard(this.terminationGuard, BLOCKED))) return false
    void this.worker.terminate()
    return within(this.gone, BLOCKED)
  }

  /** Lets it be ended by Node, not in the middle of certain native calls; waits so long (ms) at most. */
  endNow(patience: number): void {
    closeTerminationGuardNow(this.terminationGuard, patience)
  }

  /** Nothing is said to it, or heard of it, any more. */
  close(): void {
    this.inbox.close()
    this.outbox.close()
  }
}
