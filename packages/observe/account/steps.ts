/** From the records of a loop to its steps. */
import type { SpanRecord } from '../../core/spans/reader.js'
import type { StepTimes } from '../evidence.js'
import { overlap } from './numbers.js'

/**
 * Steps of a loop, oldest first. `records` are those of one ring in the lane of the loop, in the order in which they were
 * written, from the oldest that is still there. `stepsInEpoch` is 0 where that is not known.
 */
export function stepsOf(records: readonly SpanRecord[], stepsInEpoch: number): StepTimes[] {
  const stream = new StepStream(stepsInEpoch)
  for (const record of records) stream.add(record)
  return stream.take()
}

/** The same, while records come. */
export class StepStream {
  private steps: OpenStep[] = []
  private last: OpenStep | undefined
  /** Waits and hand-overs whose step is not over yet. */
  private waiting: OpenStep[] = []

  /** `oldest`: the run may begin with the first record. */
  constructor(
    private readonly stepsInEpoch: number,
    private oldest = true,
  ) {}

  add(record: SpanRecord): void {
    const { kind, batch, joined } = record
    if (kind === 'step') {
      const step = new OpenStep(record, this.stepsInEpoch, this.oldest)
      for (const one of this.waiting) if (one.batch < batch + joined) step.join(one)
      this.waiting = this.waiting.filter(one => one.batch >= batch + joined)
      this.steps.push(step)
      this.last = step
      this.oldest = false
    } else if (kind === 'wait' || kind === 'hand' || kind === 'copy') {
      // Batches are counted from 0 again: what still waits is about a step that was left by `break`.
      if (batch === 0)
        this.waiting = this.waiting.filter(one => one.batch === 0 && one.end >= record.start - 1)
      const same = this.waiting.find(one => one.batch === batch)
      const one = new OpenStep(record, this.stepsInEpoch, this.oldest)
      // What is written together is in the order of the kinds: the hand-over of a step after its compute.
      if (kind !== 'wait' && this.last?.has(batch)) this.last.join(one)
      else if (same) same.join(one)
      else this.waiting.push(one)
    }
  }

  /** The steps that have ended since it was last asked. What comes late of the last one is still added to it. */
  take(): StepTimes[] {
    const steps = this.steps.map(({ step }) => step)
    this.steps = []
    return steps
  }
}

/** A step, or a part of one. */
class OpenStep {
  readonly step: StepTimes
  readonly batch: number
  private readonly joined: number

  constructor(
    { kind, start, duration, rows, joined, batch, firstRow }: SpanRecord,
    stepsInEpoch: number,
    oldest: boolean,
  ) {
    const times = { supply: 0, handOver: 0, transfer: 0, compute: 0, samples: 0, count: 1 }
    if (kind === 'wait') times.supply = duration
    else if (kind === 'hand') times.handOver = duration
    else if (kind === 'copy') times.transfer = duration
    else {
      times.compute = duration
      times.samples = rows
      times.count = Math.max(1, joined)
    }
    const first = oldest && batch === 0
    this.batch = batch
    this.joined = joined
    this.step = {
      asked: start,
      ...times,
      ...(first && { first }),
      ...(!first && beginsEpoch({ batch, firstRow }, stepsInEpoch) && { epochStart: true }),
      ...(times.count === 1 && { ready: times.supply === 0 }),
    }
  }

  get end(): number {
    const { asked, supply, handOver, transfer } = this.step
    return asked + supply + handOver + transfer
  }

  /** Whether the batch is one of its own. */
  has(batch: number): boolean {
    return batch >= this.batch && batch < this.batch + this.joined
  }

  /** Adds a part that is about the same batches. */
  join({ step: { asked, supply, handOver, transfer } }: OpenStep): void {
    const { step } = this
    step.asked = Math.min(step.asked, asked)
    step.supply += supply
    step.handOver += handOver
    step.transfer += transfer
    if (step.ready) step.ready = step.supply === 0
  }
}

/** When a step ended. */
export function endOf({ asked, supply, handOver, transfer, compute }: StepTimes): number {
  return asked + supply + handOver + transfer + compute
}

/** A loop writes 1 + the batch's number in its epoch; where it does not, epochs are counted from the ring's beginning. */
export function beginsEpoch(
  { batch, firstRow }: Pick<SpanRecord, 'batch' | 'firstRow'>,
  stepsInEpoch: number,
): boolean {
  if (firstRow > 0) return firstRow === 1
  return batch === 0 || (stepsInEpoch > 0 && batch > 0 && batch % stepsInEpoch === 0)
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
