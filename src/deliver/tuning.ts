/** Gives a ring to the tuner of this process, with what of it may be changed: what its opener did not fix. */
import { mostRows } from '../batch/layout.js'
import { Control } from '../engine/control/control.js'
import type { Feeding } from '../engine/ring/feeding.js'
import { type AttachedSpans, attachSpans } from '../spans/attach.js'
import { SpanFile } from '../spans/file.js'
import type { EngineTuner } from '../tune/engine-tuner.js'
import type { Setting } from '../tune/seen.js'
import type { RingSpans } from '../tune/windows.js'
import type { OpenedOptions } from './options.js'

/** That of this process, once a feed is tuned. */
let tuner: EngineTuner | undefined

/** `spare`: slots in use beside those that the depth is about. `trainer`: the process whose loop takes the batches. */
export async function tuneFeeding(
  feeding: Feeding,
  { tuned }: OpenedOptions,
  trainer = process.pid,
  spare: () => number = () => 0,
): Promise<void> {
  const may = { ...tuned, workers: tuned.workers && feeding.workers > 0 }
  if ((!may.workers && !may.depth) || feeding.workers === 0 || SpanFile.shared() === undefined) return
  // Loaded here: feeds whose settings are given start sooner without it.
  const { EngineTuner } = await import('../tune/engine-tuner.js')
  if (feeding.closed) return
  tuner = EngineTuner.shared()
  const spans = new SpansOfRing(feeding.id, trainer)
  feeding.onClose = () => {
    tuner?.remove(feeding.id)
    spans.close()
  }
  tuner.isControlled = () => Control.shared().controlled
  tuner.add({
    ...{ id: feeding.id, feed: feeding.name, trainer, may },
    slotBytes: feeding.budget.slotBytes,
    mostDepth: feeding.ring.capacity - spare(),
    spans: () => spans.find(),
    claim: () => claimOf(feeding),
    set: (setting: Setting) => set(feeding, setting, spare()),
    tuning: yes => {
      feeding.ring.tuning = yes
    },
  })
}

async function set(feeding: Feeding, { knob, value }: Setting, spare: number): Promise<void> {
  if (knob === 'workers') feeding.workers = value
  else if (knob === 'depth') await feeding.setDepth(value + spare)
  else if (knob === 'claim') feeding.claimRows = value
  else if (knob === 'ahead') feeding.ring.ahead = value
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
