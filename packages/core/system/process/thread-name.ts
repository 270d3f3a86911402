/** Names of threads, as `top -H` and /proc/PID/task/TID/comm show them: by these, other processes tell workers from the rest. */
import { writeFileSync } from 'node:fs'

/** Names of makers' threads begin so; their number follows. At most 15 characters stay of a name. */
export const MAKER_THREAD = 'millrace w'

/** Names the calling thread. (On Linux; elsewhere it stays without a name.) */
export function nameThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // /proc is not there, or can't be written: nothing depends on it but figures.
  }
}
