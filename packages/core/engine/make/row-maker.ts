/**
 * Makes the rows of a claim: the way of samples from their positions into the slot. `make` begins it, `finish` closes the batch.
 *
 *   positions ─ order ─► rows of sources ─ fetch ─► bytes ─► columns of each sample ─ sample-maker.ts ─► row of the slot
 *
 * One RowMaker per worker thread and ring. It allocates next to nothing per row and never waits, unless the feed calls
 * functions of the user's that do, or a store is far away.
 */
import { ChangedError } from '../../basics/errors.js'
import { after, asError, type Maybe } from '../../basics/maybe.js'
import { hashText, operatorKey, Random } from '../../basics/random.js'
import { blankRow, closeSlot } from '../../batch/close.js'
import { mostRows } from '../../batch/layout.js'
import { type Claim, Ring } from '../../batch/ring.js'
import { Header, RowStatus, type Slot, Stamp } from '../../batch/slot.js'
import { operatorFacts } from '../../define/operator.js'
import { type CompiledOrder, compileOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import { type StepPlan, type StepShare, stepPlan } from '../../order/steps.js'
import { disownIndexOf } from '../../source/index/trust.js'
import { attachSource } from '../../source/registry.js'
import type { Source } from '../../source/source.js'
import type { TokenRowMaker } from '../../source/token-rows.js'
import { markSpan, SpanClock } from '../../spans/clock.js'
import type { RingSpans, SpanLane } from '../../spans/lane.js'
import { SpanKind } from '../../spans/span-words.js'
import { moveInside } from '../../system/memory/copy.js'
import { Workspace } from '../../system/memory/workspace.js'
import { signal } from '../../system/process/pipe.js'
import { Ahead } from '../fetch/ahead.js'
import { Fetcher } from '../fetch/fetch.js'
import { isGenerated } from '../plan/generate.js'
import type { BadReport, Job } from '../plan/job.js'
import type { DirectRows } from './direct-rows.js'
import { describeBad } from './failures.js'
import { SampleMaker } from './sample-maker.js'
import type { UserFunctions } from './user-functions.js'

const SOURCE_KEY = hashText('source')

export class RowMaker {
  readonly ring: Ring
  private readonly sources: Source[]
  private readonly order: CompiledOrder
  private readonly fetcher: Fetcher
  private readonly samples: SampleMaker
  private readonly direct: DirectRows | undefined
  private readonly tokens: TokenRowMaker | undefined
  private readonly random = new Random()
  private readonly draws: Draw[]
  private readonly ahead: Ahead
  private plan!: StepPlan
  private generation = -1
  private readonly clock = new SpanClock()
  private readonly move = (to: number, from: number, bytes: number): void =>
    moveInside(this.work, to, from, bytes)
  /** Bytes read that the ring knows of. */
  private booked = 0
  private readsBooked = 0

  constructor(
    readonly job: Job,
    readonly maker: number,
    private readonly functions: UserFunctions,
    private readonly report: (bad: BadReport) => void,
    /** Where the times of claims go. */
    readonly spans?: RingSpans,
    /** The workspace of the one that this one takes the place of: the memory of a ring never shrinks. */
    readonly work: Workspace = workspaceOf(job, maker),
  ) {
    this.ring = new Ring(job.memory, job.layout, job.capacity)
    this.order = compileOrder(job.order)
    this.sources = job.sources.map(({ manifest }) => attachSource(manifest))
    // A function on the sample gets all of it; fields only need what they name.
    const made = job.feed.fields.filter((_, i) => !isGenerated(job.making[i]))
    const columns = functions.sample ? undefined : [...new Set(made.flatMap(field => field.from))]
    const cache = job.cache && { handle: job.cache, order: this.order }
    this.ahead = new Ahead(job.layout)
    this.fetcher = new Fetcher(this.sources, columns, maker, cache, this.ahead)
    this.samples = new SampleMaker(job, functions, this.sources, this.work, this.clock, (range, into) =>
      this.fetcher.readInto(range, into),
    )
    this.direct = columns && this.samples.directRows(columns)
    this.tokens = this.tokenMaker()
    this.draws = Array.from({ length: mostRows(job.layout) }, () => ({
      source: 0,
      row: 0,
      drawn: 0,
      epoch: 0,
    }))
  }

  /**
   * Makes the rows of a claim and gives the claim back. Returns a promise only where functions of the user's do, or where a
   * store has to be waited for. `since`: when the claim before it ended, where nothing else came between.
   */
  make(claim: Claim, since?: number): void | Promise<void> {
    const slot = this.ring.slotOf(claim, this.maker, opened => this.open(claim.batch, opened))
    if (slot === undefined) return this.ring.drop(this.maker)
    if (this.spans) this.clock.begin(since)
    else this.clock.skip()
    const to = Math.min(claim.to, slot.words[Header.Planned])
    this.note(claim, slot, to)
    if (this.tokens !== undefined && this.makeTokens(this.tokens, claim, slot, to)) return
    return after(this.fetch(claim, to), () => this.makeRows(claim, slot, to))
  }

  /** What makes rows of tokens. Undefined where rows have to be made of samples. */
  private tokenMaker(): TokenRowMaker | undefined {
    const { feed, layout, cache } = this.job
    const rows = this.sources.flatMap(({ tokenRows }) => tokenRows ?? [])
    if (feed.map !== undefined || cache !== undefined || rows.length < this.sources.length) return undefined
    const [{ maker }] = rows
    if (!rows.every(other => other.maker === maker)) return undefined
    const { work, ahead } = this
    return maker(rows, { fields: feed.fields, layout, work, reader: this.fetcher.reader, timing: ahead })
  }

  /** Rows of tokens, without samples. False: they are made like any others. */
  private makeTokens(tokens: TokenRowMaker, claim: Claim, slot: Slot, to: number): boolean {
    if (this.ring.hasPoison || !tokens.make(slot, claim.from, to, this.draws)) return false
    for (let row = claim.from; row < to; row++) this.good(slot, row)
    this.finish(claim, slot)
    return true
  }

  private makeRows(claim: Claim, slot: Slot, to: number): void | Promise<void> {
    this.clock.resume()
    markSpan(SpanKind.Read)
    const direct = this.direct === undefined || this.ring.hasPoison ? undefined : this.direct
    const made = direct?.make(slot, claim.from, to, this.fetcher)
    for (let row = claim.from; row < to; row++) {
      if (made !== undefined && made[row - claim.from] === 1) {
        this.good(slot, row)
        continue
      }
      if (this.ring.paused) return this.drop() // moved or closed: the rest is not wanted
      const pending = this.makeRow(claim, slot, row)
      if (pending) return this.makeRest(claim, slot, row, to, pending)
    }
    this.finish(claim, slot)
  }

  /** The same, from the first row on that has to wait for something. */
  private async makeRest(
    claim: Claim,
    slot: Slot,
    row: number,
    to: number,
    pending: Promise<void>,
  ): Promise<void> {
    await pending
    for (let next = row + 1; next < to; next++) {
      this.clock.resume()
      if (this.ring.paused) return this.drop()
      await this.makeRow(claim, slot, next)
    }
    this.clock.resume()
    this.finish(claim, slot)
  }

  /** When its latest claim ended, on the clock of `performance.now()`. Undefined: no spans are written. */
  get ended(): number | undefined {
    return this.spans && this.clock.last
  }

  close(): void {
    this.fetcher.close()
    this.functions.close()
  }

  // ---------------------------------------------------------------- a batch

  /** Fills in the header of a batch that begins. */
  private open(batch: number, slot: Slot): void {
    const step = this.steps().at(batch)
    slot.words[Header.Planned] = step.count
    slot.words[Header.Valid] = step.valid
    slot.stamps[Stamp.Epoch] = step.epoch
    slot.stamps[Stamp.Step] = step.stepInEpoch
    slot.stamps[Stamp.Position] = step.position
    slot.stamps[Stamp.NextEpoch] = step.nextState.epoch
    slot.stamps[Stamp.NextPosition] = step.nextState.position
  }

  /** The plan of steps since the ring was last moved. */
  private steps(): StepPlan {
    if (this.generation !== this.ring.generation) {
      this.generation = this.ring.generation
      const { epoch, position } = this.ring.startAt
      const { bins } = this.order
      const share: StepShare = { ...this.job.share, last: this.job.feed.batch.last, ...(bins && { bins }) }
      this.plan = stepPlan({ ...share, start: { epoch, position } })
    }
    return this.plan
  }

  /** Has the operators of the batch change its rows. Returns what is wrong with the batch as a whole, if anything. */
  private changeBatch(slot: Slot): string | undefined {
    const { work, job } = this
    const { feed, layout } = job
    for (const op of feed.batch.apply) {
      const key = operatorKey('batch', op.name, op.ordinal)
      const random = this.random.key(feed.seed, slot.stamps[Stamp.Epoch], slot.positions[0], key)
      const problem = operatorFacts(op.name).batch!.run(op, { feed, layout, slot, work, random })
      if (problem !== undefined) return problem
    }
    return undefined
  }

  private finish(claim: Claim, slot: Slot): void {
    const rows = Math.min(claim.to, slot.words[Header.Planned]) - claim.from
    const epoch = slot.stamps[Stamp.Epoch]
    // Before the batch is ready: the consumer of the last one may ask at once how much was read.
    const { bytesRead, reads } = this.fetcher.counts
    const bytes = bytesRead - this.booked
    this.clock.reads = reads - this.readsBooked
    this.readsBooked = reads
    this.ring.book(this.maker, bytes)
    this.booked = bytesRead
    if (this.ring.finish(claim, slot)) {
      markSpan(SpanKind.Transform)
      const problem =
        closeSlot(slot, this.work.u8, this.job.feed.onError.policy, this.move) ?? this.changeBatch(slot)
      if (problem !== undefined) {
        slot.words[Header.Bad] = Math.max(1, slot.words[Header.Bad])
        const where = { id: `batch ${claim.batch}`, stage: 'close' }
        this.reportBad(claim.batch, -1, { where, problem })
      }
      markSpan(SpanKind.Close)
      this.ring.publish(slot)
      if (this.job.ready !== undefined) signal(this.job.ready)
    } else {
      markSpan(SpanKind.Transform)
    }
    const { batch, from: firstRow } = claim
    this.spans?.addClaim(this.clock, { bytes, batch, firstRow, rows })
    this.drop()
    this.order.bins?.prepare(epoch + 1, this.maker)
  }

  /** Gives the claim back, and what it has of the cache. */
  private drop(): void {
    this.fetcher.release()
    this.ring.drop(this.maker)
  }

  // ---------------------------------------------------------------- rows

  /** Notes which samples the rows of the claim are, and tells the stores what a later claim will read. */
  private note(claim: Claim, slot: Slot, to: number): void {
    const step = this.steps().at(claim.batch)
    const { epoch } = step
    for (let row = claim.from; row < to; row++) {
      // Fillers (`last: pad`) are taken from the epoch's beginning. All of it is written anew in a batch that is begun
      // again: the maker that died while closing it may have moved rows.
      const position = row < step.valid ? step.first + row : step.filler(row)
      const draw = this.order.draw(epoch, position, this.draws[row - claim.from])
      slot.positions[row] = position
      slot.rows[row] = draw.row
      slot.sources[row] = draw.source
      this.enqueueRow(draw, epoch, position)
    }
    this.ring.at(this.maker, claim.from)
    if (this.ahead.slow) this.hint(claim)
    this.ahead.begin(claim.number)
  }

  /** Reads the bytes of the rows of the claim, merged. */
  private fetch(claim: Claim, to: number): Maybe<void> {
    const { epoch } = this.steps().at(claim.batch)
    const reading = (i: number): void => this.ring.at(this.maker, claim.from + i)
    return this.fetcher.fetch(this.draws, to - claim.from, epoch, reading, this.passed())
  }

  /** Tells the stores what a later claim will read, if the ring comes to it. */
  private hint(claim: Claim): void {
    const later = this.ahead.later(claim.number, this.ring)
    const rows = this.ahead.rowsOf(later, this.steps(), this.ring.startAt.limit, this.order)
    if (rows !== undefined) this.fetcher.hint(rows, this.ahead.timed(later.number))
  }

  /** The position of the feed, counted through all epochs, before which this ring needs nothing any more. */
  private passed(): number {
    if (this.job.cache === undefined) return 0
    const { epoch, from } = this.steps().at(this.ring.oldest)
    const { length, window = 1 } = this.order
    return epoch * length + from - (from % window)
  }

  private enqueueRow({ source, row }: Draw, epoch: number, position: number): void {
    const { seed } = this.job.feed
    this.sources[source].enqueueRow?.(
      row,
      this.fetcher.wanted(source),
      epoch,
      this.random.key(seed, epoch, position, SOURCE_KEY),
    )
  }

  private makeRow(claim: Claim, slot: Slot, row: number): void | Promise<void> {
    this.ring.at(this.maker, row)
    const draw = this.draws[row - claim.from]
    try {
      if (this.ring.poisoned(claim.batch, row))
        throw new Error('it ended two worker threads; look at its bytes and at your functions')
      const pending = this.samples.make(this.fetcher.sample(row - claim.from), slot, row, draw)
      if (pending)
        return pending.then(
          () => this.good(slot, row),
          error => this.bad(claim, slot, row, draw, error),
        )
      this.good(slot, row)
    } catch (error) {
      this.bad(claim, slot, row, draw, error)
    }
  }

  private good(slot: Slot, row: number): void {
    slot.status[row] = row < slot.words[Header.Valid] ? RowStatus.Good : RowStatus.Filler
  }

  private bad(claim: Claim, slot: Slot, row: number, draw: Draw, thrown: unknown): void {
    const error = asError(thrown)
    const changed = error instanceof ChangedError
    if (row >= slot.words[Header.Valid] && !changed) {
      this.blankFiller(slot, row)
      return
    }
    slot.status[row] = RowStatus.Bad
    Atomics.add(slot.words, Header.Bad, 1)
    // Data that changed underneath are no bad sample: as a fault of the whole batch they end the run, whatever the policy.
    if (changed) disownIndexOf(error)
    const bad = describeBad(this.sources[draw.source], draw.row, error, this.job.feed.fields, draw.epoch)
    this.reportBad(claim.batch, changed ? -1 : row, bad)
  }

  /** A filler that can't be made is a row of zeros. Its sample was judged where it came first in the epoch. */
  private blankFiller(slot: Slot, row: number): void {
    blankRow(slot, this.work.u8, row)
    slot.status[row] = RowStatus.Filler
  }

  private reportBad(batch: number, row: number, bad: ReturnType<typeof describeBad>): void {
    this.report({ ring: this.job.id, generation: this.ring.generation, batch, row, ...bad })
  }
}

/** Where a worker puts the spans of a job. Undefined: none are written of it. */
export function spansOf({ id, observe }: Job, lane: SpanLane | undefined): RingSpans | undefined {
  return observe === undefined ? undefined : lane?.of(id, observe)
}

function workspaceOf({ memory, workspaces: { at, bytes, count, limit } }: Job, maker: number): Workspace {
  return maker < count
    ? new Workspace(memory, at + maker * bytes, at + (maker + 1) * bytes, limit)
    : Workspace.behind(memory, bytes, limit)
}
