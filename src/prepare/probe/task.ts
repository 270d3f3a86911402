/**
 * One thread's part of a measure: blocking calls until the time is over, as workers make them. Only the calls themselves are
 * timed. Before each read it is asked whether the bytes are absent from the page cache.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { AbsentPages, countable } from '../../system/files/absent.js'
import { advise } from '../../system/files/advise.js'
import { openRegular } from '../../system/files/regular.js'
import { type ByPlace, type MeasureName, noSums } from './speed.js'

export interface ProbeFile {
  path: string
  bytes: number
}

export interface ProbeTask {
  what: MeasureName
  /** Folders, for `list`. */
  files: readonly ProbeFile[]
  /** Of one read. */
  bytes: number
  /** The part of each file that this measure has to itself (0…1): what one has read is warm for the others. */
  part: readonly [from: number, to: number]
  /** How long. */
  ms: number
  /** Which of how many threads this is: they begin at different places. */
  thread: number
  threads: number
}

/** Reads that are made a second time, to measure the page cache. */
const AGAIN = 64
/** Files that a thread has open at a time, and places of each that are read. */
const OPEN_FILES = 32
const PLACES = 4096

export function runTask(task: ProbeTask): ByPlace {
  const sums = noSums()
  const until = performance.now() + task.ms
  const open = () => performance.now() < until
  switch (task.what) {
    case 'sequential':
      sequential(task, sums, open)
      break
    case 'random':
      random(task, sums, open)
      break
    case 'small files':
      smallFiles(task, sums, open)
      break
    default:
      metadata(task, sums, open)
  }
  return sums
}

/** Runs a call and books its time. `bytes`: how many it gave. */
function timed(sums: ByPlace, place: keyof ByPlace, call: () => number): void {
  const begin = performance.now()
  const bytes = call()
  sums[place].ms += performance.now() - begin
  sums[place].ops++
  sums[place].bytes += bytes
}

/** A file that has gone meanwhile, or may not be read, is left out: the others tell as much. */
const LEFT_OUT = new Set(['ENOENT', 'EACCES', 'EPERM'])

function opened<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (LEFT_OUT.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Mostly absent, mostly there, or not known. */
function placeOf(share: number | null): keyof ByPlace {
  return share === null ? 'unknown' : share > 0.5 ? 'cold' : 'warm'
}

/** Where a measure's part of a file lies: whole reads, at least one. */
function partOf({ part: [from, to], bytes }: ProbeTask, size: number): { begin: number; reads: number } {
  const all = Math.floor(size / bytes)
  const begin = Math.max(0, Math.min(Math.floor(from * all), all - 1))
  return { begin: begin * bytes, reads: Math.max(1, Math.floor(to * all) - begin) }
}

/** One file after the other. Threads begin with different files. */
function sequential(task: ProbeTask, sums: ByPlace, open: () => boolean): void {
  const { files, bytes, thread, threads } = task
  const into = new Uint8Array(bytes)
  for (let i = thread; i < files.length && open(); i += threads) {
    const file = opened(() => openRegular(files[i].path))
    if (file === undefined) continue
    const { fd, stats } = file
    try {
      advise(fd, 'sequential')
      const { begin, reads } = partOf(task, stats.size)
      // Asked for all at once: reading ahead fills the page cache while it is read.
      const pages = AbsentPages.of(fd, countable(files[i].path))
      const place = placeOf(pages.share(begin, reads * bytes))
      for (let n = 0; n < reads && open(); n++)
        timed(sums, place, () => readSync(fd, into, 0, bytes, begin + n * bytes))
    } finally {
      closeSync(fd)
    }
  }
}

/** Each place once, in a mixed order; again and again only where nothing of it is cold. */
function random(task: ProbeTask, sums: ByPlace, open: () => boolean): void {
  const { files, bytes, thread, threads } = task
  const into = new Uint8Array(bytes)
  const found = files.slice(0, OPEN_FILES).flatMap(({ path }) => {
    const file = opened(() => openRegular(path))
    return file === undefined ? [] : [{ ...file, count: countable(path) }]
  })
  const again: (() => number)[] = []
  try {
    for (const { fd } of found) advise(fd, 'random')
    const places = mixed(
      found.flatMap(({ fd, stats, count }) => {
        const { begin, reads } = partOf(task, stats.size)
        return Array.from({ length: Math.min(reads, PLACES) }, (_, n) => {
          return { fd, count, at: begin + Math.floor((n * reads) / Math.min(reads, PLACES)) * bytes }
        })
      }),
    ).filter((_, i) => i % threads === thread)
    for (let n = 0; open() && places.length > 0; n++) {
      if (n >= places.length && sums.cold.ops > 0) break
      const { fd, count, at } = places[n % places.length]
      const read = () => readSync(fd, into, 0, bytes, at)
      timed(sums, placeOf(AbsentPages.of(fd, count).share(at, bytes)), read)
      if (again.length < AGAIN) again.push(read)
    }
    if (sums.warm.ops === 0) for (const read of again) timed(sums, 'warm', read)
  } finally {
    for (const { fd } of found) closeSync(fd)
  }
}

/** The same order in every thread: each takes its share of it. */
function mixed<T>(items: T[]): T[] {
  const keyed = items.map((item, i) => ({ item, key: Math.imul(i + 1, 0x9e3779b1) >>> 0 }))
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}

/** Open, read, close. Whether bytes are absent can be asked of an open file alone: the time for that is left out. */
function smallFiles({ files, thread, threads }: ProbeTask, sums: ByPlace, open: () => boolean): void {
  const into = new Uint8Array(Math.max(...files.map(file => file.bytes), 1))
  let count: boolean | undefined
  const one = (path: string, bytes: number): void => {
    const begin = performance.now()
    const fd = opened(() => openSync(path, 'r'))
    if (fd === undefined) return
    const opening = performance.now() - begin
    count ??= countable(path)
    const place = placeOf(AbsentPages.of(fd, count).share(0, bytes))
    timed(sums, place, () => {
      const got = readSync(fd, into, 0, into.length, 0)
      closeSync(fd)
      return got
    })
    sums[place].ms += opening
  }
  const own = files.filter((_, i) => i % threads === thread)
  for (const { path, bytes } of own) if (open()) one(path, bytes)
  if (sums.warm.ops === 0) for (const { path, bytes } of own.slice(0, AGAIN)) one(path, bytes)
}

/** stat of files, or the lists of folders, in which an entry is an operation. Whether they come from a cache is not known. */
function metadata({ what, files, thread, threads }: ProbeTask, sums: ByPlace, open: () => boolean): void {
  for (let i = thread; i < files.length && open(); i += threads) {
    const { path } = files[i]
    const begin = performance.now()
    const ops = opened(() => (what === 'stat' ? statSync(path) && 1 : readdirSync(path).length))
    if (ops === undefined) continue
    sums.unknown.ms += performance.now() - begin
    sums.unknown.ops += ops
  }
}
