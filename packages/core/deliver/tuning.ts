/** Gives a ring to the tuner of this process, with what of it may be changed: what its opener did not fix. */

import { CPU, twentiethsOf } from '../basics/decoder.js'
import { BudgetError, DefinitionError } from '../basics/errors.js'
import { integer } from '../basics/shape.js'
import { mostRows } from '../batch/layout.js'
import { MAX_DEPTH, MAX_MAKERS } from '../batch/ring.js'
import type { Feeding } from '../engine/ring/feeding.js'
import { SpanFile } from '../spans/file.js'
import { workersByFiles } from '../system/process/limits.js'
import { loadObserver } from './observer.js'
import type { OpenedOptions } from './options.js'
import type { RingTuner, Setting, TunedRing } from './ring-tuner.js'

/** That of this process, once a feed is tuned. */
let tuner: RingTuner | undefined

/** Open feeds that fix the number of workers. All feeds of a process share its workers: while there is one, none are tuned. */
const withGivenWorkers = new Set<Feeding>()
/** The run of a feed, and what the program has set of it: its next ring, when another is to decode, has that as well. */
const runOf = new WeakMap<Feeding, string>()
const setByHand = new Map<string, { workers?: number; depth?: number }>()

/** Workers that a feed begins with. Beside one whose workers are given, it takes those that are there. */
export function workersBeside({ tuned, workers }: OpenedOptions): number {
  const [other] = withGivenWorkers
  return tuned.workers && workers > 0 && other !== undefined ? Math.max(1, other.workers) : workers
}

/** What the tuner has to know of a ring beside its options. */
export interface Tuned {
  /** The run that it belongs to: it may go on with another ring, when another is to decode. */
  run: string
  /** The process whose loop takes the batches. */
  trainer: number
  /** Slots in use beside those that the depth is about. */
  spare?: () => number
  /** Whether it is open who decodes. */
  decides?: boolean
}

export async function tuneFeeding(feeding: Feeding, { tuned }: OpenedOptions, about: Tuned): Promise<void> {
  const { run, trainer, spare = () => 0, decides = false } = about
  const may = { ...tuned, decoder: decides && tuned.decoder }
  runOf.set(feeding, run)
  await setAgain(feeding, setByHand.get(run), spare())
  if (!may.workers && feeding.workers > 0) await keepWorkers(feeding)
  // A ring may come here twice: when it is asked later who decodes.
  feeding.onClose ??= () => withGivenWorkers.delete(feeding)
  if (!Object.values(may).some(one => one) || cantTune(feeding.workers) !== undefined) return
  // Loaded here: feeds whose settings are given start sooner without it. Later ones find it, and take a former ring's place at once.
  tuner ??= await loadTuner()
  if (feeding.closed) return
  if (tuner === undefined || tuner.decides(feeding.id, may.decoder)) return
  feeding.onClose = () => {
    withGivenWorkers.delete(feeding)
    tuner?.remove(feeding.id)
  }
  for (const knob of Object.keys(setByHand.get(run) ?? {}) as ('workers' | 'depth')[]) may[knob] = false
  tuner.add({
    id: feeding.id,
    run,
    feed: feeding.name,
    trainer,
    may,
    slotBytes: feeding.budget.slotBytes,
    mostDepth: feeding.ring.capacity - spare(),
    now: () => nowOf(feeding, spare()),
    set: (setting: Setting) => set(feeding, setting, spare()),
  })
}

/** The number of workers is given: what is being tried of it ends, and so many are there at least. */
async function keepWorkers(feeding: Feeding): Promise<void> {
  if (withGivenWorkers.has(feeding)) return
  withGivenWorkers.add(feeding)
  await tuner?.leaveWorkers()
  const { workers } = feeding.options
  if (!feeding.closed && feeding.workers < workers) feeding.workers = workers
}

