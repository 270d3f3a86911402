/**
 * A feeding: one (feed, rank) being made. It owns the ring and its memory, has the pool fill it, and gives its batches, by
 * number, to what delivers them: an iterator in this process, or a server for another one.
 */
import { EngineError } from '../../basics/errors.js'
import type { SlotLayout } from '../../batch/layout.js'
import { type Claim, CONTROL_BYTES, type Ring, type RingStart } from '../../batch/ring.js'
import { Header, type Slot } from '../../batch/slot.js'
import { SpanFile } from '../../spans/file.js'
import { type SpanCursor, type SpanRead, SpanSums } from '../../spans/reader.js'
import { BlockCache, type BlockCacheStats } from '../../store/block-cache.js'
import { vacate } from '../../system/memory/memory.js'
import { cantExit } from '../../system/process/exit.js'
import { type BadRow, CpuDecoder, type DecoderJob } from '../make/cpu-decoder.js'
import { nameBad } from '../make/failures.js'
import type { Budget } from '../plan/budget.js'
import { type Generator, generatorOf } from '../plan/generate.js'
import type { BadReport, Job } from '../plan/job.js'
import type { FeedPlan } from '../plan/plan.js'
import { drawnName } from '../plan/sample-name.js'
import { Pool } from '../pool/pool.js'
import type { RingOwner } from '../pool/served-ring.js'
import { leaveCache } from './caches.js'
import type { CallingThread } from './calling-thread.js'
import { type FeedingOptions, type NewRing, newRing } from './new-ring.js'
import { ringFacts, ringName } from './ring-facts.js'
import type { RingMemory } from './ring-memory.js'
import { BadReports, forgetRing, noteBad, noteRing } from './ring-note.js'
import { ClaimSize, RingDepth } from './ring-settings.js'
import { SampleTimeout, unlessFailed } from './sample-timeout.js'

/** How often (ms) hung samples are looked for while a batch is waited for. */
const LOOK = 500

/** After a wait no longer than this (ms) the next batch is first waited for in this thread (`waitHere`). */
const BRIEFLY = 0.5

/** How long a closed ring waits for rows that are being made (ms). */
const LAST_ROWS = 2000

export class Feeding {
  readonly budget: Budget
  readonly layout: SlotLayout
  /** Slots that the consumer holds. */
  readonly kept = new Set<number>()
  private failure: Error | undefined
  /** Whether the last batch was waited for no longer than `BRIEFLY`. */
  private brief = false
  /** While a maker that hangs is being ended: whether it can be is part of what the failure says. */
  private ending: Promise<void> | undefined
  private readonly timeout: SampleTimeout
  private readonly claiming: ClaimSize
  private readonly deepness: RingDepth
  private readonly reports = new BadReports()
  /** Where there are no workers. */
  private alone: CallingThread | undefined
  /** Decodes what the device of another process refused. */
  private decoder: CpuDecoder | undefined
  /** The latest move of the ring: the next one begins when it is done. */
  private moving: Promise<void> = Promise.resolve()
  readonly ring: Ring
  readonly shared: RingMemory
  /** By which spans call it. */
  readonly name: string
  closed = false
  private job: Job
  /** Undefined: none are written of this feed. */
  private readonly spans: SpanFile | undefined
  private readonly sums: SpanSums | undefined

  private constructor(
    private plan: FeedPlan,
    readonly options: FeedingOptions,
    { job, ring, memory, budget }: NewRing,
    /** Its workers, which are those of all feeds of this process. Undefined: the calling thread makes its rows. */
    readonly pool: Pool | undefined,
  ) {
    this.job = job
    this.ring = ring
    this.shared = memory
    this.budget = budget
    this.layout = job.layout
    this.spans = job.observe === undefined ? undefined : SpanFile.shared()
    this.sums = this.spans && new SpanSums(this.spans.reader, job.id)
    this.name = ringName(plan.feed, options.name)
    this.spans?.openRing({ id: job.id, name: this.name, ...ringFacts(job, ring.depth) })
    noteRing(job, memory, this.name)
    const claims = (claims: number): void => this.spans?.tuneRing(job.id, { claims })
    this.claiming = new ClaimSize(ring, claims)
    this.deepness = new RingDepth(ring, memory, this.kept, depth => {
      this.spans?.tuneRing(job.id, { depth })
      pool?.wake()
    })
    this.timeout = new SampleTimeout(ring, options.timeout, maker => pool?.taking(maker) === job.id)
  }

