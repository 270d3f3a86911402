/** Options of a run: how fast, where from, how long. They never change which samples come, in which order, with which values. */
import { resolve } from 'node:path'
import { DefinitionError, nearest } from '../basics/errors.js'
import { FULL, noticeRemoved, removedOf } from '../basics/removed.js'
import { MAX_DEPTH, MAX_MAKERS } from '../batch/ring.js'
import type { AffinityAsk } from '../engine/bind/binder.js'
import { type Affinity, readAffinity } from '../engine/bind/policy.js'
import { ownTrainer, type Trainer } from '../engine/bind/trainer.js'
import type { Sequence } from '../engine/plan/sequence.js'
import type { FeedingOptions } from '../engine/ring/new-ring.js'
import type { State } from '../order/state.js'
import type { OnProgress } from '../source/source.js'
import { isLevel } from '../spans/level.js'
import type { LevelName } from '../spans/span-words.js'
import { autoWorkers } from '../system/process/limits.js'
import type { DeviceOptions } from './device-options.js'
import { rankOf } from './launcher.js'
import type { OpenDevice } from './node/device.js'
import { DEPTH, TIMEOUT } from './protocol-facts.js'

export interface OpenOptions extends DeviceOptions {
  /**
   * Worker threads. "auto" (the default) begins with all cores but one for the trainer, or two per GPU, and is tuned while it
   * runs. 0 runs in the calling thread.
   */
  workers?: number | 'auto'
  /**
   * The cores that workers run on: "off" (the default: where the system puts them), "auto" (one each, near the GPU, off the
   * trainer's), or cores such as "2-7,10" or [2, 3] (docs/measure.md).
   */
  affinity?: Affinity
  /** Batches made ahead: slots in use. Default: 4, and tuned while it runs. */
  depth?: number
  /** What is tuned while it runs: "auto" (the default) what is not given, "all" also what is, "off" nothing. */
  tune?: Tuned
  /** Data-parallel rank and number of ranks; by default the launcher's (torchrun, Slurm, Open MPI), or 0 of 1. */
  rank?: number
  world?: number
  /** Context-parallel rank: rows are cut along their length, and each rank gets its part (feeds of tokens). */
  sequence?: SequenceOptions
  /** One loop spans that many epochs; null: it never ends. By default a loop is one epoch, and over tokens it never ends. */
  epochs?: number | null
  /** One loop ends after that many steps at the latest. */
  steps?: number
  /** Feeds of tokens: one loop ends with the step that brings that many tokens, those of all ranks together. */
  tokens?: number
  /** Goes on from a saved state. */
  state?: State
  /** The variant of the feed to open: its merge patch is applied first. */
  variant?: string
  /** Bytes for the block cache, where the source or the order needs one. Default: what windows and units take. */
  cache?: number
  /** Bytes that the workspace of one worker may grow to. Default 512 MiB. */
  scratch?: number
  /** Seconds that one sample may take before the run ends with its name, and one batch on a device. Default 60. */
  timeout?: number
  /** How much is written down of what threads do: "counters" or "spans" (the default; docs/measure.md). */
  observe?: LevelName
  /** Folder of run logs: a line of JSON a second (docs/measure.md). Default: MILLRACE_LOG, or none; false: none. */
  log?: string | false
  /** What spans, run logs and dashboards call the run. By default the kind of its source, and its first path. */
  name?: string
  /** Told of progress on long work before the first batch, such as the scan of shards. */
  progress?: OnProgress
  /** Told what is worth knowing and no error, such as an index that had to be rebuilt. Default: a warning of Node's. */
  notice?: (text: string) => void
  /** A definition that came as JSON may run the code that it names: functions, datasets in Python, kernels. Default false. */
  allowCode?: boolean
  /** The interpreter of functions and datasets in Python, or the whole command. Default: MILLRACE_PYTHON, or python3. */
  python?: string | readonly string[]
  /** Modules with sources and stores of your own, as file: URLs or paths: every thread loads them (docs/extend.md). */
  plugins?: readonly (string | URL)[]
  /** Relative paths of a definition given as JSON are relative to this folder. Default: the working directory. */
  root?: string
}

