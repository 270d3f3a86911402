/**
 * A file that has no name until it is finished. On Linux it is an unnamed inode (O_TMPFILE) that gets
 * its name by linkat: a process that is killed while writing leaves nothing. Where the file system can't do that, it is
 * a hidden temporary file beside the target, taken away on error and by `sweepDrafts` after a kill.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createRegion } from '../memory/memory.js'
import { koffi, libc } from '../native.js'

/** Linux's O_TMPFILE without O_DIRECTORY, which has another value on some architectures and comes from Node. */
const O_TMPFILE_BIT = 0o20000000
const AT_FDCWD = -100
const AT_SYMLINK_FOLLOW = 0x400
const EEXIST = koffi.os.errno.EEXIST

const linkat =
  process.platform === 'linux'
    ? libc.func('int linkat(int from, const char *path, int to, const char *name, int flags)')
    : undefined

export class Draft {
  /** Bytes written so far. */
  bytes = 0
  private constructor(
    readonly path: string,
    private fd: number,
    /** The temporary name, where the file has to have one. */
    private readonly hidden: string | undefined,
    /** In memory: it never gets a name on a disk. */
    private readonly nameless = false,
  ) {}

  /** A file in memory, for when no disk can be written. `path` leads to it until it is freed, or the process ends. */
  static inMemory(): Draft {
    const { fd } = createRegion(0)
    return new Draft(`/proc/${process.pid}/fd/${fd}`, fd, undefined, true)
  }

  /** Begins a file that will be called `path`. Its folder must exist. */
  static open(path: string): Draft {
    const full = resolve(path)
    if (linkat !== undefined) {
      try {
        const flags = O_TMPFILE_BIT | constants.O_DIRECTORY | constants.O_RDWR
        return new Draft(full, openSync(dirname(full), flags, 0o644), undefined)
      } catch (error) {
        // NFS, old overlayfs and others have no unnamed files; the caller is told of a missing folder or right.
        const code = (error as NodeJS.ErrnoException).code
        if (code !== 'EOPNOTSUPP' && code !== 'EISDIR' && code !== 'EINVAL') throw error
      }
    }
    const hidden = hiddenName(full)
    rmSync(hidden, { force: true })
    // A link that another user put there is not followed.
    return new Draft(full, openSync(hidden, 'wx+', 0o644), hidden)
  }

  /** Appends all of `data`. */
  write(data: Uint8Array): void {
    this.named(() => {
      let at = 0
      while (at < data.byteLength) at += writeSync(this.fd, data, at)
    })
    this.bytes += data.byteLength
  }

  /** Writes over what stands at `position`, or beyond the end. */
  writeAt(data: Uint8Array, position: number): void {
    this.named(() => {
      let at = 0
      while (at < data.byteLength) at += writeSync(this.fd, data, at, data.byteLength - at, position + at)
    })
  }

  /** Reads what was written, from `position` on; gives the number of bytes, fewer than asked only at the end. */
  readAt(into: Uint8Array, position: number): number {
    let at = 0
    while (at < into.byteLength) {
      const got = readSync(this.fd, into, at, into.byteLength - at, position + at)
      if (got === 0) break
      at += got
    }
    return at
  }

  /** Names the file in errors of a write (a full disk): the system's error has but a number. */
  private named(write: () => void): void {
    try {
      write()
    } catch (error) {
      throw Object.assign(error as Error, { path: this.path })
    }
  }

  /**
   * Gives the file its name, in place of what had it before; `sync` puts the contents on the disk first, so that
   * a power failure can't leave the name without them. A kill can't in either case.
   */
  commit(sync = true): void {
    if (this.nameless) return
    if (sync) fdatasyncSync(this.fd)
    if (this.hidden === undefined) {
      const inode = `/proc/self/fd/${this.fd}`
      let status = link(inode, this.path)
      if (status === EEXIST) {
        const hidden = hiddenName(this.path)
        rmSync(hidden, { force: true })
        status = link(inode, hidden)
        if (status === 0) replace(hidden, this.path)
      }
      if (status !== 0) throw linkError(this.path, status)
    } else {
      replace(this.hidden, this.path)
    }
    this.close()
  }

  /** Gives the file its name, unless another file has it: then false, and nothing stays of this one. */
  commitNew(): boolean {
    try {
      if (this.hidden !== undefined) linkSync(this.hidden, this.path)
      else {
        const status = link(`/proc/self/fd/${this.fd}`, this.path)
        if (status !== 0) throw linkError(this.path, status)
      }
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    } finally {
      this.discard()
    }
  }

  /** Gives the file up, or frees the one in memory: nothing of it stays. */
  discard(): void {
    if (this.hidden !== undefined) rmSync(this.hidden, { force: true })
    this.close()
  }

  private close(): void {
    if (this.fd >= 0) closeSync(this.fd)
    this.fd = -1
  }
}

/** Renames, or leaves nothing: what has the name may be a folder, or another user's. */
function replace(hidden: string, path: string): void {
  try {
    renameSync(hidden, path)
  } catch (error) {
    rmSync(hidden, { force: true })
    throw error
  }
}

/** Writes a small file whole, or not at all. Without `sync` it takes microseconds, for what is written every step. */
export function writeWhole(path: string, data: Uint8Array | string, sync = true): void {
  const draft = Draft.open(path)
  try {
    draft.write(typeof data === 'string' ? Buffer.from(data) : data)
    draft.commit(sync)
  } catch (error) {
    draft.discard()
    throw error
  }
}

/** Takes away the hidden drafts in a folder whose writers are dead (or, with `own`, are this process). */
export function sweepDrafts(folder: string, own = false): void {
  for (const name of readdirSync(folder)) {
    const match = /^\.millrace-draft-(\d+)-/.exec(name)
    if (match === null) continue
    const pid = Number(match[1])
    if (pid === process.pid ? own : !alive(pid)) rmSync(join(folder, name), { force: true })
  }
}

function hiddenName(path: string): string {
  return join(dirname(path), `.millrace-draft-${process.pid}-${basename(path)}`)
}

function link(from: string, to: string): number {
  const status: number = linkat?.(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) ?? -1
  return status === 0 ? 0 : koffi.errno()
}

function linkError(path: string, status: number): NodeJS.ErrnoException {
  const [code = `errno ${status}`] =
    Object.entries(koffi.os.errno).find(([, number]) => number === status) ?? []
  return Object.assign(new Error(`can't name ${path}: ${code}`), { code, syscall: 'link' })
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
