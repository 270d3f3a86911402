/**
 * A lock that all threads of the process share, whichever of them made which: threads of the pool, of a tool, of the user's
 * program. Some libraries have a beginning that only one thread may be in.
 *
 * The C library has such a lock ready: that of the stream `stdin`, which Node never reads from. A thread that has it may
 * take it again.
 */
import { koffi, libc } from '../native.js'
import { unbroken } from '../node/unbroken.js'

/** Makes a short call while no other thread of the process makes one under this lock. The thread is not terminated in it. */
export function alone<T>(call: () => T): T {
  return unbroken(() => {
    const stream = standardInput()
    const lock = libc.func('void flockfile(void *stream)')
    const unlock = libc.func('void funlockfile(void *stream)')
    lock(stream)
    try {
      return call()
    } finally {
      unlock(stream)
    }
  })
}

function standardInput(): bigint {
  const variable: unknown = libc.symbol(process.platform === 'darwin' ? '__stdinp' : 'stdin')
  return BigInt(koffi.decode(variable, 'void *') as bigint)
}