/** What a client in another process says besides, with decode "gpu". */
export interface ClientOptions {
  /** Its device has nvCOMP: compressed arrays are left to that as well. */
  nvcomp?: boolean
  /** The share of images, 0…1, that workers decode all the same, so that both work. */
  cpuShare?: number
}

export type Tuned = 'auto' | 'all' | 'off'

/** A rank among the ranks that share the rows of a data-parallel rank, and which parts of a row it gets. */
export interface SequenceOptions {
  rank: number
  world: number
  /** zigzag (the default): of 2 · world chunks, rank r has chunks r and 2 · world − 1 − r. contiguous: of world chunks, chunk r. */
  layout?: 'zigzag' | 'contiguous'
}

/** Every name there is, so that a misspelt one is told. */
const NAMES: Record<keyof OpenOptions, true> = {
  workers: true,
  depth: true,
  tune: true,
  rank: true,
  world: true,
  epochs: true,
  steps: true,
  tokens: true,
  sequence: true,
  state: true,
  variant: true,
  cache: true,
  scratch: true,
  timeout: true,
  observe: true,
  affinity: true,
  log: true,
  progress: true,
  notice: true,
  allowCode: true,
  python: true,
  plugins: true,
  root: true,
  name: true,
  device: true,
  decode: true,
  channelsLast: true,
  stream: true,
}

/** Where run logs are written. */
export interface LogOptions {
  folder: string
  /** When a client has opened the feed first (ms since 1970): its log goes on where the feed is opened again. */
  since?: number
}

export interface OpenedOptions extends FeedingOptions {
  /** Opens the device that this process delivers to. */
  device?: OpenDevice
  rankFrom: string
  /** What the tuner may change. */
  tuned: { workers: boolean; depth: boolean; claim: boolean; decoder: boolean }
  epochs?: number | null
  steps?: number
  tokens?: number
  state?: State
  progress?: OpenOptions['progress']
  notice?: OpenOptions['notice']
  log?: LogOptions
}

/** `trainer`: the process that the feed is for. */
export function fillOptions(
  options: OpenOptions,
  trainer = ownTrainer(),
  { nvcomp = false, cpuShare = 0 }: ClientOptions = {},
): OpenedOptions {
  const { rank, world, from } = rankOf(options)
  const depth = whole('options.depth', options.depth ?? DEPTH, 1, MAX_DEPTH)
  const workers =
    options.workers === undefined || options.workers === 'auto' ? autoWorkers() : options.workers
  return {
    ...(options.name !== undefined && { name: options.name }),
    rank,
    world,
    rankFrom: from,
    workers: whole('options.workers', workers, 0, MAX_MAKERS, ', or "auto"'),
    affinity: affinityOf(options, trainer),
    depth,
    tuned: tunedOf(options),
    cacheBytes: options.cache === undefined ? undefined : whole('options.cache', options.cache, 0, 2 ** 40),
    scratchBytes: whole('options.scratch', options.scratch ?? 2 ** 29, 2 ** 20, 2 ** 32),
    timeout: secondsOf(options.timeout ?? TIMEOUT),
    ...(options.observe !== undefined && { observe: observeOf(options) }),
    // With a device of our own "auto" is decided when that is open.
    decode: options.decode === 'gpu' ? 'gpu' : 'cpu',
    nvcomp,
    cpuShare: shareOf(cpuShare),
    epochs:
      options.epochs === undefined || options.epochs === null
        ? options.epochs
        : whole('options.epochs', options.epochs, 0, 2 ** 31),
    steps: options.steps === undefined ? undefined : whole('options.steps', options.steps, 0, 2 ** 52),
    tokens:
      options.tokens === undefined ? undefined : whole('options.tokens', options.tokens, 1, 2 ** 53 - 1),
    ...(options.sequence !== undefined && { sequence: readSequence(options.sequence) }),
    state: options.state,
    progress: options.progress,
    notice: options.notice,
    log: logOf(options.log),
  }
}

