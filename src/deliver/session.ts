/**
 * One client of the server: a connection, its ring, and what they say to each other (docs/protocol.md). Batches do
 * not pass through here; only words about them do.
 */
import { readFileSync } from 'node:fs'
import type { SlotLayout } from '../batch/layout.js'
import { CONTROL_BYTES } from '../batch/ring.js'
import { Header, RowStatus } from '../batch/slot.js'
import { DTYPES } from '../define/dtype.js'
import { normalizeFeed } from '../define/normalize.js'
import type { FeedJson } from '../define/types.js'
import { applyVariant } from '../define/variants.js'
import type { Feeding } from '../engine/feeding.js'
import { type FeedPlan, replan } from '../engine/plan.js'
import { MillraceError, SampleError, StateError } from '../errors.js'
import type { BlendChange } from '../order/blend.js'
import { makeState } from '../order/state.js'
import { type Place, stepPlan } from '../order/steps.js'
import { closePipe, openPipe, type Pipe } from '../system/pipe.js'
import { fillOptions, type OpenedOptions, type OpenOptions } from './options.js'
import { type Opened, openPlan, startFeeding } from './start.js'
import { feedingStats } from './stats.js'

export const PROTOCOL = 1

/** What a client says first. */
export interface OpenRequest {
  version: number
  pid: number
  feed?: FeedJson
  /** A module or JSON file to be loaded by the engine, in place of `feed`. */
  feedPath?: string
  root?: string
  variant?: string
  options?: Omit<OpenOptions, 'progress' | 'notice' | 'root' | 'variant'> & { limit?: number | null }
}

/** Finds the feed that a request means: the server's business, since modules are loaded by the command line. */
export type FindFeed = (request: OpenRequest) => Promise<{ json: FeedJson; root: string }>

interface Move extends Place {
  limit: number | null
  changes?: BlendChange[]
  /** Slots that the client still holds. */
  held?: number[]
}

export type Request = { id?: number } & Partial<{
  open: OpenRequest
  release: number
  move: Move
  limit: number | null
  ids: number
  bad: number
  weights: number[] | Record<string, number>
  place: Place
  tune: { workers?: number; depth?: number }
  stats: true
  close: true
}>

export class Session {
  private opened: Opened | undefined
  private options!: OpenedOptions
  private feeding: Feeding | undefined
  private pipe: Pipe | undefined
  private said = false

  constructor(
    private readonly find: FindFeed,
    private readonly say: (message: object) => void,
    private readonly version: string,
  ) {}

  /** Answers one request. */
  async hear(request: Request): Promise<void> {
    const { id } = request
    try {
      const answer = await this.answer(request)
      if (answer !== undefined) this.say(id === undefined ? answer : { id, ...answer })
    } catch (error) {
      const { message } = error as Error
      const tag = error instanceof MillraceError ? error.tag : 'Bug'
      const said = tag === 'Bug' ? ((error as Error).stack ?? message) : message
      this.say({ ...(id === undefined ? {} : { id }), error: { tag, message: said } })
    }
  }

  /** Called a few times a second: renews the heartbeat, and tells the client of a feeding that has ended. */
  watch(): void {
    const failure = this.feeding?.watch()
    if (failure === undefined || this.said) return
    this.said = true
    this.say({
      failed: { tag: failure instanceof MillraceError ? failure.tag : 'Bug', message: failure.message },
    })
  }

  async close(): Promise<void> {
    const { feeding, pipe } = this
    this.feeding = undefined
    this.pipe = undefined
    await feeding?.close()
    if (pipe) closePipe(pipe)
  }

  private async answer(request: Request): Promise<object | undefined> {
    if (request.open !== undefined) return { opened: await this.open(request.open) }
    const { feeding, opened } = this
    if (!feeding || !opened) throw new StateError('say "open" first')
    if (request.release !== undefined) {
      feeding.giveBack(request.release)
      return undefined
    }
    if (request.limit !== undefined) {
      feeding.limit = request.limit ?? Infinity
      return undefined
    }
    if (request.move !== undefined) return { moved: await this.move(request.move, opened, feeding) }
    if (request.ids !== undefined) return { ids: this.ids(request.ids, opened.plan, feeding) }
    if (request.bad !== undefined) return { bad: this.bad(request.bad, feeding) }
    if (request.weights !== undefined) return { changes: this.weigh(request, opened) }
    if (request.tune !== undefined) {
      const { workers, depth } = request.tune
      if (workers !== undefined) feeding.workers = workers
      if (depth !== undefined) await feeding.setDepth(depth)
      return { tuned: { workers: feeding.workers, depth: feeding.depth } }
    }
    if (request.stats !== undefined) return { stats: feedingStats(feeding, opened.plan.feed) }
    throw new MillraceError(`unknown request ${JSON.stringify(request).slice(0, 200)}`)
  }

