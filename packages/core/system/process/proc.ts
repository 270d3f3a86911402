/** Processes as /proc shows them. */
import { readFileSync } from 'node:fs'

/**
 * When a process started, in ticks since boot. Empty when it is gone, or only a zombie. This names a process for good: a
 * pid comes back, a pid with its start time does not.
 */
export function startTime(pid: number): string {
  const { state, started } = stat(pid)
  return state === 'Z' ? '' : started
}

/** Seconds of processors that a process has used so far, and bytes of memory that it has; undefined where that can't be seen. */
export function usage(pid: number): { seconds: number; bytes: number } | undefined {
  try {
    const { ticks } = stat(pid)
    const resident = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return resident === null ? undefined : { seconds: ticks / TICKS, bytes: 1024 * Number(resident[1]) }
  } catch {
    return undefined
  }
}

/** In a second, in /proc. */
const TICKS = 100

/** Fields 3, 14 + 15 and 22 of /proc/PID/stat; empty when there is no such process. */
function stat(pid: number): { state: string; started: string; ticks: number } {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may hold anything: the fields after the last one are safe to split.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], started: fields[19], ticks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    return { state: '', started: '', ticks: 0 }
  }
}
