/** A pipe between processes that is a signal, not a queue: a byte that finds no room is dropped. */
import { closeSync, writeSync } from 'node:fs'
import { EngineError } from '../../basics/errors.js'
import { errno, libc } from '../native.js'

const O_NONBLOCK = 0o4000
const O_CLOEXEC = 0o2000000

export interface Pipe {
  /** Descriptors; another process opens `/proc/PID/fd/READ`. */
  read: number
  write: number
}

export function openPipe(): Pipe {
  const pipe2 = libc.func('int pipe2(_Out_ int *ends, int flags)')
  const ends = new Int32Array(2)
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) !== 0) {
    throw new EngineError(
      `can't open a pipe: errno ${errno()}; raise the limit of open files (\`ulimit -n\`)`,
    )
  }
  return { read: ends[0], write: ends[1] }
}

export function closePipe({ read, write }: Pipe): void {
  closeSync(read)
  closeSync(write)
}

const BYTE = new Uint8Array(1)

/** Writes one byte, from any thread. */
export function signal(write: number): void {
  try {
    writeSync(write, BYTE)
  } catch (error) {
    // Full: the reader has enough to wake up by. Closed: it is gone.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EAGAIN' && code !== 'EPIPE' && code !== 'EBADF') throw error
  }
}
