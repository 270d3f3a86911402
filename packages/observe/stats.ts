/** What a run has done so far, as plain numbers. */

import type { NormalFeed } from '../core/define/types.js'
import type { DeviceStats } from '../core/deliver/node/device.js'
import { decoderVersions } from '../pixels/decode/picture/image.js'
import type { Accounting } from './evidence.js'
import { STALL } from './stall.js'

export interface LoaderStats extends FeedingStats {
  batches: number
  samples: number
  /** From open() to the first batch, and how much of it went into opening the sources. */
  firstBatchMs: number
  openMs: number
  /** Time that the consumer waited for batches, without the first one. */
  waitMs: number
  waits: number
  /** Distinct bad samples of this run, up to a thousand of them in full. */
  bad: { count: number; samples: BadSample[] }
  /** The device that batches are delivered on. */
  device?: DeviceStats
  /** Where the time of every step went: in the run so far, and in its latest epoch (docs/measure.md). */
  account: Accounting
  epoch: Accounting
}

export interface FeedingStats {
  bytesRead: number
  workers: number
  depth: number
  slotBytes: number
  /** What was reserved or is expected: slots, index, cache, workspaces, and the fixed part. */
  budgetBytes: number
  /** Where rows share units or blocks: what the cache did for all rings that read the same data. */
  cache?: CacheStats
  decoders: Record<string, string>
  /** Time of all workers on this feed by kind of work (ms): read, decode, transform, map, close. */
  spans: Record<string, number>
}

/** Units are counted that were found, waited for, loaded, given up for others, and for which there was no room. */
export interface CacheStats {
  hits: number
  waits: number
  loads: number
  evictions: number
  refusals: number
  bytesLoaded: number
  /** Bytes of the units that are held now, and that may be held. */
  bytes: number
  capacity: number
}

/** A sample that could not be made, and why. */
export interface BadSample {
  id: string
  stage: string
  message: string
}

/** What is asked of a feed that is being made. */
interface Fed {
  readonly ring: { readonly bytesRead: number }
  readonly workers: number
  readonly depth: number
  readonly budget: { slotBytes: number; totalBytes: number }
  /** Time of all workers by kind of work (ms). */
  readonly workTimes: Record<string, number>
  readonly cacheStats: CacheStats | undefined
}

export class Stats {
  batches = 0
  samples = 0
  waitMs = 0
  waits = 0
  firstBatchMs = 0
  openMs = 0
  private readonly begun = performance.now()

  opened(): void {
    this.openMs = performance.now() - this.begun
  }

  /** Books the wait for a batch that was asked for at `asked`. */
  waited(asked: number): void {
    const now = performance.now()
    if (this.batches === 0 && this.firstBatchMs === 0) this.firstBatchMs = now - this.begun
    else {
      this.waitMs += now - asked
      if (now - asked > STALL) this.waits++
    }
  }

  delivered(rows: number): void {
    this.batches++
    this.samples += rows
  }

  report(feeding: Fed, feed: NormalFeed, judge: LoaderStats['bad']): Omit<LoaderStats, 'account' | 'epoch'> {
    const { batches, samples, firstBatchMs, openMs, waitMs, waits } = this
    const bad = { count: judge.count, samples: [...judge.samples] }
    return { batches, samples, firstBatchMs, openMs, waitMs, waits, bad, ...feedingStats(feeding, feed) }
  }
}

/** What is known of a feed that is being made, in this process or for another. */
export function feedingStats(feeding: Fed, feed: NormalFeed): FeedingStats {
  const pictures = feed.fields.some(({ as }) => as === 'image' || as === 'mask')
  return {
    bytesRead: feeding.ring.bytesRead,
    workers: feeding.workers,
    depth: feeding.depth,
    slotBytes: feeding.budget.slotBytes,
    budgetBytes: feeding.budget.totalBytes,
    ...(feeding.cacheStats && { cache: feeding.cacheStats }),
    decoders: pictures ? decoderVersions() : {},
    spans: feeding.workTimes,
  }
}
