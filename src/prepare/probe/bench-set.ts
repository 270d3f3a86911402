/**
 * Files to measure with, where a folder has none of a kind (`--write`): written past the page cache where the file system
 * can do that, so that they are cold, and taken away again. On Linux the large file loses its name before it is written: a
 * probe that is killed leaves nothing of it. The small ones keep theirs, since opening them by name is what is
 * measured: 4 MiB, which the next probe with `--write` takes away.
 */
import { closeSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { alignedBytes, createDirect } from '../../system/files/direct.js'
import type { ProbeFile } from './work.js'

const LARGE = 256 << 20
const SMALL = 16 << 10
const SMALL_FILES = 256
const PIECE = 1 << 20
/** Folders of probes: this, the process, and what makes the name unique. Data is never looked for in them. */
const PREFIX = '.millrace-probe-'

export class BenchSet {
  readonly folder: string
  readonly small: ProbeFile[] = []
  private readonly large: ProbeFile
  /** The large file, where it has no name: its bytes are kept while it is open. */
  private nameless: number | undefined

  /** Writes one large file and many small ones below a folder. `remove` takes them away. */
  constructor(below: string) {
    this.folder = mkdtempSync(join(below, `${PREFIX}${process.pid}-`))
    try {
      const bytes = randomBytes()
      this.large = { path: this.writeLarge(bytes), bytes: LARGE }
      for (let i = 0; i < SMALL_FILES; i++) {
        const path = join(this.folder, `small-${i}`)
        const fd = createDirect(path)
        this.small.push({ path, bytes: SMALL })
        try {
          fill(fd, SMALL, bytes)
        } finally {
          closeSync(fd)
        }
      }
    } catch (error) {
      this.remove()
      throw error
    }
  }

  get files(): ProbeFile[] {
    return [this.large, ...this.small]
  }

  remove(): void {
    if (this.nameless !== undefined) closeSync(this.nameless)
    this.nameless = undefined
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Returns a path that leads to the file. */
  private writeLarge(bytes: Uint8Array): string {
    const path = join(this.folder, 'large')
    const fd = createDirect(path)
    if (process.platform !== 'linux') {
      try {
        fill(fd, LARGE, bytes)
      } finally {
        closeSync(fd)
      }
      return path
    }
    this.nameless = fd
    unlinkSync(path)
    fill(fd, LARGE, bytes)
    return `/proc/self/fd/${fd}`
  }
}

function fill(fd: number, bytes: number, from: Uint8Array): void {
  for (let at = 0; at < bytes; at += PIECE) writeSync(fd, from, 0, Math.min(PIECE, bytes - at), at)
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
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Bytes that no file system can compress. */
function randomBytes(): Uint8Array {
  const bytes = alignedBytes(PIECE)
  for (let at = 0; at < PIECE; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536))
  return bytes
}
