/** CPU time of the calling thread, to the microsecond. */
import { libc } from '../native.js'

/** CLOCK_THREAD_CPUTIME_ID. */
const CLOCK = process.platform === 'darwin' ? 16 : 3

const clockGettime = libc.func('int clock_gettime(int clock, void *time)')
/** Seconds and nanoseconds. */
const time = new BigInt64Array(2)

/**
 * ms of CPU time since the thread began. NaN where the system does not say. Linux's /proc/…/schedstat lacks what the thread ran since
 * the last tick of its core, up to 4 ms.
 */
export function threadCpuMs(): number {
  if (clockGettime(CLOCK, time) !== 0) return Number.NaN
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6
}
