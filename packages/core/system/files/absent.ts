/**
 * Which bytes of files are absent from the page cache. Nothing is dropped from it.
 *
 * cachestat(2) counts pages without touching them: Linux 6.5 and newer, for files that the user owns or may write. Elsewhere,
 * preadv2 with RWF_NOWAIT reads a byte of some pages and fails with EAGAIN where one is absent. Newer kernels begin to read
 * that page then, so few are asked: at most PAGES of a range, each for itself. From a fast disk it may come at once, and counts as
 * there: the share is a lower bound.
 */
import { closeSync, fstatSync } from 'node:fs'
import { addressOf, errno, koffi, libc } from '../native.js'
import { advise } from './advise.js'
import { fileSystem } from './file-system.js'
import { openRegular } from './regular.js'

export interface FileRange {
  path: string
  offset: number
  bytes: number
}

/** Pages of a range that are asked for one by one. */
const PAGES = 4
const CACHESTAT = 451 // the same on all architectures
const RWF_NOWAIT = 8
const EAGAIN = koffi.os.errno.EAGAIN
/** File systems whose pages belong to the files below them: cachestat finds none. */
const STACKED = ['overlay', '0xf15f']

type Call = (...args: unknown[]) => number | bigint
const syscall = find(
  'int64_t syscall(int64_t number, int64_t fd, const void *range, void *stat, int64_t flags)',
)
const preadv2 = find('int64_t preadv2(int fd, const void *vectors, int count, int64_t offset, int flags)')
const page = Number(find('int getpagesize()')?.() ?? 4096)

const scratch = new Uint8Array(1)
const vector = new BigUint64Array([addressOf(scratch.buffer), 1n])

/**
 * Share of the ranges' bytes (in whole pages) that is absent from the page cache, and of how many ranges that is known. Null:
 * of none. What lies behind the end of a file does not count.
 */
export function absentShare(ranges: readonly FileRange[]): { share: number; ranges: number } | null {
  const byPath = new Map<string, FileRange[]>()
  for (const range of ranges) byPath.set(range.path, [...(byPath.get(range.path) ?? []), range])
  let [absent, bytes, known] = [0, 0, 0]
  for (const [path, group] of byPath) {
    using file = AbsentPages.open(path)
    for (const range of group) {
      const share = file?.share(range.offset, range.bytes) ?? null
      if (share === null) continue
      absent += share * range.bytes
      bytes += range.bytes
      known++
    }
  }
  return known === 0 ? null : { share: bytes === 0 ? 0 : absent / bytes, ranges: known }
}

/** A file, opened in order to ask which of its pages are absent. */
export class AbsentPages {
  private constructor(
    private readonly fd: number,
    private countable: boolean,
  ) {}

  /** Undefined where the file can't be opened. `count` false: pages are asked for one by one, in tests. */
  static open(path: string, count = true): AbsentPages | undefined {
    try {
      const { fd } = openRegular(path)
      advise(fd, 'random') // no page is read beside one that is asked for
      return AbsentPages.of(fd, count && countable(path))
    } catch {
      return undefined
    }
  }

  /** Of a file that is open, and closed by its opener. `count`: what `countable` says of its path. */
  static of(fd: number, count: boolean): AbsentPages {
    return new AbsentPages(fd, count)
  }

  /** Share of the pages of a range that is absent; null: the system does not say. */
  share(offset: number, bytes: number): number | null {
    const end = Math.min(offset + bytes, fstatSync(this.fd).size)
    if (end <= offset) return null
    const first = Math.floor(offset / page)
    const pages = Math.floor((end - 1) / page) - first + 1
    return this.counted(first, pages) ?? this.asked(first, pages)
  }

  close(): void {
    closeSync(this.fd)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  private counted(first: number, pages: number): number | null {
    if (!this.countable || syscall === undefined) return null
    const range = new BigUint64Array([BigInt(first * page), BigInt(pages * page)])
    const stat = new BigUint64Array(5) // in the cache, dirty, under writeback, evicted, recently evicted
    this.countable = Number(syscall(CACHESTAT, this.fd, range, stat, 0)) === 0
    return this.countable ? 1 - Math.min(Number(stat[0]), pages) / pages : null
  }

  private asked(first: number, pages: number): number | null {
    if (preadv2 === undefined) return null
    const count = Math.min(PAGES, pages)
    let absent = 0
    for (let i = 0; i < count; i++) {
      const at = first + Math.floor(((i + 0.5) * pages) / count)
      const got = Number(preadv2(this.fd, vector, 1, at * page, RWF_NOWAIT))
      if (got < 0 && errno() !== EAGAIN) return null // EOPNOTSUPP: the file system can't tell
      if (got < 0) absent++
    }
    return absent / count
  }
}

/** Whether pages of files at a path can be counted. */
export function countable(path: string): boolean {
  return !STACKED.includes(fileSystem(path).name)
}

function find(definition: string): Call | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return libc.func(definition) as unknown as Call
  } catch {
    return undefined
  }
}
