/** Local files as a store. It reads with blocking positional reads, and checks that a file is still what was indexed. */
import { fstatSync, readSync } from 'node:fs'
import { ChangedError, SourceError } from '../basics/errors.js'
import { type Advice, advise } from '../system/files/advise.js'
import { refuseOthers } from '../system/files/regular.js'
import { changeOf, type FileIdentity, likeness, probesAgree } from './identity.js'
import { closeFiles, openedFile, openFile } from './open-files.js'
import { type Store, tooShort } from './store.js'

export interface FileStoreOptions {
  /**
   * How the ranges will come. `random` keeps the kernel from reading 128 KiB where 30 kB are wanted;
   * `sequential` doubles its window. Unsaid, the kernel guesses.
   */
  access?: Extract<Advice, 'random' | 'sequential'>
}

/** Node takes the length of one read as a signed 32-bit number; larger ranges are read in pieces of this. */
const LARGEST_READ = 2 ** 30

export class FileStore implements Store {
  private readonly begin: ((fd: number) => void) | undefined
  /** Files with probes that were believed once, by path: the identity that they had then. */
  private readonly believed = new Map<string, FileIdentity>()

  constructor({ access }: FileStoreOptions = {}) {
    this.begin = access && (fd => advise(fd, access))
  }

  sizeSync(path: string): number {
    return this.attempt(path, 0, () => {
      const stat = fstatSync(openFile(path, this, this.begin))
      refuseOthers(path, stat)
      return stat.size
    })
  }

  /**
   * With `was`, the file is looked at after every read (some 1.4 µs): what was read is what was indexed, even when the
   * file is written to while it stays open here.
   */
  readSync(path: string, offset: number, into: Uint8Array, was?: FileIdentity): void {
    this.attempt(
      path,
      offset,
      () => {
        const fd = openFile(path, this, this.begin)
        let done = 0
        while (done < into.length) {
          const wanted = Math.min(into.length - done, LARGEST_READ)
          const got = readSync(fd, into, done, wanted, offset + done)
          if (got === 0) break
          done += got
        }
        if (was !== undefined) this.believe(path, fd, was)
        if (done < into.length) throw tooShort(path, offset, into.length, done)
      },
      was,
    )
  }

  close(): void {
    closeFiles(this)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Throws a ChangedError unless the open file is the one that was indexed. */
  private believe(path: string, fd: number, was: FileIdentity): void {
    const now = fstatSync(fd)
    refuseOthers(path, now)
    if (was.probes === undefined) {
      if (likeness(was, now) !== 'same') throw changed(path, was, changeOf(was, fd, now) as string)
      return
    }
    const known = this.believed.get(path)
    if (known !== undefined && likeness(known, now) === 'same') return
    const change =
      changeOf(was, fd, now) ??
      (probesAgree(fd, was, 1) ? undefined : 'it has other contents under the same time of change')
    if (change !== undefined) throw changed(path, was, change)
    const { size, mtimeMs, ctimeMs, ino } = now
    this.believed.set(path, { size, mtimeMs, ctimeMs, ino })
  }

  private attempt<T>(path: string, offset: number, work: () => T, was?: FileIdentity): T {
    try {
      return work()
    } catch (error) {
      if (error instanceof SourceError) throw error
      const { code } = error as NodeJS.ErrnoException
      if (was !== undefined && (code === 'ENOENT' || code === 'ESTALE'))
        throw changed(path, was, 'it is gone')
      throw explain(path, offset, this.notRegular(path) ?? (error as NodeJS.ErrnoException))
    }
  }

  /** Reading what is no regular file fails in many ways; what it is explains them all. */
  private notRegular(path: string): NodeJS.ErrnoException | undefined {
    const fd = openedFile(path, this)
    if (fd === undefined) return undefined
    try {
      refuseOthers(path, fstatSync(fd))
      return undefined
    } catch (error) {
      return error as NodeJS.ErrnoException
    }
  }
}

function changed(path: string, was: FileIdentity, how: string): ChangedError {
  const when = was.index?.checked === false ? 'after it was indexed' : 'during the run'
  return new ChangedError(
    `${path} changed ${when}: ${how}. What was read no longer fits its index: start again, the index is then made anew`,
    { file: path },
    was.index,
  )
}

/** What the system's error codes mean for a user, and what to do. */
const ADVICE: Record<string, string> = {
  ENOENT: 'there is no such file: check the path',
  ENOTDIR: 'a part of the path is a file, not a folder: check the path',
  EACCES: 'reading it is not permitted: check the permissions of the file and of the folders above it',
  EPERM: 'reading it is not permitted: check the permissions of the file and of the folders above it',
  ENOTREG:
    'it is no regular file, but a pipe, a socket or a device: remove it, or name the files that are meant',
  ENXIO:
    'it is no regular file, but a pipe, a socket or a device: remove it, or name the files that are meant',
  EISDIR: 'it is a folder, not a file: use the `folder` source, or name the files in it',
  EMFILE: 'this process has too many open files: raise the limit (`ulimit -n`), or use fewer workers',
  ENFILE: 'the machine has too many open files: close other programs, or raise fs.file-max',
  EIO: 'the disk reports an error: check the kernel log and the disk',
  ESTALE: 'the file was replaced on the network file system: start again',
}

function explain(path: string, offset: number, cause: NodeJS.ErrnoException): SourceError {
  const advice = ADVICE[cause.code ?? ''] ?? `${cause.message}: check that the file can be read (\`cat\` it)`
  return new SourceError(`${path}: can't read at offset ${offset}: ${advice}`, { file: path, offset, cause })
}
