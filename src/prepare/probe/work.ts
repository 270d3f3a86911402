/** The operations of each measure, ready to be made one by one. */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { monotonicMs } from '../../spans/clock.js'
import { AbsentPages, countable } from '../../system/files/absent.js'
import { advise } from '../../system/files/advise.js'
import { openRegular } from '../../system/files/regular.js'
import type { Lane, Place } from './lane.js'
import type { MeasureName } from './speed.js'

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
  /** Which of how many threads this is. */
  thread: number
  threads: number
  /** What they share: a gate's memory. */
  gate: SharedArrayBuffer
}

export interface Work {
  count: number
  /** Makes operation i and books it in the lane. One that takes long asks `open` whether there is time left. */
  first(i: number, lane: Lane, open: () => boolean): void
  /** The same, of what is in the page cache by now; absent where a measure makes each operation once. */
  again?(i: number, lane: Lane, open: () => boolean): void
  close(): void
}

/** Files that a thread has open at a time, and places of each that are read. */
const OPEN_FILES = 32
const PLACES = 4096

export function workOf(task: ProbeTask): Work {
  switch (task.what) {
    case 'sequential':
      return sequential(task)
    case 'random':
      return random(task)
    case 'small files':
      return smallFiles(task)
    default:
      return metadata(task)
  }
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
function placeOf(share: number | null): Place {
  return share === null ? 'unknown' : share > 0.5 ? 'cold' : 'warm'
}

/** Where a measure's part of a file lies: whole reads, at least one. */
function partOf({ part: [from, to], bytes }: ProbeTask, size: number): { begin: number; reads: number } {
  const all = Math.floor(size / bytes)
  const begin = Math.max(0, Math.min(Math.floor(from * all), all - 1))
  return { begin: begin * bytes, reads: Math.max(1, Math.floor(to * all) - begin) }
}

/** One file after the other. */
function sequential(task: ProbeTask): Work {
  const { files, bytes } = task
  const into = new Uint8Array(bytes)
  const first: Work['first'] = (i, lane, open) => {
    const file = opened(() => openRegular(files[i].path))
    if (file === undefined) return
    const { fd, stats } = file
    try {
      advise(fd, 'sequential')
      const { begin, reads } = partOf(task, stats.size)
      // Asked for all at once: reading ahead fills the page cache while it is read.
      const pages = AbsentPages.of(fd, countable(files[i].path))
      const place = placeOf(pages.share(begin, reads * bytes))
      for (let n = 0; n < reads && (n === 0 || open()); n++)
        lane.timed(place, () => readSync(fd, into, 0, bytes, begin + n * bytes))
    } finally {
      closeSync(fd)
    }
  }
  return { count: files.length, first, close() {} }
}

/** Places of some files, in a mixed order. */
function random(task: ProbeTask): Work {
  const { files, bytes } = task
  const into = new Uint8Array(bytes)
  const found = files.slice(0, OPEN_FILES).flatMap(({ path }) => {
    const file = opened(() => openRegular(path))
    return file === undefined ? [] : [{ ...file, count: countable(path) }]
  })
  for (const { fd } of found) advise(fd, 'random')
  const places = mixed(
    found.flatMap(({ fd, stats, count }) => {
      const { begin, reads } = partOf(task, stats.size)
      return Array.from({ length: Math.min(reads, PLACES) }, (_, n) => {
        return { fd, count, at: begin + Math.floor((n * reads) / Math.min(reads, PLACES)) * bytes }
      })
    }),
  )
  const read = (i: number) => readSync(places[i].fd, into, 0, bytes, places[i].at)
  return {
    count: places.length,
    first(i, lane) {
      const { fd, count, at } = places[i]
      lane.timed(placeOf(AbsentPages.of(fd, count).share(at, bytes)), () => read(i))
    },
    again: (i, lane) => lane.timed('warm', () => read(i)),
    close() {
      for (const { fd } of found) closeSync(fd)
    },
  }
}

/** The same order in every thread. */
function mixed<T>(items: T[]): T[] {
  const keyed = items.map((item, i) => ({ item, key: Math.imul(i + 1, 0x9e3779b1) >>> 0 }))
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}

/** Open, read, close. Whether bytes are absent can be asked of an open file alone: the operation does not include the asking. */
function smallFiles({ files }: ProbeTask): Work {
  const into = new Uint8Array(Math.max(...files.map(file => file.bytes), 1))
  let count: boolean | undefined
  const one = (i: number, lane: Lane, place?: Place) => {
    const { path, bytes } = files[i]
    const begin = monotonicMs()
    const fd = opened(() => openSync(path, 'r'))
    if (fd === undefined) return
    const opening = monotonicMs() - begin
    count ??= countable(path)
    const where = place ?? placeOf(AbsentPages.of(fd, count).share(0, bytes))
    const readAndClose = () => {
      const got = readSync(fd, into, 0, into.length, 0)
      closeSync(fd)
      return got
    }
    lane.timed(where, readAndClose, opening)
  }
  return {
    count: files.length,
    first: (i, lane) => one(i, lane),
    again: (i, lane) => one(i, lane, 'warm'),
    close() {},
  }
}

/** stat of files, or the lists of folders, in which an entry is an operation. Whether they come from a cache is not known. */
function metadata({ what, files }: ProbeTask): Work {
  const first: Work['first'] = (i, lane) => {
    const { path } = files[i]
    const begin = monotonicMs()
    const ops = opened(() => (what === 'stat' ? statSync(path) && 1 : readdirSync(path).length))
    if (ops === undefined) return
    const end = monotonicMs()
    lane.add({ place: 'unknown', begin, end, ops, bytes: 0, ms: end - begin })
  }
  return { count: files.length, first, close() {} }
}
