/** Gives a ring to the tuner of this process, with what of it may be changed: what its opener did not fix. */
import { CPU, twentiethsOf } from '../basics/decoder.js'
import { mostRows } from '../batch/layout.js'
import { Control } from '../engine/control/control.js'
import type { Feeding } from '../engine/ring/feeding.js'
import { type AttachedSpans, attachSpans } from '../spans/attach.js'
import { SpanFile } from '../spans/file.js'
import type { EngineTuner, TunedRing } from '../tune/engine-tuner.js'
import type { Setting } from '../tune/seen.js'
import type { RingSpans } from '../tune/windows.js'
import type { OpenedOptions } from './options.js'

/** That of this process, once a feed is tuned. */
let tuner: EngineTuner | undefined

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
  if ((!may.workers && !may.depth && !may.decoder) || cantTune(feeding.workers) !== undefined) return
  // Loaded here: feeds whose settings are given start sooner without it. Later ones find it, and take a former ring's place at once.
  tuner ??= (await import('../tune/engine-tuner.js')).EngineTuner.shared()
  if (feeding.closed) return
  if (tuner.knows(feeding.id)) return tuner.decides(feeding.id, may.decoder)
  const spans = new SpansOfRing(feeding.id, trainer)
  feeding.onClose = () => {
    tuner?.remove(feeding.id)
    spans.close()
  }
  tuner.isControlled = () => Control.shared().controlled
  tuner.add({
    ...{ id: feeding.id, run, feed: feeding.name, trainer, may },
    slotBytes: feeding.budget.slotBytes,
    mostDepth: feeding.ring.capacity - spare(),
    spans: () => spans.find(),
    claim: () => claimOf(feeding),
    now: () => nowOf(feeding, spare()),
    set: (setting: Setting) => set(feeding, setting, spare()),
  })
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
  const { workers, depth, ring, options } = feeding
  const decoder = options.decode === 'gpu' ? twentiethsOf(options.cpuShare ?? 0) : CPU
  return { workers, depth: depth - spare, ahead: ring.ahead, decoder }
}

/** Rows that are claimed at a time, and between which they may be. */
function claimOf({ claimRows, layout }: Feeding): { rows: number; least: number; most: number } {
  return { rows: claimRows, least: layout.chunkRows, most: mostRows(layout) }
}

/** The program sets workers or depth itself: the tuner leaves them alone from now on. */
export async function tuneByHand(
  feeding: Feeding,
  { workers, depth }: { workers?: number; depth?: number },
  spare = 0,
): Promise<void> {
  if (workers !== undefined) {
    tuner?.given(feeding.id, 'workers')
    feeding.workers = workers
  }
  if (depth === undefined) return
  tuner?.given(feeding.id, 'depth')
  await feeding.setDepth(depth + spare)
}

/** The spans of a ring of this process, and of the trainer that may be another one. */
class SpansOfRing {
  private attached: AttachedSpans | undefined

  constructor(
    private readonly ring: number,
    private readonly trainer: number,
  ) {}

  find(): RingSpans | undefined {
    const own = SpanFile.shared()
    if (own === undefined) return undefined
    const engine = { reader: own.reader, ring: this.ring }
    if (this.trainer === process.pid) return { trainer: engine, engine }
    try {
      this.attached ??= attachSpans(this.trainer)
      const mine = this.attached.rings().filter(one => one.engine === process.pid)
      const ring = mine.findLast(({ engineRing }) => engineRing === this.ring)
      return ring && { trainer: { reader: this.attached, ring: ring.ring }, engine }
    } catch {
      return undefined // it writes no spans yet, or never will
    }
  }

  close(): void {
    this.attached?.close()
    this.attached = undefined
  }
}
