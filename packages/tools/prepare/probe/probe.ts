/** Measures the storage below a path: sequential and random reads, small files, metadata. Nothing is dropped from the page cache. */
import { Worker } from 'node:worker_threads'
import { SourceError } from '../../../core/basics/errors.js'
import { fileSystem } from '../../../core/system/files/file-system.js'
import { threadFlags } from '../../../core/system/node/thread-flags.js'
import { type BenchSet, sweepBenchSets, writeBenchSet } from './bench-set.js'
import { findFiles } from './find.js'
import {
  leastBytes,
  MEASURES,
  type Measure,
  type Pass,
  type Place,
  type ProbeFile,
  type ProbeTask,
  SMALL,
} from './measures.js'

export interface Speed {
  opsPerSecond: number
  bytesPerSecond: number
  /** Mean time of one operation. */
  ms: number
  ops: number
}

/** Null: nothing was read at the place, or less than an operation of each thread. */
export type Measured = Measure & Record<Place, Speed | null>

export interface Probed {
  path: string
  fileSystem: string
  /** Over a network. */
  far: boolean
  /** What was found below the path; `more`: it has more files than were looked at. */
  files: number
  bytes: number
  medianBytes: number
  more: boolean
  measures: Measured[]
}

export interface ProbeOptions {
  /** For one path. */
  seconds: number
  /** Writes files to measure with, and takes them away again. */
  write: boolean
  /** How many measures of how many are done, and which comes. */
  onProgress?: (done: number, of: number, what: string) => void
  /** Called with a way to take away what was written, for an interrupt; returns the way to take that back. */
  onWritten?: (remove: () => void) => () => void
}

/** Looking for files may take this share of the time. */
const SEARCH = 0.1
/** A call that the storage does not answer for so long ends the probe. */
const PATIENCE_MS = 30_000

export async function probe(path: string, options: ProbeOptions): Promise<Probed> {
  const ms = options.seconds * 1000
  const { files, folder, more } = findFiles(path, ms * SEARCH)
  const set = options.write ? writeSet(path, folder) : undefined
  const takeBack = set && options.onWritten?.(() => set.remove())
  const threads: Worker[] = []
  try {
    if (files.length === 0 && set === undefined)
      throw new SourceError(
        `${path} has no files to measure with: give a folder that has some, or --write, which writes 260 MiB and takes them away again`,
        { file: path },
      )
    const measures: Measured[] = []
    for (const [part, measure] of MEASURES.entries()) {
      options.onProgress?.(part, MEASURES.length, labelOf(measure))
      const own = shuffled(files.filter(file => suits(measure, file.bytes)))
      const suited = own.length > 0 ? own : (set?.files ?? []).filter(file => suits(measure, file.bytes))
      const task = { ...measure, files: suited, part, ms: ms / MEASURES.length }
      const all = suited.length === 0 ? [] : await inThreads(task, threads)
      const [first, again] = [0, 1].map(n => all.flatMap(passes => passes[n] ?? []))
      const warm = (again.length === all.length && speed('warm', again)) || speed('warm', first)
      measures.push({ ...measure, cold: speed('cold', first), warm, unknown: speed('unknown', first) })
    }
    return { path, ...described(path, files), more, measures }
  } finally {
    await Promise.all(threads.map(thread => thread.terminate()))
    set?.remove()
    takeBack?.()
  }
}

/** A measure in words: `random 128 KiB, 8 in flight`. */
export function labelOf({ what, bytes, inFlight }: Measure): string {
  const label = what === 'random' ? `random ${bytes / 1024} KiB` : what
  return inFlight > 1 ? `${label}, ${inFlight} in flight` : label
}

function writeSet(path: string, folder: boolean): BenchSet {
  if (!folder) throw new SourceError(`--write needs a folder, and ${path} is a file`, { file: path })
  try {
    sweepBenchSets(path)
    return writeBenchSet(path)
  } catch (error) {
    throw new SourceError(`can't write to ${path}: ${(error as Error).message}`, { file: path, cause: error })
  }
}

function suits(measure: Measure, size: number): boolean {
  if (measure.what === 'stat') return true
  return measure.what === 'small files' ? size > 0 && size <= SMALL : size >= leastBytes(measure)
}

function inThreads(task: Omit<ProbeTask, 'shared'>, threads: Worker[]): Promise<Pass[][]> {
  while (threads.length < task.inFlight)
    threads.push(new Worker(new URL('./thread.js', import.meta.url), { execArgv: threadFlags() }))
  const shared = new SharedArrayBuffer(8)
  return Promise.all(
    threads.slice(0, task.inFlight).map(thread => {
      thread.postMessage({ ...task, shared } satisfies ProbeTask)
      return answer(thread, task)
    }),
  )
}

function answer(thread: Worker, { ms, files }: Omit<ProbeTask, 'shared'>): Promise<Pass[]> {
  return new Promise((resolve, reject) => {
    const late = `the storage of ${files[0].path} did not answer for ${PATIENCE_MS / 1000} s`
    const timer = setTimeout(() => reject(new SourceError(late)), ms + PATIENCE_MS)
    thread.once('error', reject)
    thread.once('message', (answer: { passes: Pass[] } | { failed: string }) => {
      clearTimeout(timer)
      thread.off('error', reject)
      if ('passes' in answer) resolve(answer.passes)
      else reject(new SourceError(answer.failed))
    })
  })
}

/** Over the wall time of all threads. Where places are mixed, each has the share of it that its operations took. */
export function speed(place: Place, passes: readonly Pass[]): Speed | null {
  const all = passes.flatMap(pass => Object.entries(pass.tallies))
  const sum = (of: 'ops' | 'bytes' | 'ms') =>
    all.reduce((sum, [name, tally]) => sum + (name === place ? tally[of] : 0), 0)
  const [ops, ms] = [sum('ops'), sum('ms')]
  if (ops === 0 || ops < passes.length) return null
  const wall = Math.max(...passes.map(({ end }) => end)) - Math.min(...passes.map(({ begin }) => begin))
  const seconds = (wall * ms) / all.reduce((sum, [, tally]) => sum + tally.ms, 0) / 1000
  return { opsPerSecond: ops / seconds, bytesPerSecond: sum('bytes') / seconds, ms: ms / ops, ops }
}

function described(path: string, files: readonly ProbeFile[]) {
  const { name, far } = fileSystem(path)
  const sizes = files.map(file => file.bytes).sort((a, b) => a - b)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return { fileSystem: name, far, files: files.length, bytes, medianBytes: sizes[sizes.length >> 1] ?? 0 }
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map(item => ({ item, key: Math.random() }))
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}
