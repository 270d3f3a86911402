/** Options of a run: how fast, where from, how long. They never change which samples come, in which order, with which values. */
import { resolve } from 'node:path'
import { unknownName } from '../basics/mistakes.js'
import { integer, number, oneOf } from '../basics/shape.js'
import type { AffinityAsk } from '../engine/bind/binder.js'
import { readAffinity } from '../engine/bind/policy.js'
import { ownTrainer, type Trainer } from '../engine/bind/trainer.js'
import type { Sequence } from '../engine/plan/sequence.js'
import type { FeedingOptions } from '../engine/ring/new-ring.js'
import type { State } from '../order/state.js'
import type { LevelName } from '../spans/span-words.js'
import { autoWorkers } from '../system/process/limits.js'
import { rankOf } from './launcher.js'
import type { OpenDevice } from './node/device.js'
import { FULL_LEVEL, type Given, noticeRemoved, OPTIONS, removedOf } from './option-table.js'
import { DEPTH, TIMEOUT } from './protocol-facts.js'

// generated: OpenOptions, by npm run generate from packages/core/deliver/option-table.ts
export interface OpenOptions {
  /**
   * Worker threads; 0: everything happens in the calling thread. Auto: the cores this process may use (affinity, cpuset
   * and quota of the control group), less 1, or less 2 for each GPU; at least 1. Default: auto. See
   * docs/measure.md#tuning.
   */
  workers?: Given<'workers'>
  /**
   * The cores that workers run on: "auto" (one each, near the GPU), or a list such as "2-7,10" or [2, 3]. Default: off.
   * See docs/measure.md#cores.
   */
  affinity?: Given<'affinity'>
  /** Batches made ahead: slots in use, 1 to 32. Default: 4, and tuned. */
  depth?: Given<'depth'>
  /**
   * What is tuned while it runs: "auto" what is not given, "all" also what is, "off" nothing. Default: auto. See
   * docs/measure.md#tuning.
   */
  tune?: Given<'tune'>
  /** Data-parallel rank, given together with world. Default: the launcher's. See docs/start.md#ranks. */
  rank?: Given<'rank'>
  /** Number of data-parallel ranks. Default: the launcher's. See docs/start.md#ranks. */
  world?: Given<'world'>
  /**
   * Context-parallel rank, which gets its part of each row of tokens. As {rank, world, layout}; layout is "zigzag" or
   * "contiguous". See docs/language-models.md#ranks-context-parallelism-and-speed.
   */
  sequence?: Given<'sequence'>
  /** One loop spans so many epochs. Null: it never ends, as over shuffled tokens by default. Default: one. */
  epochs?: Given<'epochs'>
  /** One loop ends after so many steps at the latest. */
  steps?: Given<'steps'>
  /** One loop ends with the step that brings so many tokens, those of all ranks together. */
  tokens?: Given<'tokens'>
  /** Go on from a saved state. */
  state?: Given<'state'>
  /** The variant of the feed to open: its merge patch is applied first. */
  variant?: Given<'variant'>
  /** Against which relative paths of a feed given as JSON are resolved. Default: the working directory. */
  root?: Given<'root'>
  /**
   * A definition in JSON may run the code that it names (functions, Python, kernels). Default: false. See
   * docs/troubleshoot.md#trust.
   */
  allowCode?: Given<'allowCode'>
  /**
   * The interpreter of functions and datasets in Python, or, as a list, the whole command. Default: MILLRACE_PYTHON, or
   * python3.
   */
  python?: Given<'python'>
  /** Modules with sources or stores of your own, by path or file: URL. See docs/extend.md. */
  plugins?: Given<'plugins'>
  /**
   * Bytes of the block cache, where the order is windowed or rows share row groups or chunks. Default: what loads all
   * once. See docs/define.md#row-groups-and-chunks.
   */
  cache?: Given<'cache'>
  /** Bytes that the workspace of one worker may grow to. Default: 512 MiB. */
  scratch?: Given<'scratch'>
  /** How much is written down of what threads do: "counters" or "spans". Default: spans. See docs/measure.md#spans. */
  observe?: Given<'observe'>
  /** What spans, run logs and dashboards call the run. Default: its source's. */
  name?: Given<'name'>
  /**
   * Folder for a run log, a line of JSON a second. False: none. Default: MILLRACE_LOG, or none. See
   * docs/measure.md#run-logs.
   */
  log?: Given<'log'>
  /** Seconds that one sample, or on a GPU one batch, may take before the run ends with its name. Default: 60. */
  timeout?: Given<'timeout'>
  /** Called with (done, total, what, unit) of long work before the first batch. */
  progress?: Given<'progress'>
  /** Called with what is worth knowing and no error; () => {} for silence. Default: a warning. */
  notice?: Given<'notice'>
  /** "cuda" or "cuda:1": batches are delivered on that GPU, as DeviceArrays. Default: host memory. See docs/gpu.md. */
  device?: Given<'device'>
  /** With a device: the CUDA stream on which batches are used. Default: CUDA's default stream. */
  stream?: Given<'stream'>
  /**
   * With a device, who decodes images: "cpu", "gpu", or what the tuner finds to be fastest, which stays so and is part of
   * the state. Only pixel values change, and by less than 2/255 on average. With tune: "off", the CPU. Default: auto.
   */
  decode?: Given<'decode'>
  /** With a device: images lie in memory as [n, h, w, c], with the shape [n, c, h, w] and strides to match. Default: false. */
  channelsLast?: Given<'channelsLast'>
}
// end

