/** The calling thread: its CPU time, to the microsecond, its name and its priority. */

import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
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

/**
 * Names of makers' threads begin so; their number follows. `top -H` and /proc/PID/task/TID/comm show them: by these, other processes tell
 * workers from the rest. At most 15 characters stay of a name.
 */
export const MAKER_THREAD = 'millrace w'

/** Names the calling thread. (On Linux; elsewhere it stays without a name.) */
export function nameThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // /proc is not there, or can't be written: nothing depends on it but figures.
  }
}

/** Niceness: where a nice thread and an ordinary one want a core, the nice one gets a tenth of it. */
const NICE = 10

/**
 * The calling thread gives way to threads of the ordinary priority. (On Linux; elsewhere to other processes, as one.) Makers may keep
 * every core busy, but a trainer's threads, which launch kernels, come first. It matters only where cores are short. Linux may share the
 * cores out by session before it looks at threads (autogroups): the engine of a trainer in Python has a session of its own, whose share is
 * left as it is. It is divided by all the cores that workers use, so that on each of them it is small beside a trainer's. Giving way as a
 * session would be giving way to the whole machine.
 */
export function giveWay(nice = NICE): void {
  try {
    setPriority(nice)
  } catch {
    // Where it is forbidden, all threads stay equal.
  }
}