  static async start(plan: FeedPlan, options: FeedingOptions, start: RingStart): Promise<Feeding> {
    const made = await newRing(plan, options, start)
    const pool = options.workers > 0 ? Pool.shared() : undefined
    const feeding = new Feeding(plan, options, made, pool)
    if (pool) {
      const owner: RingOwner = {
        bad: report => feeding.reports.add(report),
        failed: error => feeding.fail(error),
        took: () => feeding.nudge(),
      }
      pool.add(feeding.job, feeding.ring, owner, options.workers)
      if (options.affinity) await pool.binder.ask(feeding.id, options.affinity)
      pool.resize(Math.max(options.workers, pool.workers))
      return feeding
    }
    try {
      const { CallingThread } = await import('./calling-thread.js')
      feeding.alone = await CallingThread.start(feeding.job, feeding.ring, options, report =>
        feeding.reports.add(report),
      )
      return feeding
    } catch (error) {
      await feeding.close()
      feeding.vacate()
      throw error
    }
  }

  /** The slot of a batch, when it is ready: waits for it, or makes it where there are no workers. */
  async take(batch: number): Promise<number> {
    let index = this.ring.ready(batch)
    if (index === undefined) {
      if (this.kept.size >= this.ring.depth) {
        throw new EngineError(
          `all ${this.ring.depth} slots are kept: release() a batch before asking for the next one, or raise the depth`,
        )
      }
      index = this.alone
        ? await this.alone.make(batch, pending => this.unlessHung(pending))
        : (this.waitBriefly(batch) ?? (await this.waitFor(batch)))
    }
    this.kept.add(index)
    return index
  }

  /** What makes fields on the device, where there are such. */
  get generator(): Generator | undefined {
    return generatorOf(this.job)
  }

  slot(index: number): Slot {
    return this.ring.slots[index]
  }

  /** Gives a slot back to the makers. */
  release(index: number): void {
    if (!this.kept.delete(index)) return
    this.ring.release(index)
    this.pool?.wake()
  }

  /** A slot that a consumer in another process is done with. One without a batch is free, or being filled: not its own. */
  giveBack(index: number): void {
    if (!Number.isInteger(index) || index < 0 || index >= this.ring.capacity) return
    if (!this.ring.filled(index)) return
    this.kept.add(index)
    this.release(index)
  }

  /** A consumer in another process leases slots by itself: here is what it holds. */
  lent(slots: Iterable<number>): void {
    this.kept.clear()
    for (const slot of slots) this.kept.add(slot)
  }

  /** For a server, whose clients wait elsewhere: renews the heartbeat, and returns what ended the feeding, if anything has. */
  watch(): Error | undefined {
    this.ring.beat()
    this.checkHung()
    return this.failure
  }

  /** What makers said of bad samples in this batch, by row. Complete when the batch is ready. */
  badOf(batch: number): BadReport[] {
    this.pool?.collect()
    return this.reports.take(batch, this.ring.generation)
  }

  /**
   * Rows of a batch that the device of another process could not decode: the CPU does it, and leaves pixels or elements in
   * the slot. Returns what is wrong with those that it can't decode either.
   */
  redo(index: number, field: string, rows: readonly number[]): BadReport[] {
    this.decoder ??= new CpuDecoder(this.job)
    const slot = this.slot(index)
    const bad = rows.map(row => this.decoder!.redo(slot, field, row)).filter(one => one !== undefined)
    return bad.map(one => this.nameBad(one))
  }

  /** A row that neither the device nor the CPU could decode, with the name of its sample. */
  nameBad({ row, source, sourceRow, ...failure }: BadRow): BadReport {
    const bad = nameBad(this.plan.attached[source], sourceRow, failure, this.job.feed.fields)
    return noteBad({ ring: this.job.id, generation: this.ring.generation, batch: -1, row, ...bad })
  }

  /** What the thread of a device has to know to decode rows that the device refuses. */
  get decoderJob(): DecoderJob {
    const { memory, layout, feed, workspaces } = this.job
    return { memory, layout, feed, workspaces }
  }

  /**
   * Goes on from another place. Batches already made are thrown away; kept ones stay. Moves are made in the order in
   * which they are asked for: a client that was interrupted while it waited for one asks for another.
   */
  move(start: RingStart, plan?: FeedPlan): Promise<void> {
    this.moving = this.moving.then(() => this.moveNow(start, plan ?? this.plan))
    return this.moving
  }

  private async moveNow(start: RingStart, plan: FeedPlan): Promise<void> {
    this.timeout.begin()
    this.ring.pause()
    while (this.ring.busy) {
      await new Promise(resolve => setTimeout(resolve, 1))
      this.checkHung()
      if (this.failure) throw this.failure
    }
    const changed = plan !== this.plan
    if (changed) {
      this.plan = plan
      this.job = { ...this.job, order: plan.orderData, version: this.job.version + 1 }
      this.pool?.replace(this.job)
      await this.alone?.takeUp(this.job)
    }
    this.ring.reset(start, this.ring.depth, this.kept, this.job.version)
    this.pool?.wake()
  }

  /** Lets the ring make batches up to this number. */
  set limit(batches: number) {
    this.ring.limit = batches
    this.pool?.wake()
  }

  get workers(): number {
    return this.pool?.workers ?? 0
  }