/** Where run logs are written. */
export interface LogOptions {
  folder: string
  /** When a client has opened the feed first (ms since 1970): its log goes on where the feed is opened again. */
  since?: number
}

/** What a client in another process says besides, with decode "gpu". */
export interface ClientOptions {
  /** Its device has nvCOMP: compressed arrays are left to that as well. */
  nvcomp?: boolean
  /** The share of images, 0…1, that workers decode all the same, so that both work. */
  cpuShare?: number
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
  given: OpenOptions,
  trainer = ownTrainer(),
  { nvcomp = false, cpuShare = 0 }: ClientOptions = {},
): OpenedOptions {
  const options = checked(given)
  const { workers = 'auto' } = options
  const { rank, world, from } = rankOf(options)
  return {
    ...(options.name !== undefined && { name: options.name }),
    rank,
    world,
    rankFrom: from,
    workers: workers === 'auto' ? autoWorkers() : workers,
    affinity: affinityOf(options, trainer),
    depth: options.depth ?? DEPTH,
    tuned: tunedOf(options),
    cacheBytes: options.cache,
    scratchBytes: options.scratch ?? SCRATCH_BYTES,
    timeout: options.timeout ?? TIMEOUT,
    ...(options.observe !== undefined && { observe: observeOf(options) }),
    // With a device of our own "auto" is decided when that is open.
    decode: options.decode === 'gpu' ? 'gpu' : 'cpu',
    nvcomp,
    cpuShare: SHARE(cpuShare, 'options.cpuShare'),
    epochs: options.epochs,
    steps: options.steps,
    tokens: options.tokens,
    ...(options.sequence !== undefined && { sequence: sequenceOf(options.sequence) }),
    state: options.state,
    progress: options.progress,
    notice: options.notice,
    log: logOf(options.log),
  }
}

const SCRATCH_BYTES = 2 ** 29
const SHARE = number({ min: 0, max: 1 })

/** Options whose values are such as their shapes say. Others, of clients of another version, are left as they are. */
function checked(options: OpenOptions): OpenOptions {
  const out: Record<string, unknown> = { ...options }
  for (const [name, row] of Object.entries(OPTIONS)) {
    if (out[name] !== undefined && 'shape' in row) out[name] = row.shape(out[name], `options.${name}`)
  }
  return out as OpenOptions
}

/** For programs without types: names a misspelt option. */
export function checkNames(options: OpenOptions, notice: (text: string) => void): void {
  noticeRemoved('open', options, notice)
  const known = Object.keys(OPTIONS).filter(name => 'shape' in OPTIONS[name as keyof typeof OPTIONS])
  for (const name of Object.keys(options)) {
    if (!known.includes(name) && !removedOf('open').has(name))
      throw unknownName(`options.${name}`, 'option', name, known)
  }
}

function affinityOf({ affinity, workers, notice }: OpenOptions, trainer: Trainer): AffinityAsk {
  if (affinity === undefined) return { trainer }
  if (workers === 0 && affinity !== 'off')
    notice?.('affinity has no effect: with workers: 0 there are none to bind')
  return { binding: readAffinity(affinity), trainer, notice }
}

function sequenceOf({ rank, world, layout = 'zigzag' }: Given<'sequence'>): Sequence {
  return { rank: integer({ min: 0, max: world - 1 })(rank, 'options.sequence.rank'), world, layout }
}

/** The folder that was given, or else MILLRACE_LOG's, for all feeds. `false`: none. */
function logOf(given: string | false | undefined): LogOptions | undefined {
  const folder = given ?? (process.env.MILLRACE_LOG || false)
  return folder === false ? undefined : { folder: resolve(folder) }
}

function observeOf({ observe, notice }: OpenOptions): LevelName {
  if ((observe as string) === FULL_LEVEL.name) {
    notice?.(FULL_LEVEL.notice)
    return 'spans'
  }
  return oneOf(['counters', 'spans'], 'level')(observe, 'options.observe')
}

function tunedOf({ tune = 'auto', workers, depth }: OpenOptions): OpenedOptions['tuned'] {
  if (tune === 'off') return { workers: false, depth: false, claim: false, decoder: false }
  if (tune === 'all') return { workers: true, depth: true, claim: true, decoder: true }
  const given = { workers: workers !== undefined && workers !== 'auto', depth: depth !== undefined }
  return { workers: !given.workers, depth: !given.depth, claim: true, decoder: true }
}