/** For programs without types. (Clients of another version may send what this one does not know.) */
export function checkNames(options: OpenOptions, notice: (text: string) => void): void {
  noticeRemoved('open', options, notice)
  const known = Object.keys(NAMES)
  const accepted = [...known, ...removedOf('open').map(({ name }) => name)]
  for (const name of Object.keys(options)) {
    if (accepted.includes(name)) continue
    const near = nearest(name, known)
    throw new DefinitionError(
      `options.${name}`,
      `unknown option; ${near === undefined ? `known: ${known.join(', ')}` : `did you mean "${near}"?`}`,
    )
  }
}

function affinityOf({ affinity, workers, notice }: OpenOptions, trainer: Trainer): AffinityAsk {
  if (affinity === undefined) return { trainer }
  if (workers === 0 && affinity !== 'off')
    notice?.('affinity has no effect: with workers: 0 there are none to bind')
  return { binding: readAffinity(affinity), trainer, notice }
}

function readSequence(given: SequenceOptions): Sequence {
  const { rank, world, layout = 'zigzag', ...others } = given
  const [name] = Object.keys(others)
  if (name !== undefined)
    throw new DefinitionError(`options.sequence.${name}`, 'unknown option; known: rank, world, layout')
  const ranks = whole('options.sequence.world', world, 1, 2 ** 16)
  if (layout !== 'zigzag' && layout !== 'contiguous')
    throw new DefinitionError(
      'options.sequence.layout',
      `expected "zigzag" or "contiguous", not ${shown(layout)}`,
    )
  return { rank: whole('options.sequence.rank', rank, 0, ranks - 1), world: ranks, layout }
}

function secondsOf(timeout: number): number {
  if (typeof timeout === 'number' && timeout > 0) return timeout
  throw new DefinitionError('options.timeout', `expected seconds, more than 0, not ${shown(timeout)}`)
}

function observeOf({ observe, notice }: OpenOptions): LevelName {
  if (isLevel(observe)) return observe
  if (observe !== FULL.name)
    throw new DefinitionError('options.observe', `expected "counters" or "spans", not ${shown(observe)}`)
  notice?.(FULL.notice)
  return 'spans'
}

function tunedOf({ tune = 'auto', workers, depth }: OpenOptions): OpenedOptions['tuned'] {
  if (tune === 'off') return { workers: false, depth: false, claim: false, decoder: false }
  if (tune === 'all') return { workers: true, depth: true, claim: true, decoder: true }
  if (tune !== 'auto')
    throw new DefinitionError('options.tune', `expected "auto", "all" or "off", not ${shown(tune)}`)
  const given = { workers: workers !== undefined && workers !== 'auto', depth: depth !== undefined }
  return { workers: !given.workers, depth: !given.depth, claim: true, decoder: true }
}

/** The folder that was given, or else MILLRACE_LOG, for all feeds. `false`: none. */
function logOf(given: string | false | undefined): LogOptions | undefined {
  const folder = given ?? process.env.MILLRACE_LOG
  if (folder === undefined || folder === false || (given === undefined && folder === '')) return undefined
  if (typeof folder !== 'string' || folder === '')
    throw new DefinitionError(
      'options.log',
      `expected a folder, or false for none, not ${JSON.stringify(folder)}`,
    )
  return { folder: resolve(folder) }
}

function shareOf(cpuShare: number): number {
  if (cpuShare >= 0 && cpuShare <= 1) return cpuShare
  throw new DefinitionError('options.cpuShare', `expected a number from 0 to 1, not ${cpuShare}`)
}

/** Throws unless it is a whole number between two others. */
export function whole(name: string, value: number, least: number, most: number, or = ''): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new DefinitionError(
      name,
      `expected a whole number from ${least} to ${most}${or}, not ${shown(value)}`,
    )
  }
  return value
}

/** A value as it was given: `"4"` is not 4. */
function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
