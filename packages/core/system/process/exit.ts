/**
 * Ending a process whose threads can't be ended. A thread that is blocked in a system call (a file system that does not
 * answer, a pipe that nothing is written to) can't be terminated, and `process.exit` waits for it.
 */
import { createRequire } from 'node:module'

let owned = false
let stuck = false

/** This process is Millrace's own, the command line or an engine: it may be ended by force. */
export function ownProcess(): void {
  owned = true
}

/**
 * A thread of this process can't be ended. Our own process is ended by force once everything else is done; the program of
 * a user is told that it has to do that itself.
 */
export function noteStuck(): void {
  if (stuck) return
  stuck = true
  if (owned) process.on('exit', exitNow)
  else process.emitWarning(cantExit())
}

/** What is to be said then. */
export function cantExit(): string {
  const stuck = 'a thread is stuck in a system call, which nothing can interrupt'
  return owned
    ? `${stuck}: its process is ended by force`
    : `${stuck}: this process can't exit normally. Save what you need, then end it by process.kill(process.pid, 'SIGKILL')`
}

/** Ends this process at once, even while its threads are blocked. Nothing asynchronous runs any more. */
export function exitNow(code: number): never {
  try {
    // Not imported: most commands end without it.
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi')
    koffi.load('libc.so.6').func('void _exit(int status)')(code)
  } catch {
    // Another C library, or no descriptor left to load it: the status is lost then.
  }
  process.kill(process.pid, 'SIGKILL')
  throw new Error('this process is being ended')
}

/** Whether a promise is settled within so many milliseconds. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, ms, false)
  })
  const settled = promise.then(
    () => true,
    () => true,
  )
  return Promise.race([settled, late]).finally(() => clearTimeout(timer))
}
