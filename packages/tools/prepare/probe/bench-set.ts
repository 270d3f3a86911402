/**
 * Files to measure with, where a folder has none of a kind (`--write`): written past the page cache where the file system
 * can do that, so that they are cold, and taken away again. On Linux the large file loses its name before it is written: a
 * probe that is killed leaves 4 MiB of small ones, which the next probe with `--write` takes away.
 */
import { closeSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { alignedBytes, createDirect } from '../../../core/system/files/direct.js'
import type { ProbeFile } from './measures.js'

const LARGE = 256 << 20
const SMALL = 16 << 10
const SMALL_FILES = 256
const PIECE = 1 << 20
/** Folders of probes: this, the process, and what makes the name unique. Data is never looked for in them. */
const PREFIX = '.millrace-probe-'

export interface BenchSet {
  files: ProbeFile[]
  remove(): void
}

export function writeBenchSet(below: string): BenchSet {
  const folder = mkdtempSync(join(below, `${PREFIX}${process.pid}-`))
  const open: number[] = []
  const remove = () => {
    for (const fd of open.splice(0)) closeSync(fd)
    rmSync(folder, { recursive: true, force: true })
  }
  const random = alignedBytes(PIECE) // that no file system can compress
  for (let at = 0; at < PIECE; at += 65536) crypto.getRandomValues(random.subarray(at, at + 65536))
  const write = (name: string, bytes: number, nameless: boolean): ProbeFile => {
    const path = join(folder, name)
    const fd = createDirect(path)
    open.push(fd)
    if (nameless) unlinkSync(path)
    for (let at = 0; at < bytes; at += PIECE) writeSync(fd, random, 0, Math.min(PIECE, bytes - at), at)
    if (!nameless) closeSync(open.pop()!)
    return { path: nameless ? `/proc/self/fd/${fd}` : path, bytes }
  }
  try {
    const files = [write('large', LARGE, process.platform === 'linux')]
    for (let i = 0; i < SMALL_FILES; i++) files.push(write(`small-${i}`, SMALL, false))
    return { files, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** Whether an entry of a folder was written by a probe. */
export function isBenchSet(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** Takes away what probes left in a folder whose processes are gone: they were killed. */
export function sweepBenchSets(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = isBenchSet(name) ? /^(\d+)-/.exec(name.slice(PREFIX.length))?.[1] : undefined
    if (pid !== undefined && !alive(Number(pid))) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