  private async open(request: OpenRequest): Promise<object> {
    if (request.version !== PROTOCOL) {
      throw new MillraceError(
        `the client speaks version ${request.version} of the protocol, the engine version ${PROTOCOL}: ` +
          'install the same Millrace on both sides',
      )
    }
    if (this.opened) throw new MillraceError('one connection is one ring: it is open already')
    const { json, root } = await this.find(request)
    const feed = normalizeFeed(
      request.variant === undefined ? json : applyVariant(json, request.variant),
      root,
    )
    const { limit, ...given } = request.options ?? {}
    const notices: string[] = []
    const options = fillOptions({ ...given, notice: text => notices.push(text) })
    // Here somebody else computes: there is always a thread to make batches.
    this.options = { ...options, workers: Math.max(1, options.workers) }
    this.opened = await openPlan(feed, this.options)
    this.pipe = openPipe()
    this.options.ready = this.pipe.write
    this.feeding = await startFeeding(this.opened, this.options, limit ?? Infinity)
    this.feeding.watch()
    return this.describe(this.opened, this.feeding, notices)
  }

  /** Everything a client must know to read batches by itself. */
  private describe({ plan, share, place }: Opened, feeding: Feeding, notices: string[]): object {
    const { rank, world, rankFrom } = this.options
    const steps = stepPlan({ ...share, start: place })
    const { epoch: _, position: __, ...state } = makeState(plan, place)
    const { ring, region, layout } = feeding
    const fd = (number: number): string => `/proc/${process.pid}/fd/${number}`
    return {
      version: PROTOCOL,
      engine: { pid: process.pid, started: startTime(), millrace: this.version },
      memory: {
        path: fd(region.fd),
        bytes: region.bytes,
        control: CONTROL_BYTES,
        slots: ring.capacity,
        slotBytes: layout.bytes,
      },
      ready: { path: fd(this.pipe!.read) },
      layout: describeLayout(layout),
      rank,
      world,
      rankFrom,
      length: plan.length,
      steps: { epoch: steps.stepsInEpoch, first: steps.stepsInFirstEpoch },
      place,
      depth: feeding.depth,
      generation: ring.generation,
      hashes: plan.hashes,
      state,
      last: plan.feed.batch.last,
      onError: plan.feed.onError,
      notices,
    }
  }

  private async move(
    { epoch, position, limit, changes, held = [] }: Move,
    opened: Opened,
    feeding: Feeding,
  ): Promise<object> {
    // The order is compiled anew only where its weights have changed.
    const changed = changes !== undefined && JSON.stringify(changes) !== JSON.stringify(opened.changes)
    if (changed) {
      opened.changes = changes
      opened.plan = replan(opened.plan, changes)
    }
    feeding.lent(held)
    await feeding.move({ epoch, position, limit: limit ?? Infinity }, opened.plan)
    return { generation: feeding.ring.generation }
  }

  private ids(index: number, plan: FeedPlan, feeding: Feeding): string[] {
    const slot = feeding.slot(index)
    const ids: string[] = []
    for (let row = 0; row < slot.words[Header.Count]; row++) {
      if (slot.status[row] !== RowStatus.Filler) ids.push(plan.attached[slot.sources[row]].id(slot.rows[row]))
    }
    return ids
  }

  private bad(batch: number, feeding: Feeding): object[] {
    return feeding.badOf(batch).map(({ row, where, problem }) => ({
      row,
      id: where.id,
      stage: where.stage,
      message: row < 0 ? problem : new SampleError(where, problem).message,
    }))
  }

  private weigh({ weights, place }: Request, { plan, changes }: Opened): BlendChange[] {
    if (!plan.order.changed) {
      throw new MillraceError('only a blend has weights to change: this feed has one source')
    }
    return plan.order.changed(changes, place ?? { epoch: 0, position: 0 }, weights!)
  }
}

function describeLayout({ rows, statusAt, positionAt, rowAt, sourceAt, fields }: SlotLayout): object {
  return {
    ...{ rows, statusAt, positionAt, rowAt, sourceAt },
    fields: fields.map(field => ({ ...field, dlpack: [...DTYPES[field.dtype].dlpack, 1] })),
  }
}

/** When this process began, in clock ticks since boot: with the pid it names a process for good. */
function startTime(): string {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return ''
  }
}
