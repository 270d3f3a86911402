/**
 * Giving way: makers may keep every core busy, but a trainer's threads, which launch kernels, come before them. Only
 * who is short of cores notices.
 */
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { leadsSession } from './process.js'

/** How nice: where both want a core, one of these gets a tenth of it. */
const NICE = 10

/** The calling thread gives way to threads of the ordinary priority. (On Linux; elsewhere to other processes, as one.) */
export function giveWay(): void {
  try {
    setPriority(NICE)
  } catch {
    // Somewhere this may be forbidden: then everybody is equal, as before.
  }
}

/**
 * So does this process's session, if that is its own: Linux may share the cores out by session before it looks at
 * threads. A session that others lead is theirs; a trainer may be in it.
 */
export function giveWayAsSession(): void {
  if (!leadsSession()) return
  try {
    writeFileSync('/proc/self/autogroup', String(NICE))
  } catch {
    // No such file, or it was changed a moment ago: threads still give way on their own.
  }
}
