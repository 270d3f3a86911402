/**
 * The budget: what a feed will take of the machine, known before it starts and checked against every limit we can
 * see. The error names the limit and the two ways out.
 */

import { BudgetError } from '../../basics/errors.js'
import type { SlotLayout } from '../../batch/layout.js'
import { CONTROL_BYTES } from '../../batch/ring.js'
import { MEMORY_LIMIT } from '../../system/memory/memory.js'
import { fileHandleLimit, filesAWorker, memoryLimit, OTHER_FILES } from '../../system/process/limits.js'
import type { CachedSource } from './unit-facts.js'
import { cacheWanted } from './unit-price.js'

/** A maker's workspace to begin with: a decoded 1,000 × 1,000 picture and its intermediate. It grows when needed. */
export const WORKSPACE_BYTES = 8 * 2 ** 20

/** What a process takes besides slots, index, cache and workspaces: V8's heaps and the native libraries of a thread. */
const FIXED_BYTES = 96 * 2 ** 20
const THREAD_BYTES = 40 * 2 ** 20

/** A Python process of a maker, with numpy and the memory that it shares: what a dataset of the user's adds is unknown. */
const PYTHON_BYTES = 64 * 2 ** 20

/** What the slots and workspaces of one ring may take: some of the memory stays free for workspaces to grow. */
const RING_LIMIT = MEMORY_LIMIT - 2 ** 28

/** A block cache at least, where one is needed, and the share of the memory that it takes at most by itself. */
const LEAST_CACHE = 64 * 2 ** 20
const CACHE_SHARE = 1 / 4
/** What the cache needs for its books: under 200 bytes for each of up to 4,096 blocks. */
const CACHE_BOOKS = 2 ** 20

/** The cache that a feed gets by itself: what every unit and block needs to be loaded once, as far as memory allows. */
export function usualCache(sources: readonly CachedSource[], ahead = 0): number {
  const most = Math.floor(memoryLimit().bytes * CACHE_SHARE)
  return Math.max(LEAST_CACHE, Math.min(cacheWanted(sources, ahead) + CACHE_BOOKS, most))
}

export interface Wanted {
  layout: SlotLayout
  depth: number
  workers: number
  cacheBytes: number
  indexBytes: number
  scratchBytes: number
  /** The feed has sources or functions in Python. */
  python?: boolean
}

export interface Budget {
  slotBytes: number
  /** Bytes of the ring's memory that are shared: the control page and the slots. */
  sharedBytes: number
  totalBytes: number
  /** Slots that one ring could address. */
  mostSlots: number
}

/** Computes the budget and checks it. */
export function preflight(wanted: Wanted): Budget {
  const slotBytes = wanted.layout.bytes
  const sharedBytes = CONTROL_BYTES + slotBytes * wanted.depth
  const makers = Math.max(1, wanted.workers)
  const memoryBytes = sharedBytes + makers * WORKSPACE_BYTES
  const totalBytes =
    sharedBytes +
    wanted.cacheBytes +
    wanted.indexBytes +
    FIXED_BYTES +
    makers * (WORKSPACE_BYTES + THREAD_BYTES + (wanted.python ? PYTHON_BYTES : 0))
  const mostSlots = Math.floor((RING_LIMIT - CONTROL_BYTES - makers * WORKSPACE_BYTES) / slotBytes)
  if (wanted.depth > mostSlots) {
    throw new BudgetError(
      `${wanted.depth} slots of ${mib(slotBytes)} MiB and ${makers} workspaces take ${mib(memoryBytes)} MiB, but one ` +
        `ring can address ${mib(RING_LIMIT)} MiB: lower the depth to ${Math.max(1, mostSlots)}, or the batch size`,
    )
  }
  const memory = memoryLimit()
  if (totalBytes > memory.bytes) {
    throw new BudgetError(
      `this feed takes ${mib(totalBytes)} MiB (${wanted.depth} slots of ${mib(slotBytes)} MiB, ${makers} workers` +
        `${wanted.cacheBytes ? `, ${mib(wanted.cacheBytes)} MiB of cache` : ''}), but ${memory.name} leaves ` +
        `${mib(memory.bytes)} MiB: lower depth, workers or batch size, or raise that limit`,
    )
  }
  const files = fileHandleLimit()
  const needed = OTHER_FILES + makers * filesAWorker(files)
  if (needed > files) {
    throw new BudgetError(
      `${makers} workers need ${needed} open files, but the limit is ${files}: lower workers, or raise it with \`ulimit -n\``,
    )
  }
  return { slotBytes, sharedBytes, totalBytes, mostSlots }
}

function mib(bytes: number): string {
  return Math.ceil(bytes / 2 ** 20).toLocaleString('en')
}