  set workers(workers: number) {
    this.pool?.resize(workers)
  }

  get depth(): number {
    return this.ring.depth
  }

  setDepth(depth: number): Promise<void> {
    return this.deepness.set(depth)
  }

  /** Tells how many batches the consumer holds elsewhere: the depth stays above that. */
  set holds(count: () => number) {
    this.deepness.holds = count
  }

  /** Rows that a worker claims at a time. */
  get claimRows(): number {
    return this.ring.stride * this.layout.chunkRows
  }

  set claimRows(rows: number) {
    this.claiming.set(rows)
  }

  /** The number of its ring in this process: spans are named by it. */
  get id(): number {
    return this.job.id
  }

  /** The spans of this ring since the cursor: of workers, of the consumer, and of the device stage. */
  spansSince(cursor?: SpanCursor): SpanRead {
    return this.spans?.reader.readSince(cursor, this.job.id) ?? { records: [], cursor: [], lost: 0 }
  }

  /** The time of workers on this ring by kind of work (ms). */
  get workTimes(): Record<string, number> {
    return this.sums?.read() ?? {}
  }

  /** What the cache did, for this feeding and those that share it. */
  get cacheStats(): BlockCacheStats | undefined {
    return this.job.cache && new BlockCache(this.job.cache.data).stats()
  }

  /** Called when it ends. */
  onClose: (() => void) | undefined

  /** Ends it. The pool ends with its last feeding. */
  async close(): Promise<void> {
    this.closed = true
    this.claiming.close()
    this.onClose?.()
    this.fail(new EngineError('the loader was closed while a batch was waited for'))
    this.ring.pause()
    this.alone?.close()
    this.spans?.closeRing(this.job.id)
    forgetRing(this.job.id)
    await this.pool?.remove(this.job.id)
    // Makers of other rings may still be at a row of this one: what it holds open must outlive that.
    const until = performance.now() + LAST_ROWS
    while (this.ring.busy && performance.now() < until) await new Promise(resolve => setTimeout(resolve, 2))
    await this.deepness.end()
    if (this.job.cache) leaveCache(this.job.cache)
    this.shared.free()
  }

  /** After the end, when this process looks at no batch any more. Other processes keep theirs. */
  vacate(): void {
    if (this.ring.busy) return // by a row that hangs: its memory stays
    vacate(this.ring.memory, CONTROL_BYTES)
  }

  // ---------------------------------------------------------------- waiting

  /** Waits for a batch in this thread, for a moment: only where the last wait was short. Undefined: this one is not. */
  private waitBriefly(batch: number): number | undefined {
    if (!this.brief) return undefined
    const slot = this.ring.waitHere(batch, BRIEFLY, () => this.failure !== undefined)
    if (slot === undefined) this.brief = false
    return slot
  }

  private async waitFor(batch: number): Promise<number> {
    this.pool!.hold(true)
    this.timeout.begin()
    const begun = performance.now()
    try {
      for (;;) {
        const [words, index, seen] = this.ring.completed
        if (this.failure) throw this.failure
        const slot = this.ring.ready(batch)
        if (slot !== undefined) {
          this.brief = performance.now() - begun < BRIEFLY
          return slot
        }
        const wait = Atomics.waitAsync(words, index, seen, LOOK)
        if (wait.async && (await wait.value) === 'timed-out') this.checkHung()
      }
    } finally {
      this.pool!.hold(false)
    }
  }

  private fail(error: Error): void {
    this.failure ??= error
    this.nudge()
  }

  /** Wakes those that wait for a batch, so that they look again. */
  private nudge(): void {
    const [words, index] = this.ring.completed
    Atomics.add(words, index, 1)
    Atomics.notify(words, index)
  }

  /** A sample that takes longer than the time allowed ends the run: deadlines never drop (they are not deterministic). */
  private checkHung(): void {
    if (this.failure || this.ending) return
    const lost = this.timeout.lost((claim, row) => this.nameOf(claim, row))
    if (!lost) return
    this.ring.pause()
    // Whether its thread can be ended decides what is to be said.
    const ended = this.pool?.endMaker(lost.maker)
    if (ended === undefined) this.fail(new EngineError(lost.problem))
    this.ending = ended?.then(done =>
      this.fail(new EngineError(done ? lost.problem : `${lost.problem}. And ${cantExit()}`)),
    )
  }

  private nameOf(claim: Claim, row: number): string {
    const index = this.ring.opened(claim.batch)
    const planned = index !== undefined && row < this.slot(index).words[Header.Planned]
    return planned ? drawnName(this.plan, this.slot(index), row) : `row ${row} of batch ${claim.batch}`
  }

  /** Waits for a function of the user's, but not forever, and keeps the process alive meanwhile. */
  private unlessHung(pending: Promise<void>): Promise<void> {
    this.timeout.begin()
    return unlessFailed(pending, LOOK, () => {
      this.checkHung()
      return this.failure
    })
  }
}
