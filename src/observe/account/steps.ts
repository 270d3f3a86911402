/** From the records of a loop to its steps. */
import type { SpanRecord } from '../../spans/reader.js'
import type { StepTimes } from '../evidence.js'
import { overlap } from './numbers.js'

/** What a record is about, whatever kinds this version of the spans has. */
function kindOf({ kind }: SpanRecord): string {
  return kind
}

/**
 * Steps of a loop, oldest first. `records` are those of one ring in the lane of the loop, in the order in which they were
 * written, from the oldest that is still there. `stepsInEpoch` is 0 where that is not known.
 */
export function stepsOf(records: readonly SpanRecord[], stepsInEpoch: number): StepTimes[] {
  const steps: StepTimes[] = []
  let step: StepTimes | undefined
  for (const record of records) {
    const kind = kindOf(record)
    if (kind !== 'wait' && kind !== 'hand' && kind !== 'copy' && kind !== 'step') continue
    step ??= begun(record, stepsInEpoch)
    // Joined records of several steps are written one kind after the other.
    step.asked = Math.min(step.asked, record.start)
    if (kind === 'wait') step.supply += record.duration
    else if (kind === 'hand') step.handOver += record.duration
    else if (kind === 'copy') step.transfer += record.duration
    else {
      step.compute = record.duration
      step.samples = record.rows
      step.count = Math.max(1, record.joined)
      if (step.count === 1) step.ready = step.supply === 0
      if (steps.length === 0 && record.batch === 0) {
        delete step.epochStart
        step.first = true
      }
      steps.push(step)
      step = undefined
    }
  }
  return steps
}

function begun({ start, batch, firstRow }: SpanRecord, stepsInEpoch: number): StepTimes {
  // A loop writes 1 + the batch's number in its epoch; where it does not, epochs are counted from the ring's beginning.
  const first =
    firstRow > 0 ? firstRow === 1 : batch === 0 || (stepsInEpoch > 0 && batch % stepsInEpoch === 0)
  return {
    ...{ asked: start, supply: 0, handOver: 0, transfer: 0, compute: 0, samples: 0, count: 1 },
    ...(first && batch >= 0 && { epochStart: true }),
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
