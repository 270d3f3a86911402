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

/** Fields 3 and 22 of /proc/PID/stat; empty when there is no such process. */
function stat(pid: number): { state: string; started: string } {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may hold anything: the fields after the last one are safe to split.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], started: fields[19] }
  } catch {
    return { state: '', started: '' }
  }
}
