/** Paths as people write them: `~` is the home folder, also where no shell has expanded it. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `~/data` → `/home/me/data`. A folder that is really called so is written `./~`. */
export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(process.env.HOME || homedir(), path.slice(1)) : path
}