/** What the program set of the run's ring before this one. */
async function setAgain(
  feeding: Feeding,
  { workers, depth }: { workers?: number; depth?: number } = {},
  spare: number,
): Promise<void> {
  if (workers !== undefined && feeding.workers !== workers) feeding.workers = workers
  if (workers !== undefined && workers > 0) withGivenWorkers.add(feeding)
  if (depth !== undefined && feeding.depth !== depth + spare)
    await feeding.setDepth(depth + spare).catch(() => {}) // no memory for it beside the former ring
}

async function loadTuner(): Promise<RingTuner | undefined> {
  const observer = await loadObserver()
  return observer?.tuner(() => withGivenWorkers.size === 0)
}

/** Why nothing is tuned; undefined: it can be. */
function cantTune(workers: number): string | undefined {
  if (workers === 0) return 'without workers nothing is tuned'
  return SpanFile.shared() === undefined ? 'without spans (MILLRACE_SPANS=0) nothing is tuned' : undefined
}

/** Why the tuner does not find out who decodes; undefined: it does. */
export function cantDecide({ tuned, workers }: Pick<OpenedOptions, 'tuned' | 'workers'>): string | undefined {
  return tuned.decoder ? cantTune(workers) : 'with tune: "off" nothing else is tried'
}

/** It is no longer open who decodes: the trainer's GPU can't, or a state says so. */
export function leaveDecoder(feeding: Feeding): void {
  tuner?.decides(feeding.id, false)
}

/** Why images are decoded where they are, once the tuner has found out. */
export function whyDecoded(feeding: Feeding): string | undefined {
  return tuner?.whyDecoded(feeding.id)
}

async function set(feeding: Feeding, { knob, value, found }: Setting, spare: number): Promise<void> {
  if (knob === 'workers') feeding.workers = value
  else if (knob === 'depth') await feeding.setDepth(value + spare)
  else if (knob === 'claim') feeding.claimRows = value
  else if (knob === 'ahead') feeding.ring.ahead = value
  else if (knob === 'decode') feeding.ring.askDecoder(value, found !== undefined)
}

function nowOf(feeding: Feeding, spare: number): ReturnType<TunedRing['now']> {
  const { workers, depth, ring, options, claimRows, layout } = feeding
  const decoder = options.decode === 'gpu' ? twentiethsOf(options.cpuShare ?? 0) : CPU
  const claim = { rows: claimRows, least: layout.chunkRows, most: mostRows(layout) }
  return { workers, depth: depth - spare, ahead: ring.ahead, decoder, claim }
}

/** The program sets workers or depth itself: the tuner leaves them alone from now on. */
export async function tuneByHand(
  feeding: Feeding,
  change: { workers?: number; depth?: number },
  spare = 0,
): Promise<void> {
  const { workers, depth } = checkedChange(change)
  const run = runOf.get(feeding)
  if (run !== undefined)
    setByHand.set(run, {
      ...setByHand.get(run),
      ...(workers !== undefined && { workers }),
      ...(depth !== undefined && { depth }),
    })
  if (workers !== undefined) {
    tuner?.given(feeding.id, 'workers')
    feeding.workers = workers
    if (feeding.workers > 0) withGivenWorkers.add(feeding)
  }
  if (depth === undefined) return
  tuner?.given(feeding.id, 'depth')
  await feeding.setDepth(depth + spare)
}

/** For programs without types: what makes no sense is said, and changes nothing. */
function checkedChange(change: { workers?: number; depth?: number }): { workers?: number; depth?: number } {
  for (const name of Object.keys(change))
    if (name !== 'workers' && name !== 'depth')
      throw new DefinitionError(`tune.${name}`, 'unknown; what can be set while it runs: workers, depth')
  const { workers, depth } = change
  if (workers !== undefined) {
    integer({ min: 1, max: MAX_MAKERS })(workers, 'tune.workers')
    const most = workersByFiles()
    if (workers > most)
      throw new BudgetError(
        `${workers} workers need more open files than the limit of this process allows, which will do for ${most}: ` +
          'take fewer, or raise it with `ulimit -n`',
      )
  }
  if (depth !== undefined) integer({ min: 1, max: MAX_DEPTH })(depth, 'tune.depth')
  return change
}
