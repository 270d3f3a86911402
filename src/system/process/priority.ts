/**
 * Lower priority for makers: they may keep every core busy, but a trainer's threads, which launch kernels, come first. It
 * matters only where cores are short.
 */
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { leadsSession } from './proc.js'

/** Niceness: where a nice thread and an ordinary one want a core, the nice one gets a tenth of it. */
const NICE = 10

/** The calling thread gives way to threads of the ordinary priority. (On Linux; elsewhere to other processes, as one.) */
export function giveWay(nice = NICE): void {
  try {
    setPriority(nice)
  } catch {
    // Where it is forbidden, all threads stay equal.
  }
}

/**
 * The session of this process gives way as well, if this process leads it: Linux may share the cores out by session
 * before it looks at threads. A session that another process leads is left alone: a trainer may be in it.
 */
export function giveWayAsSession(): void {
  if (!leadsSession()) return
  try {
    writeFileSync('/proc/self/autogroup', String(NICE))
  } catch {
    // No such file, or it was changed a moment ago: threads still give way on their own.
  }
}
