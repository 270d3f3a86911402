/**
 * Makes folders. `mkdir` of Node with `recursive` never ends where the system says ENOENT although the parent is there
 * (/proc, a home folder that autofs does not know), and no signal stops it.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes a folder, and those above it, where they are not there yet. */
export function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, mode)
  } catch (error) {
    if (isFolder(path)) return
    const parent = dirname(resolve(path))
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(parent)) throw error
    makeFolder(parent, mode)
    makeFolder(path, mode)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
