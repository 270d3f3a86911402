/** From the records of a loop to its steps. */
import type { SpanRecord } from '../../spans/reader.js'
import type { StepTimes } from '../evidence.js'
import { overlap } from './numbers.js'

/**
 * Steps of a loop, oldest first. `records` are those of one ring in the lane of the loop, in the order in which they were
 * written, from the oldest that is still there. `stepsInEpoch` is 0 where that is not known.
 */
export function stepsOf(records: readonly SpanRecord[], stepsInEpoch: number): StepTimes[] {
  const steps: StepTimes[] = []
  let open: OpenStep | undefined
  for (const record of records) {
    if (!PARTS.has(record.kind)) continue
    if (open && !open.has(record)) {
      if (open.computed) steps.push(open.step)
      // Waits without a step: the loop was left, or the step's record is yet to come.
      open = undefined
    }
    open ??= new OpenStep(record, stepsInEpoch, steps.length === 0)
    open.add(record)
  }
  if (open?.computed) steps.push(open.step)
  return steps
}

const PARTS: ReadonlySet<string> = new Set(['wait', 'hand', 'copy', 'step'])

/** Steps that were joined are written one kind after the other, their hand-over after their compute. */
class OpenStep {
  readonly step: StepTimes
  /** Whether its compute is known: then only what belongs to the same batches may follow. */
  computed = false
  private last = -1
  private readonly seen = new Set<string>()

  constructor({ start, batch, firstRow }: SpanRecord, stepsInEpoch: number, oldest: boolean) {
    // A loop writes 1 + the batch's number in its epoch; where it does not, epochs are counted from the ring's beginning.
    const begins = batch === 0 || (stepsInEpoch > 0 && batch > 0 && batch % stepsInEpoch === 0)
    const first = oldest && batch === 0
    this.step = {
      ...{ asked: start, supply: 0, handOver: 0, transfer: 0, compute: 0, samples: 0, count: 1 },
      ...(first && { first }),
      ...(!first && (firstRow > 0 ? firstRow === 1 : begins) && { epochStart: true }),
    }
  }

  has({ kind, batch }: SpanRecord): boolean {
    if (!this.computed) return true
    return (kind === 'hand' || kind === 'copy') && batch <= this.last && !this.seen.has(kind)
  }

  add({ kind, start, duration, rows, joined, batch }: SpanRecord): void {
    const { step } = this
    step.asked = Math.min(step.asked, start)
    if (kind === 'wait') step.supply += duration
    else if (kind === 'hand') step.handOver += duration
    else if (kind === 'copy') step.transfer += duration
    else {
      this.computed = true
      this.last = batch + joined - 1
      step.compute += duration
      step.samples = rows
      step.count = Math.max(1, joined)
    }
    if (this.computed && step.count === 1) step.ready = step.supply === 0
    this.seen.add(kind)
  }
}

/** Notes how much of each step's waits fell on garbage collections of the trainer's thread. */
export function noteGc(steps: readonly StepTimes[], collections: readonly SpanRecord[]): void {
  let next = 0
  for (const step of steps) {
    const waits = step.supply + step.handOver + step.transfer
    const length = step.count > 1 ? waits + step.compute : waits
    const [from, to] = [step.asked, step.asked + length]
    while (next < collections.length && collections[next].start + collections[next].duration <= from) next++
    let gc = 0
    for (let i = next; i < collections.length && collections[i].start < to; i++) {
      const { start, duration } = collections[i]
      gc += overlap(start, start + duration, from, to)
    }
    if (gc > 0) step.gc = step.count > 1 && length > 0 ? (gc * waits) / length : gc
  }
}
