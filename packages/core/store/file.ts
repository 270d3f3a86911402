/** Local files as a store. It reads with blocking positional reads, and checks that a file is still what was indexed. */
import { type Dirent, fstatSync, read, readdirSync, readSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { ChangedError, SourceError } from '../basics/errors.js'
import { countOpen } from '../spans/clock.js'
import { type Advice, advise } from '../system/files/advise.js'
import { readAhead } from '../system/files/read-ahead.js'
import { refuseOthers } from '../system/files/regular.js'
import { changeOf, type FileIdentity, type LocalVersion, likeness, probesAgree } from './identity.js'
import { closeFiles, openedFile, openFile, whileOpen } from './open-files.js'
import {
  type ByteRange,
  type Listed,
  type MergeLimits,
  type ReadHow,
  type Stat,
  type Store,
  tooShort,
  type Version,
} from './store.js'

const readAsync = promisify(read)

/** What is known of a local file. */
export interface FileStat extends Stat {
  version: LocalVersion
}

export interface FileStoreOptions {
  /**
   * How the ranges will come. `random` keeps the kernel from reading 128 KiB where 30 kB are wanted;
   * `sequential` doubles its window. Unsaid, the kernel guesses.
   */
  access?: Extract<Advice, 'random' | 'sequential'>
}

/** Node takes the length of one read as a signed 32-bit number; larger ranges are read in pieces of this. */
const LARGEST_READ = 2 ** 30

/** Bytes beyond which a hint is cut off: a range of that size is read faster than it is waited for. */
const LARGEST_HINT = 64 << 20

/** Size and time of modification are the same, ctime or inode are not, and nothing is known of the contents. */
const MOVED = 'it was removed, replaced or written to, or it got another mode, owner or link'

const LIMITS: MergeLimits = {
  // Warm, 64 KiB too many cost 5–10 µs of copying; cold, a second request costs ten times that on an SSD and a
  // thousand times on a disk. The kernel's own read-ahead of 128 KiB would mostly fetch the gap anyway.
  gap: 64 << 10,
  // Beyond 8 MiB a larger read is no faster, and a claim's buffer should not grow because its rows are adjacent.
  most: 8 << 20,
}

export class FileStore implements Store {
  readonly merge = LIMITS
  private readonly begin: ((fd: number) => void) | undefined
  /** Files with probes that were believed once, by path: the identity that they had then. */
  private readonly believed = new Map<string, FileIdentity>()

  /** By path: the read-ahead of the device that holds the file. */
  private readonly pieces = new Map<string, number>()

  constructor({ access }: FileStoreOptions = {}) {
    this.begin = access && (fd => advise(fd, access))
  }

  async stat(path: string): Promise<FileStat> {
    return this.statNow(path)
  }

  /** Of the file that this store has open, or else of the one that the path leads to, which is not opened for this. */
  statNow(path: string): FileStat {
    return this.attempt(path, 0, () => {
      const fd = openedFile(path, this)
      const begun = performance.now()
      const stats = fd === undefined ? statSync(path) : fstatSync(fd)
      countOpen(begun)
      refuseOthers(path, stats)
      const { size, mtimeMs, ctimeMs, ino } = stats
      return { bytes: size, version: { size, mtimeMs, ctimeMs, ino } }
    })
  }

  /** All regular files whose paths begin with `prefix`, in the order of their folders. Links are followed. */
  async *list(prefix: string): AsyncGenerator<Listed> {
    for (const path of filesBelow(prefix)) yield { name: path, ...this.statNow(path) }
  }

  /**
   * With `was`, the file is looked at after every read (some 1.4 µs): what was read is what was indexed, even when the
   * file is written to while it stays open here.
   */
  readNow(path: string, offset: number, into: Uint8Array, was?: Version): true {
    const known = was as FileIdentity | undefined
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
        if (known !== undefined) this.believe(path, fd, known)
        if (done < into.length) throw tooShort(path, offset, into.length, done)
      },
      known,
    )
    return true
  }

  /** The same in threads of Node's pool: for long reads that should not keep this thread from other work. */
  async read(path: string, offset: number, into: Uint8Array, { was, signal }: ReadHow = {}): Promise<void> {
    const known = was as FileIdentity | undefined
    try {
      await whileOpen(path, this, this.begin, async fd => {
        let done = 0
        while (done < into.length) {
          signal?.throwIfAborted()
          const wanted = Math.min(into.length - done, LARGEST_READ)
          const { bytesRead } = await readAsync(fd, into, done, wanted, offset + done)
          if (bytesRead === 0) break
          done += bytesRead
        }
        if (known !== undefined) this.believe(path, fd, known)
        if (done < into.length) throw tooShort(path, offset, into.length, done)
      })
    } catch (error) {
      throw this.explained(error, path, offset, known)
    }
  }

  /** Has the kernel fetch a range into the page cache, in pieces of the device's read-ahead. */
  hint({ file, offset, length }: ByteRange): void {
    try {
      const fd = openFile(file, this, this.begin)
      let piece = this.pieces.get(file)
      if (piece === undefined) this.pieces.set(file, (piece = readAhead(fstatSync(fd).dev)))
      const end = offset + Math.min(length, LARGEST_HINT)
      for (let at = offset; at < end; at += piece) advise(fd, 'willNeed', at, Math.min(piece, end - at))
    } catch {
      // The read will say what is wrong.
    }
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
      if (likeness(was, now) !== 'same') throw changed(path, was, changeOf(was, fd, now) ?? MOVED)
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
      throw this.explained(error, path, offset, was)
    }
  }

  private explained(error: unknown, path: string, offset: number, was?: FileIdentity): unknown {
    if (error instanceof SourceError) return error
    const { code, name } = error as NodeJS.ErrnoException
    if (name === 'AbortError') return error
    if (was !== undefined && (code === 'ENOENT' || code === 'ESTALE')) return changed(path, was, 'it is gone')
    return explain(path, offset, this.notRegular(path) ?? (error as NodeJS.ErrnoException))
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

/** Of a prefix that ends within a name, the folder that it lies in is looked at. A folder that is not there has no files. */
function filesBelow(prefix: string): Generator<string> {
  return below(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, [])
}

/** `above` are the identities of the folders it lies in: a link to one of them is not followed. */
function* below(folder: string, prefix: string, above: readonly string[]): Generator<string> {
  const stats = statSync(folder, { throwIfNoEntry: false })
  const identity = `${stats?.dev}:${stats?.ino}`
  if (stats === undefined || above.includes(identity)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = folder + entry.name
    const kind = kindOf(entry, path)
    if (kind === 'folder' && (prefix.startsWith(`${path}/`) || path.startsWith(prefix)))
      yield* below(`${path}/`, prefix, [...above, identity])
    if (kind === 'file' && path.startsWith(prefix)) yield path
  }
}

function kindOf(entry: Dirent, path: string): 'file' | 'folder' | undefined {
  const what = entry.isFile() || entry.isDirectory() ? entry : statSync(path, { throwIfNoEntry: false })
  if (what?.isFile()) return 'file'
  return what?.isDirectory() ? 'folder' : undefined
}
