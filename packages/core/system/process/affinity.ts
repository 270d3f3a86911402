/**
 * Which cores the calling thread may run on. A thread inherits this from the thread that starts it, and so does a process:
 * what must not be bound with a worker is started in `unbound`.
 */
import { getSystemErrorName } from 'node:util'
import { errno, libc } from '../native.js'

/** Bytes of a mask, one bit a core: 8,192 cores, the most that Linux is built for on x64. */
const MASK_BYTES = 1024

/** sched_getaffinity and sched_setaffinity, of glibc and musl. Their pid 0 is the calling thread. */
function declare() {
  return {
    get: libc.func('int sched_getaffinity(int pid, size_t bytes, void *mask)'),
    set: libc.func('int sched_setaffinity(int pid, size_t bytes, void *mask)'),
  }
}

let calls: ReturnType<typeof declare> | undefined
/** The mask that this thread had before it was bound, and the one that it has now. Undefined: it is not bound. */
let before: Uint8Array | undefined
let now: Uint8Array | undefined

/** Whether threads can be bound here at all. */
export const canBind = process.platform === 'linux'

/** Binds the calling thread to these cores. Undefined: it may run where it could before it was bound. Throws what the system says. */
export function bindThread(cores: readonly number[] | undefined): void {
  if (cores === undefined) {
    if (before !== undefined) setMask(before)
    before = now = undefined
    return
  }
  const first = before ?? getMask()
  const wanted = maskOf(cores)
  setMask(wanted)
  before = first
  now = wanted
}

/** Calls a function that starts threads or processes: they may run wherever this thread could before it was bound. */
export function unbound<Result>(start: () => Result): Result {
  if (before === undefined || now === undefined) return start()
  const bound = now
  setMask(before)
  try {
    return start()
  } finally {
    setMask(bound)
  }
}

function maskOf(cores: readonly number[]): Uint8Array {
  const mask = new Uint8Array(MASK_BYTES)
  for (const core of cores) mask[core >> 3] |= 1 << (core & 7)
  return mask
}

function getMask(): Uint8Array {
  calls ??= declare()
  const mask = new Uint8Array(MASK_BYTES)
  if (calls.get(0, MASK_BYTES, mask) < 0) fail()
  return mask
}

function setMask(mask: Uint8Array): void {
  calls ??= declare()
  if (calls.set(0, MASK_BYTES, mask) !== 0) fail()
}

function fail(): never {
  throw new Error(getSystemErrorName(-errno()))
}
