/** CPU time of the calling thread, to the microsecond. */
import { libc } from '../native.js'

/** CLOCK_THREAD_CPUTIME_ID. */
const CLOCK = process.platform === 'darwin' ? 16 : 3

const clockGettime = libc.func('int clock_gettime(int clock, void *time)')
/** Seconds and nanoseconds. */
const time = new BigInt64Array(2)

/** What this thread has waited for helpers (ms). */
let helped = 0

/**
 * ms of CPU time since the thread began, with that of helpers. NaN where the system does not say. Linux's /proc/…/schedstat lacks what
 * the thread ran since the last tick of its core, up to 4 ms.
 */
export function threadCpuMs(): number {
  return ownCpuMs() + helped
}

/** Calls a function whose work a library does in threads of its own: what this thread waits for them counts as CPU time of its own. */
export function countHelpers(work: () => void): void {
  const begun = performance.now()
  const cpu = ownCpuMs()
  try {
    work()
  } finally {
    helped += Math.max(0, performance.now() - begun - (ownCpuMs() - cpu)) || 0
  }
}

function ownCpuMs(): number {
  if (clockGettime(CLOCK, time) !== 0) return Number.NaN
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6
}
