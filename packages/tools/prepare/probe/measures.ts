/** The measures of a probe, in their order, and how a thread makes them: blocking calls until the time is over, as workers do. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { monotonicMs } from '../../../core/spans/clock.js'
import { AbsentPages, countable } from '../../../core/system/files/absent.js'
import { advise } from '../../../core/system/files/advise.js'
import { openRegular } from '../../../core/system/files/regular.js'

export interface Measure {
  what: 'sequential' | 'random' | 'small files' | 'stat'
  /** Of one read; 0: whole files. */
  bytes: number
  /** Threads that read at a time. */
  inFlight: number
}

export const KIB = 1024
const MIB = 1024 * KIB
/** Files up to here are measured as small ones. */
export const SMALL = 256 * KIB

export const MEASURES: readonly Measure[] = [
  { what: 'sequential', bytes: MIB, inFlight: 1 },
  ...[1, 8, 32].map(inFlight => ({ what: 'random' as const, bytes: 128 * KIB, inFlight })),
  { what: 'small files', bytes: 0, inFlight: 8 },
  { what: 'stat', bytes: 0, inFlight: 1 },
]
/** Measures that share the large files: each has a part of every file, since what one has read is warm for the next. */
const PARTS = 4

export const leastBytes = ({ bytes }: Measure): number => PARTS * bytes

export interface ProbeFile {
  path: string
  bytes: number
}

export interface ProbeTask extends Measure {
  files: readonly ProbeFile[]
  /** Which part of large files it has, of PARTS. */
  part: number
  ms: number
  /** Two words that the threads share: how many are here, and the operation that comes next. */
  shared: SharedArrayBuffer
}

/** Where bytes were: on the storage, in the page cache, or the system does not say. */
export type Place = 'cold' | 'warm' | 'unknown'
/** What a thread did from `begin` to `end`, by the place of the bytes. Times are ms of a clock that all threads share. */
export interface Pass {
  begin: number
  end: number
  tallies: Record<Place, { ops: number; bytes: number; ms: number }>
}

interface Operations {
  count: number
  /** Makes operation i; undefined: its file has gone, or may not be read. `warm`: it was made before. */
  make(i: number, warm: boolean): { place: Place; bytes: number; ms: number } | undefined
  close?(): void
}

/** Operations that are made a second time, from the page cache, for at most so long. */
const AGAIN = 64
const AGAIN_MS = 200
const OPEN_FILES = 32
const PLACES_A_FILE = 4096

/** What one thread does of a measure, and again from the page cache. The threads begin together, and share one list. */
export function measure(task: ProbeTask): Pass[] {
  const shared = new Int32Array(task.shared)
  Atomics.add(shared, 0, 1)
  Atomics.notify(shared, 0)
  for (let here = 0; here < task.inFlight; here = Atomics.load(shared, 0)) Atomics.wait(shared, 0, here)
  const operations = operationsOf(task)
  const made: number[] = []
  try {
    const first = pass(operations, task.ms, false, n => {
      const i = next(shared)
      if (n < AGAIN && i < operations.count) made.push(i)
      return i
    })
    if (task.what === 'stat' || made.length === 0) return [first]
    return [first, pass(operations, Math.min(task.ms, AGAIN_MS), true, n => made[n % made.length])]
  } finally {
    operations.close?.()
  }
}

/** Makes at least one operation, then others until the time is over, or `which` names one that is not there. */
function pass({ count, make }: Operations, ms: number, warm: boolean, which: (n: number) => number): Pass {
  const nothing = () => ({ ops: 0, bytes: 0, ms: 0 })
  const tallies = { cold: nothing(), warm: nothing(), unknown: nothing() }
  const begin = monotonicMs()
  for (let n = 0; n === 0 || monotonicMs() < begin + ms; n++) {
    const i = which(n)
    if (i >= count) break
    const made = make(i, warm)
    if (made === undefined) continue
    const tally = tallies[made.place]
    tally.ops++
    tally.bytes += made.bytes
    tally.ms += made.ms
  }
  return { begin, end: monotonicMs(), tallies }
}

const next = (shared: Int32Array): number => Atomics.add(shared, 1, 1)

function operationsOf(task: ProbeTask): Operations {
  if (task.what === 'stat') return stats(task)
  return task.what === 'small files' ? smallFiles(task) : reads(task)
}

/** Reads of a part of some files: one after the other, or in an order that is the same in every thread. */
function reads({ what, files, bytes, part }: ProbeTask): Operations {
  const into = new Uint8Array(bytes)
  const opened = files.slice(0, OPEN_FILES).flatMap(({ path }) => {
    return unlessGone(() => ({ path, ...openRegular(path) })) ?? []
  })
  const sequential = what === 'sequential'
  const places = opened.flatMap(({ path, fd, stats }) => {
    advise(fd, sequential ? 'sequential' : 'random')
    const pages = AbsentPages.of(fd, countable(path))
    const [from, to] = [part, part + 1].map(n => Math.floor((n / PARTS) * Math.floor(stats.size / bytes)))
    // Asked for all at once: reading ahead fills the page cache while it is read.
    const all = sequential ? placeOf(pages.share(from * bytes, (to - from) * bytes)) : undefined
    const count = Math.min(to - from, PLACES_A_FILE)
    return Array.from({ length: count }, (_, n) => {
      const at = (from + (sequential ? n : Math.floor((n * (to - from)) / count))) * bytes
      return { fd, at, place: () => all ?? placeOf(pages.share(at, bytes)) }
    })
  })
  const order = places.map((_, i) => ({ i, key: sequential ? i : Math.imul(i + 1, 0x9e3779b1) >>> 0 }))
  order.sort((a, b) => a.key - b.key)
  return {
    count: places.length,
    make(i, warm) {
      const { fd, at, place } = places[order[i].i]
      return { place: warm ? 'warm' : place(), ...timed(() => readSync(fd, into, 0, bytes, at)) }
    },
    close() {
      for (const { fd } of opened) closeSync(fd)
    },
  }
}

/** Open, read, close. Whether bytes are absent is asked of an open file: that is not counted. */
function smallFiles({ files }: ProbeTask): Operations {
  const into = new Uint8Array(Math.max(...files.map(file => file.bytes), 1))
  let count: boolean | undefined
  return {
    count: files.length,
    make(i, warm) {
      const begin = performance.now()
      const fd = unlessGone(() => openSync(files[i].path, 'r'))
      if (fd === undefined) return undefined
      const opening = performance.now() - begin
      count ??= countable(files[i].path)
      const place = warm ? 'warm' : placeOf(AbsentPages.of(fd, count).share(0, files[i].bytes))
      const { bytes, ms } = timed(() => {
        const got = readSync(fd, into, 0, into.length, 0)
        closeSync(fd)
        return got
      })
      return { place, bytes, ms: opening + ms }
    },
  }
}

/** Whether what the system says of a file comes from a cache is not known. */
function stats({ files }: ProbeTask): Operations {
  const make = (i: number) =>
    unlessGone(() => ({ place: 'unknown' as const, ...timed(() => statSync(files[i].path) && 0) }))
  return { count: files.length, make }
}

function timed(call: () => number): { bytes: number; ms: number } {
  const begin = performance.now()
  const bytes = call()
  return { bytes, ms: performance.now() - begin }
}

/** Mostly absent, mostly there, or not known. */
function placeOf(share: number | null): Place {
  return share === null ? 'unknown' : share > 0.5 ? 'cold' : 'warm'
}

function unlessGone<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
