/**
 * Walks over the files below a folder, in the order of their relative paths byte by byte, and collects them as columns:
 * which folder, which name, how large. Folders are read as streams. The caller decides which files are taken, hidden ones
 * too.
 */

import { createHash, type Hash } from 'node:crypto'
import { type Dir, type Dirent, type Stats, statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../core/basics/errors.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { kindOf } from '../../core/system/files/regular.js'
import { type Counted, LinkCounter } from './within.js'

/** Folder entries fetched from the system at once. */
const ENTRIES = 1024
/** Files after which other work of this thread gets its turn, and progress is told. */
const BREATH = 4096
/** Two changes of a folder within this time may leave the same time stamp (a tick of the kernel's clock, and some). In ms. */
const TICK = 50

export interface WalkOptions {
  /** Whether to look into a folder, and whether to take a file; both by path relative to the root. */
  enter(folder: string): boolean
  take(file: string): boolean
  progress?: (files: number) => void
  notice?: (text: string) => void
}

/** What was found. Rows are files; `folders` has every folder that was looked into, the root being "". */
export interface FileColumns {
  count: number
  bytes: number
  /** Folders' relative paths, each with a slash at the end, and their times of change. */
  folders: TextBuilder
  folderTimes: NumberBuilder
  /** For each file the number of its folder, its name, its size and its time of change. */
  folder: NumberBuilder
  name: TextBuilder
  size: NumberBuilder
  time: NumberBuilder
  /** Of relative paths and sizes. */
  digest: string
  /** Links that lead out of the root. */
  links: Counted | undefined
}

export async function walkFiles(root: string, options: WalkOptions): Promise<FileColumns> {
  const walk = new Walk(root, options)
  await walk.visit('', [])
  return walk.finish()
}

class Walk {
  private readonly folders = new TextBuilder()
  private readonly folderTimes = new NumberBuilder()
  private readonly folder = new NumberBuilder()
  private readonly name = new TextBuilder()
  private readonly size = new NumberBuilder()
  private readonly time = new NumberBuilder()
  private readonly hash: Hash = createHash('sha256')
  private unhashed = ''
  private bytes = 0
  private readonly links: LinkCounter

  constructor(
    private readonly root: string,
    private readonly options: WalkOptions,
  ) {
    this.links = new LinkCounter([root])
  }

  /** One folder and all below it. `above` are the identities of the folders it lies in. */
  async visit(path: string, above: readonly string[]): Promise<void> {
    const { identity, mtimeMs } = await settled(this.whole(path))
    if (above.includes(identity)) {
      this.options.notice?.(`${this.whole(path)} is a link to a folder above it: left out`)
      return
    }
    const number = this.folders.length
    this.folders.push(path)
    this.folderTimes.push(mtimeMs)
    const names = await this.list(path)
    for (let i = 0; i < names.length; i++) {
      const name = names.at(i)
      if (name.endsWith('/')) await this.visit(path + name, [...above, identity])
      else await this.file(number, path, name)
    }
  }

  finish(): FileColumns {
    this.hash.update(this.unhashed)
    const { folders, folderTimes, folder, name, size, time, bytes } = this
    const digest = this.hash.digest('hex').slice(0, 32)
    const links = this.links.found
    return { count: name.length, bytes, folders, folderTimes, folder, name, size, time, digest, links }
  }

  /** The wanted names in a folder, sorted. Folders end with a slash, so that the order is that of whole paths. */
  private async list(path: string): Promise<NameList> {
    const names = new NameList()
    for await (const entry of await openFolder(this.whole(path))) {
      if (isFolder(entry)) {
        if (!this.options.enter(`${path}${entry.name}/`)) continue
        names.add(`${entry.name}/`)
      } else if (this.options.take(path + entry.name)) names.add(entry.name)
      else continue
      if (entry.isSymbolicLink()) this.links.link(this.whole(path) + entry.name)
    }
    names.sort()
    return names
  }

  private whole(path: string): string {
    return this.root.endsWith('/') ? this.root + path : `${this.root}/${path}`
  }

  private async file(folder: number, path: string, name: string): Promise<void> {
    const file = this.whole(path) + name
    if (name.includes('\ufffd')) {
      throw new SourceError(`the name of ${file} is not valid UTF-8: rename it`, { file })
    }
    let { size, mtimeMs } = statFile(file)
    if (Math.abs(Date.now() - mtimeMs) < TICK) {
      // Just written: wait until its next change is sure to get another time stamp.
      await sleep(TICK)
      ;({ size, mtimeMs } = statFile(file))
    }
    this.folder.push(folder)
    this.name.push(name)
    this.size.push(size)
    this.time.push(mtimeMs)
    this.bytes += size
    this.unhashed += `${path}${name}\0${size}\n`
    if (this.unhashed.length > 65536) {
      this.hash.update(this.unhashed)
      this.unhashed = ''
    }
    if (this.name.length % BREATH === 0) {
      this.options.progress?.(this.name.length)
      await breathe()
    }
  }
}

function openFolder(path: string): Promise<Dir> {
  return opendir(path, { bufferSize: ENTRIES }).catch(error => {
    throw new SourceError(`can't list ${path}: ${error.code}`, { file: path, cause: error })
  })
}

/** Links are followed; where the file system doesn't say what an entry is, it is looked at. */
function isFolder(entry: Dirent): boolean {
  if (entry.isDirectory()) return true
  if (entry.isFile()) return false
  return statSync(`${entry.parentPath}/${entry.name}`, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function statFile(file: string): Stats {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) {
    throw new SourceError(`${file} is gone, or a link to nothing: remove it, or restore what it points to`, {
      file,
    })
  }
  if (!stat.isFile()) {
    throw new SourceError(`${file} is ${kindOf(stat)}, not a regular file: remove it`, { file })
  }
  return stat
}

/**
 * Identity and time of change of a folder. A folder that has just been changed is given time until its next change
 * is sure to get another time stamp: otherwise a file added right now could be missed for ever.
 */
async function settled(path: string): Promise<{ identity: string; mtimeMs: number }> {
  for (let attempt = 0; ; attempt++) {
    const { dev, ino, mtimeMs } = statSync(path)
    const age = Date.now() - mtimeMs
    if (age > TICK || attempt > 0) return { identity: `${dev}:${ino}`, mtimeMs }
    await sleep(TICK)
  }
}

/** The names in one folder, as bytes: a folder of ten million files is one blob and two arrays while it is sorted. */

export class NameList {
  length = 0
  private blob = Buffer.allocUnsafeSlow(4096)
  private ends = new Uint32Array(64)
  private used = 0
  private order: Uint32Array | undefined

  add(name: string): void {
    const most = name.length * 3 // bytes of UTF-8 a UTF-16 unit takes at most
    if (this.used + most > this.blob.length) this.growBlob(most)
    if (this.length + 1 >= this.ends.length) this.growEnds()
    this.used += this.blob.write(name, this.used)
    this.ends[++this.length] = this.used
  }

  /** Sorts byte by byte, which for UTF-8 is by code point: the same in every locale. */
  sort(): void {
    const { blob, ends } = this
    const compare = (a: number, b: number): number => {
      let i = ends[a]
      let j = ends[b]
      const endA = ends[a + 1]
      const endB = ends[b + 1]
      while (i < endA && j < endB) {
        const difference = blob[i++] - blob[j++]
        if (difference !== 0) return difference
      }
      return endA - i - (endB - j)
    }
    this.order = new Uint32Array(this.length).map((_, i) => i).sort(compare)
  }

  at(i: number): string {
    const n = this.order === undefined ? i : this.order[i]
    return this.blob.toString('utf8', this.ends[n], this.ends[n + 1])
  }

  private growBlob(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.blob.length, this.used + bytes))
    this.blob.copy(larger, 0, 0, this.used)
    this.blob = larger
  }

  private growEnds(): void {
    const larger = new Uint32Array(2 * this.ends.length)
    larger.set(this.ends)
    this.ends = larger
  }
}
