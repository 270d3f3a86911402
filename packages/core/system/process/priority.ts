/**
 * Lower priority for makers: they may keep every core busy, but a trainer's threads, which launch kernels, come first. It
 * matters only where cores are short. Linux may share the cores out by session before it looks at threads (autogroups): the
 * engine of a trainer in Python has a session of its own, whose share is left as it is. It is divided by all the cores that
 * workers use, so that on each of them it is small beside a trainer's. Giving way as a session would be giving way to the whole machine.
 */
import { setPriority } from 'node:os'

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
