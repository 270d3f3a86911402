/** Measures the storage below a path: sequential and random reads, small files, metadata. Nothing is dropped from the page cache. */
import { SourceError } from '../../basics/errors.js'
import { fileSystem } from '../../system/files/file-system.js'
import { BenchSet } from './bench-set.js'
import { type FoundFiles, findFiles } from './find.js'
import { type ByPlace, type Measure, type MeasureName, type Probed, speedOf } from './speed.js'
import type { ProbeFile } from './task.js'
import { ProbeThreads } from './threads.js'

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

interface Step {
  what: MeasureName
  bytes: number
  inFlight: number
  /** Share of the time. */
  share: number
}

const KIB = 1024
const MIB = 1024 * KIB
/** A file that is opened, read and closed at once is small up to here. */
const SMALL = 256 * KIB
/** Looking for files may take this share of the time. */
const SEARCH = 0.1

const STEPS: readonly Step[] = [
  { what: 'sequential', bytes: MIB, inFlight: 1, share: 0.15 },
  ...[4 * KIB, 128 * KIB, MIB].flatMap(bytes =>
    [1, 8, 32].map(inFlight => ({ what: 'random' as const, bytes, inFlight, share: 0.05 })),
  ),
  { what: 'small files', bytes: 0, inFlight: 1, share: 0.1 },
  { what: 'small files', bytes: 0, inFlight: 8, share: 0.08 },
  { what: 'stat', bytes: 0, inFlight: 1, share: 0.06 },
  { what: 'list', bytes: 0, inFlight: 1, share: 0.06 },
]

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
  const sums = await threads.run({ what, files, bytes, part: partOf(step), ms: ms * step.share }, inFlight)
  return { ...none, ...speeds(sums, inFlight), ...(whyNotCold(step, sums) ?? {}) }
}

/** The files that a step can be measured with: those of the path, or those written for it. */
function suited(step: Step, found: FoundFiles, set: BenchSet | undefined): ProbeFile[] {
  const from = (files: readonly ProbeFile[]) => files.filter(file => suits(step, file.bytes))
  if (step.what === 'list') return found.folders.map(path => ({ path, bytes: 0 }))
  const own = from(found.files)
  const files = own.length > 0 ? own : from(set?.files ?? [])
  if (step.what !== 'small files' || files.length < 2) return shuffled(files)
  // What was read one by one is warm: eight at a time get the other half.
  return shuffled(files.filter((_, i) => i % 2 === (step.inFlight > 1 ? 1 : 0)))
}

/** Reads of large files: each step has its part of them. */
function partOf(step: Step): [from: number, to: number] {
  const reads = STEPS.filter(({ what }) => what === 'sequential' || what === 'random')
  const at = reads.indexOf(step)
  return at < 0 ? [0, 1] : [at / reads.length, (at + 1) / reads.length]
}

function suits({ what, bytes }: Step, size: number): boolean {
  if (what === 'small files') return size <= SMALL
  return what === 'stat' || size >= (what === 'sequential' ? 4 : 8) * bytes
}

function missing({ what, bytes }: Step): string {
  if (what === 'list') return 'the path is a file'
  if (what === 'small files') return `no file of at most ${SMALL / KIB} KiB`
  const least = (what === 'sequential' ? 4 : 8) * bytes
  return `no file of ${least >= MIB ? `${least / MIB} MiB` : `${least / KIB} KiB`} or more`
}

function speeds(sums: ByPlace, inFlight: number): Pick<Measure, keyof ByPlace> {
  return {
    cold: speedOf(sums.cold, inFlight),
    // Beside cold reads, warm ones are few, and made at different times: the speed of one at a time is known.
    warm: speedOf(sums.warm, sums.cold.ops + sums.unknown.ops > 0 ? 1 : inFlight),
    unknown: speedOf(sums.unknown, inFlight),
  }
}

function whyNotCold({ what }: Step, sums: ByPlace): { why: string } | undefined {
  if (what === 'stat' || what === 'list' || sums.cold.ops > 0) return undefined
  if (sums.unknown.ops > 0) return { why: 'the system does not say what is in the page cache' }
  if (sums.warm.ops === 0) return { why: 'no file could be read in the time' }
  return { why: 'all bytes were in the page cache' }
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

/** A measure in words: `random 128 KiB, 8 in flight`. */
export function labelOf({ what, bytes = 0, inFlight }: Pick<Measure, 'what' | 'bytes' | 'inFlight'>): string {
  const size = bytes >= MIB ? ` ${bytes / MIB} MiB` : ` ${bytes / KIB} KiB`
  const name = { sequential: 'sequential', random: `random${size}`, stat: 'stat', list: 'list folders' }
  const label = what === 'small files' ? 'small files' : name[what]
  return inFlight > 1 ? `${label}, ${inFlight} in flight` : label
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map(item => ({ item, key: Math.random() }))
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
}
