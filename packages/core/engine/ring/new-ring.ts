/**
 * A new ring for a feed: who makes each field and how a slot is laid out, whether there is memory for it, that memory, and
 * the job that tells workers all of this.
 */
import { MAX_DEPTH, Ring, type RingStart } from '../../batch/ring.js'
import type { UserFunction } from '../../define/build/call.js'
import { pythonSources } from '../../define/check/sources.js'
import { SpanFile } from '../../spans/file.js'
import { levelOf } from '../../spans/level.js'
import type { LevelName } from '../../spans/span-words.js'
import type { AffinityAsk } from '../bind/binder.js'
import { blocksOf } from '../fetch/row-blocks.js'
import { needsPython } from '../make/python.js'
import { type Budget, preflight, usualCache, WORKSPACE_BYTES } from '../plan/budget.js'
import type { Job } from '../plan/job.js'
import { type MakingOptions, planMaking } from '../plan/making.js'
import type { FeedPlan } from '../plan/plan.js'
import { cachedSources } from '../plan/unit-facts.js'
import { checkUnitsFit } from '../plan/unit-price.js'
import { joinCache } from './caches.js'
import { RingMemory } from './ring-memory.js'

export interface FeedingOptions extends MakingOptions {
  /** By which spans call the feed; undefined: by its source. */
  name?: string
  rank: number
  /** 0: everything happens in the calling thread. */
  workers: number
  depth: number
  /** Bytes for the block cache, where one is needed; undefined: as many as windows and units take. */
  cacheBytes?: number
  /** Bytes that one worker's workspace may grow to. */
  scratchBytes: number
  /** A pipe to be told of every ready batch, for a consumer in another process. */
  ready?: number
  /** Functions of the user's that are here already, by their path in the feed: for rows made in the calling thread. */
  functions?: ReadonlyMap<string, UserFunction>
  /** Seconds that one sample may take before the run is ended with its name. */
  timeout: number
  /** How much its spans say. */
  observe?: LevelName
  /** On which cores workers are to run. */
  affinity?: AffinityAsk
}

export interface NewRing {
  job: Job
  ring: Ring
  memory: RingMemory
  budget: Budget
}

let lastId = 0

/** The number of a new ring: one whose place in the table of spans no open ring has. */
function newId(): number {
  lastId = SpanFile.shared()?.freeRing(lastId + 1) ?? lastId + 1
  return lastId
}

/** Bytes of the cache that the feed's units go through. */
function cacheOf(plan: FeedPlan, options: FeedingOptions, batch: number): number {
  const sources = cachedSources(plan)
  const bytes =
    options.cacheBytes ??
    usualCache(sources, options.depth * batch * options.world + (plan.order.window ?? 0))
  checkUnitsFit(sources, bytes)
  return bytes
}

/** Throws a BudgetError where there is not enough memory. No worker knows of the ring yet. */
export async function newRing(plan: FeedPlan, options: FeedingOptions, start: RingStart): Promise<NewRing> {
  const { depth, workers, scratchBytes } = options
  const { fields: making, batch, layout } = planMaking(plan, options)

  const cacheBytes = sharesRows(plan) ? cacheOf(plan, options, batch) : 0
  const python = needsPython(plan.feed)
  const { indexBytes } = plan
  const budget = preflight({ layout, depth, workers, cacheBytes, indexBytes, scratchBytes, python })

  const capacity = Math.max(depth, Math.min(MAX_DEPTH, budget.mostSlots))
  const cache = cacheBytes > 0 ? joinCache(cacheKey(plan, options), cacheBytes, workers === 0) : undefined
  const workspaces = Math.max(1, workers)
  const memory = await RingMemory.create(
    layout,
    { capacity, depth },
    { workspaceBytes: workspaces * WORKSPACE_BYTES, served: options.ready !== undefined },
  )
  const ring = new Ring(memory.memory, layout, capacity)
  ring.reset(start, depth)

  const job: Job = {
    id: newId(),
    version: 0,
    memory: memory.memory,
    layout,
    capacity,
    workspaces: { at: memory.bytes, bytes: WORKSPACE_BYTES, count: workspaces, limit: scratchBytes },
    feed: plan.feed,
    making,
    sources: plan.sources,
    order: plan.orderData,
    share: { length: plan.order.length, world: options.world, rank: options.rank, batch },
    ...(pythonSources(plan.feed.source).some(({ iterable }) => iterable) && { makers: 1 }),
    ...(plan.tokenizers && { tokenizers: plan.tokenizers }),
    observe: levelOf(options.observe),
    timeout: options.timeout,
    ready: options.ready,
    cache,
  }
  return { job, ring, memory, budget }
}

/** Whether rows share what is read for them: units of their sources, or blocks of a windowed order. */
function sharesRows({ attached, order }: FeedPlan): boolean {
  return (
    attached.some(({ unitStarts }) => unitStarts !== undefined) ||
    order.sources.some(own => blocksOf(own) !== undefined)
  )
}

/** Rings with the same key read the same bytes in the same order. */
function cacheKey({ feed, sources, hashes }: FeedPlan, { cacheBytes }: FeedingOptions): string {
  const { source, root, fields, map } = feed
  const stamps = sources.map(({ manifest }) => manifest.stamp)
  const columns = map === undefined ? fields.flatMap(({ from }) => from) : null
  return JSON.stringify([source, root, hashes.order, stamps, columns, cacheBytes])
}
