/**
 * The way of batches from the makers to the consumer: on the host, where a batch is the slot itself (host-sink.ts), or on a
 * device (packages/cuda).
 */
import { type Slot, Stamp } from '../../batch/slot.js'
import type { BadReport } from '../../engine/plan/job.js'
import type { Batch } from './batch.js'

export interface Sink {
  /** Slots in use beside those that the makers' depth is about. */
  readonly spare: number
  /** The batch of that number, when it is there: they are taken in order. */
  take(batch: number): Promise<Taken>
  release(index: number): void
  /** The ring may make more batches than before. */
  extended(): void
  /** Throws away what was made ahead, so that the ring can be moved. Batches that are kept stay. Rejects where it has failed. */
  drain(): Promise<void>
  /** From now on nothing that was handed out can be used. */
  close(): Promise<void>
}

/** A batch that was taken from the ring, and not yet handed to the program. */
export interface Taken {
  /** By which it is released. */
  index: number
  /** Samples planned for it: fillers are none. */
  samples: number
  bad: readonly BadReport[]
  /** When workers had completed it (ms of CLOCK_MONOTONIC), and when it was on the device, if it is there. */
  completed: number
  arrived?: number
  /** Only to be called once it is known that it will be handed out. */
  batch(): Batch<Record<string, unknown>>
}

/** When a slot was completed (ms of CLOCK_MONOTONIC). */
export function completedAt({ stamps }: Slot): number {
  return stamps[Stamp.Completed] * 1000
}
