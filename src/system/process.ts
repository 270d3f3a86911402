/** Naming processes for good: a pid comes back, a pid with its start time does not. */
import { readFileSync } from 'node:fs'

/** When a process started, in ticks since boot: field 22 of /proc/PID/stat. Empty when it is gone, or only a zombie. */
export function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may hold anything: the fields after the last one are safe to split.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? '' : fields[19]
  } catch {
    return ''
  }
}
