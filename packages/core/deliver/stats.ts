/** What a run has done so far, as plain numbers. */

import { MissingError } from '../basics/errors.js'
import type { NormalFeed } from '../define/types.js'
import type { BlockCacheStats } from '../store/block-cache.js'
import { libraryVersion as turbojpegVersion } from '../system/codecs/turbojpeg-library.js'
import { libraryVersion as vipsVersion } from '../system/codecs/vips.js'
import type { DeviceStats } from './node/device.js'
import { STALL } from './protocol-facts.js'

export interface CountedStats extends FeedingStats {
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
}

export interface FeedingStats {
  bytesRead: number
  workers: number
  depth: number
  slotBytes: number
  /** What was reserved or is expected: slots, index, cache, workspaces, and the fixed part. */
  budgetBytes: number
  /** Where rows share units or blocks: what the cache did for all rings that read the same data. */
  cache?: BlockCacheStats
  decoders: Record<string, string>
  /** Time of all workers on this feed by kind of work (ms): read, decode, transform, map, close. */
  spans: Record<string, number>
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
  readonly cacheStats: BlockCacheStats | undefined
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

  report(feeding: Fed, feed: NormalFeed, judge: CountedStats['bad']): CountedStats {
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

/** Names and versions of the decoders of this installation. */
export function decoderVersions(): { jpeg: string; other: string } {
  return { jpeg: versionOf(turbojpegVersion), other: versionOf(vipsVersion) }
}

function versionOf(library: () => string): string {
  try {
    return library()
  } catch (error) {
    if (error instanceof MissingError) return 'not installed'
    throw error
  }
}
