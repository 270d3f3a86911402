/**
 * The process that controls an engine, as the engine remembers it: what was set before it came, so that it can be set back
 * should it be killed before it is done.
 */
import { readFileSync } from 'node:fs'

export interface Asker {
  pid: number
  /** When it was started: another process may get its number. */
  started: string
  /** Workers and depth of each ring that it has changed, as they were. */
  before: Map<number, { workers: number; depth: number }>
  /** Whether it has let workers rest. */
  rested: boolean
}

/** When a process was started, in words of the system's. Undefined: it has ended, though its parent may not know yet. */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // Its name may hold spaces and brackets: fields are counted after it.
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return words[0] === 'Z' || words[0] === 'X' ? undefined : words[19]
  } catch {
    return undefined
  }
}
