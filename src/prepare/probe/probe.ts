/** Measures the storage below a path: sequential and random reads, small files, metadata. Nothing is dropped from the page cache. */
import { SourceError } from '../../basics/errors.js'
import { fileSystem } from '../../system/files/file-system.js'
import { BenchSet, sweepBenchSets } from './bench-set.js'
import { type FoundFiles, findFiles } from './find.js'
import { type Measure, type Probed, speedAt, wasAt } from './speed.js'
import { labelOf, missing, partOf, STEPS, type Step, suits } from './steps.js'
import type { TaskRuns } from './task.js'
import { ProbeThreads } from './threads.js'
import type { ProbeFile } from './work.js'

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

export async function probe(path: string, options: ProbeOptions): Promise<Probed> {
  const ms = options.seconds * 1000
  const found = findFiles(path, ms * SEARCH)
  const set = options.write ? writeSet(path, found) : undefined
  const takeBack = set && options.onWritten?.(() => set.remove())
  const threads = new ProbeThreads()
  try {
    const files = found.files.filter(file => file.bytes > 0)
    if (files.length === 0 && set === undefined)
      throw new SourceError(
        `${path} has no files to measure with: give a folder that has some, or --write, which writes 260 MiB and takes them away again`,
        { file: path },
      )
    const measures: Measure[] = []
    for (const [i, step] of STEPS.entries()) {
      options.onProgress?.(i, STEPS.length, labelOf(step))
      measures.push(await measured(step, { ...found, files }, set, ms, threads))
    }
    return { ...described(path, found), measures }
  } finally {
    await threads.close()
    set?.remove()
    takeBack?.()
  }
}

function writeSet(path: string, { folders }: FoundFiles): BenchSet {
  if (folders.length === 0)
    throw new SourceError(`--write needs a folder, and ${path} is a file`, { file: path })
  try {
    sweepBenchSets(path)
    return new BenchSet(path)
  } catch (error) {
    throw new SourceError(`can't write to ${path}: ${(error as Error).message}`, { file: path, cause: error })
  }
}

async function measured(
  step: Step,
  found: FoundFiles,
  set: BenchSet | undefined,
  ms: number,
  threads: ProbeThreads,
): Promise<Measure> {
  const { what, bytes, inFlight } = step
  const none = { what, ...(bytes > 0 && { bytes }), inFlight, cold: null, warm: null, unknown: null }
  const files = suited(step, found, set)
  if (files.length === 0) return { ...none, why: missing(step) }
  const runs = await threads.run({ what, files, bytes, part: partOf(step), ms: ms * step.share }, inFlight)
  return { ...none, ...figures(step, runs) }
}

/** The files that a step can be measured with: those of the path, or those written for it. */
function suited(step: Step, found: FoundFiles, set: BenchSet | undefined): ProbeFile[] {
  const from = (files: readonly ProbeFile[]) => files.filter(file => suits(step, file.bytes))
  if (step.what === 'list') return found.folders.map(path => ({ path, bytes: 0 }))
  const own = from(found.files)
  const written = step.what === 'stat' ? set?.small : set?.files
  const files = own.length > 0 ? own : from(written ?? [])
  if (step.what !== 'small files' || files.length < 2) return shuffled(files)
  // What was read one by one is warm: eight at a time get the other half.
  return shuffled(files.filter((_, i) => i % 2 === (step.inFlight > 1 ? 1 : 0)))
}

type Figures = Pick<Measure, 'cold' | 'warm' | 'unknown' | 'why'>

function figures({ what }: Step, threads: readonly TaskRuns[]): Figures {
  const first = threads.map(runs => runs.first)
  const again = threads.map(runs => runs.again)
  const [cold, unknown] = [speedAt('cold', first), speedAt('unknown', first)]
  const warm = speedAt('warm', again) ?? speedAt('warm', first)
  const why = () => {
    if (what === 'stat' || what === 'list' || cold !== null) return undefined
    if (first.every(runs => runs.length === 0)) return 'no file could be read in the time'
    if (wasAt('cold', first)) return warm === null ? 'too little data' : 'too little data that is cold'
    if (unknown !== null) return 'the system does not say what is in the page cache'
    return wasAt('unknown', first) || warm === null ? 'too little data' : 'all bytes were in the page cache'
  }
  const reason = why()
  return { cold, warm, unknown, ...(reason !== undefined && { why: reason }) }
}

function described(path: string, { files, more }: FoundFiles): Omit<Probed, 'measures'> {
  const { name, far } = fileSystem(path)
  const sizes = files.map(file => file.bytes).sort((a, b) => a - b)
  return {
    path,
    fileSystem: name,
    far,
    files: files.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    medianBytes: sizes[sizes.length >> 1] ?? 0,
    more,
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map(item => ({ item, key: Math.random() }))
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}
