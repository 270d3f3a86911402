/**
 * Makes rows: the way of a sample, from its position to its place in the slot, read from top to bottom.
 *
 *   position ─ order ─► row of a source ─ fetch ─► bytes ─ sample ─► columns ─ programs ─► fields in the slot
 *
 * One RowMaker per maker thread and ring. It allocates next to nothing per row and never waits; only where
 * the feed calls functions of the user's may it be asynchronous.
 */

import { ChangedError } from '../../basics/errors.js'
import { hashText, operatorKey, Random } from '../../basics/random.js'
import { beginSpans, markSpan, SpanKind, type SpanLane } from '../../basics/spans.js'
import { blankRow, closeSlot, putVarying } from '../../batch/close.js'
import { type Claim, Ring } from '../../batch/ring.js'
import { Header, RowStatus, type Slot, Stamp } from '../../batch/slot.js'
import { columnsAreKnown } from '../../define/check/sources.js'
import { tooLong } from '../../define/limits.js'
import { type CompiledOrder, compileOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import { type StepPlan, type StepShare, stepPlan } from '../../order/steps.js'
import { disownIndexOf } from '../../source/index/trust.js'
import type { Column, Source } from '../../source/source.js'
import { Workspace } from '../../system/memory/workspace.js'
import { signal } from '../../system/process/pipe.js'
import type { RowContext } from '../../transform/field.js'
import { isGenerated } from '../plan/generate.js'
import type { BadReport, Job } from '../plan/job.js'
import { attachInOrder } from '../plan/plan.js'
import { describeBad, FieldFailure, fieldFailed } from './failures.js'
import { Fetcher } from './fetch.js'
import { boxesOf, type ColumnNames, type CompiledField, columnOf, compileFields } from './fields.js'
import { Future } from './future.js'
import { mixSlot } from './mix.js'
import type { UserFunctions } from './user-functions.js'

const SAMPLE_KEY = hashText('sample map')
const SOURCE_KEY = hashText('source')

export class RowMaker {
  readonly ring: Ring
  private readonly sources: Source[]
  private readonly order: CompiledOrder
  private readonly fetcher: Fetcher
  private readonly fields: CompiledField[]
  private readonly context: { -readonly [name in keyof RowContext]: RowContext[name] }
  private readonly random = new Random()
  private readonly draws: Draw[]
  private plan!: StepPlan
  private generation = -1
  /** Bytes read that the ring knows of. */
  private booked = 0
  /** Of the row being made, for its random keys. */
  private epoch = 0
  /** What it is made of. */
  private columns: Record<string, Column> = {}
  private drawn!: Draw
  private readonly columnNames: ColumnNames

  constructor(
    readonly job: Job,
    readonly maker: number,
    private readonly functions: UserFunctions,
    private readonly report: (bad: BadReport) => void,
    private readonly spans?: SpanLane,
    /** Of the one that this one takes the place of: the memory of a ring never shrinks. */
    readonly work: Workspace = workspaceOf(job, maker),
  ) {
    this.ring = new Ring(job.memory, job.layout, job.capacity)
    this.order = compileOrder(job.order)
    this.sources = attachInOrder(job.sources, this.order)
    // A function on the sample gets all of it; fields only need what they name.
    const made = job.feed.fields.filter((_, i) => !isGenerated(job.making[i]))
    const columns = functions.sample ? undefined : [...new Set(made.flatMap(field => field.from))]
    const cache = job.cache && { data: job.cache, future: new Future(this.order, this.sources) }
    this.fetcher = new Fetcher(this.sources, columns, maker, cache)
    this.fields = compileFields(job, functions)
    this.columnNames =
      functions.sample !== undefined ? 'made' : columnsAreKnown(job.feed.source) ? 'all' : 'some'
    this.draws = Array.from({ length: job.layout.chunkRows }, () => ({ source: 0, row: 0, drawn: 0 }))
    this.context = {
      work: this.work,
      position: 0,
      chosen: new Map(),
      boxes: name => {
        const field = this.fields.find(other => other.name === name)!
        const { source, row } = this.drawn
        const value = columnOf(field, this.columns, this.sources[source], row, this.columnNames)
        return boxesOf(field, value)
      },
      random: (field, op) =>
        this.random.key(
          job.feed.seed,
          this.epoch,
          this.context.position,
          operatorKey(field, op.name, op.ordinal),
        ),
    }
  }

  /** Makes the rows of a claim and gives the claim back. Returns a promise only where functions of the user's do. */
  make(claim: Claim): void | Promise<void> {
    const slot = this.ring.slotOf(claim, this.maker, opened => this.open(claim.batch, opened))
    if (slot === undefined) return this.ring.drop(this.maker)
    beginSpans()
    const to = Math.min(claim.to, slot.words[Header.Planned])
    this.fetch(claim, slot, to)
    markSpan(SpanKind.Read)
    for (let row = claim.from; row < to; row++) {
      if (this.ring.paused) return this.ring.drop(this.maker) // moved or closed: the rest is not wanted
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
      if (this.ring.paused) return this.ring.drop(this.maker)
      await this.makeRow(claim, slot, next)
    }
    this.finish(claim, slot)
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
      const share: StepShare = { ...this.job.share, last: this.job.feed.batch.last }
      this.plan = stepPlan({ ...share, start: { epoch, position } })
    }
    return this.plan
  }

  private finish(claim: Claim, slot: Slot): void {
    if (this.ring.finish(claim, slot)) {
      markSpan(SpanKind.Transform)
      const problem =
        closeSlot(slot, this.work.u8, this.job.feed.onError.policy) ??
        mixSlot(this.job, slot, this.work, this.random)
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
    this.spans?.write(claim.batch)
    const { bytesRead } = this.fetcher.counts
    this.ring.book(this.maker, bytesRead - this.booked)
    this.booked = bytesRead
    this.ring.drop(this.maker)
  }

  // ---------------------------------------------------------------- rows

  /** Notes which samples the rows of the claim are, and reads the bytes of all of them, merged. */
  private fetch(claim: Claim, slot: Slot, to: number): void {
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
      this.foresee(draw, epoch, position)
    }
    this.ring.at(this.maker, claim.from)
    this.fetcher.fetch(this.draws, to - claim.from, i => this.ring.at(this.maker, claim.from + i))
  }

  private foresee({ source, row }: Draw, epoch: number, position: number): void {
    const { seed } = this.job.feed
    this.sources[source].foresee?.(
      row,
      this.fetcher.wanted(source),
      epoch,
      this.random.key(seed, epoch, position, SOURCE_KEY),
    )
  }

  private makeRow(claim: Claim, slot: Slot, row: number): void | Promise<void> {
    this.ring.at(this.maker, row)
    this.epoch = slot.stamps[Stamp.Epoch]
    this.context.position = slot.positions[row]
    this.work.reset()
    const draw = this.draws[row - claim.from]
    try {
      if (this.ring.poisoned(claim.batch, row))
        throw new Error('it ended two worker threads; look at its bytes and at your functions')
      const columns = this.fetcher.sample(row - claim.from)
      const pending = this.functions.sample
        ? this.mapSample(columns, slot, row, draw)
        : this.makeFields(columns, slot, row, draw)
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

  private mapSample(
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    const mapped = this.functions.sample!(
      columns,
      this.random.key(this.job.feed.seed, this.epoch, this.context.position, SAMPLE_KEY),
    )
    if (!(mapped instanceof Promise)) return this.makeFields(mapped, slot, row, draw)
    return mapped.then(async result => {
      // The state of the row (this.columns, this.context) is still this row's: a maker makes one row at a time.
      await this.makeFields(result, slot, row, draw)
    })
  }

  private makeFields(
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    this.columns = columns
    this.drawn = draw
    for (let i = 0; i < this.fields.length; i++) {
      const pending = this.makeField(this.fields[i], columns, slot, row, draw)
      if (pending) return this.makeFieldsLater(i + 1, pending, columns, slot, row, draw)
    }
  }

  private async makeFieldsLater(
    next: number,
    pending: Promise<void>,
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): Promise<void> {
    await pending
    for (let i = next; i < this.fields.length; i++)
      await this.makeField(this.fields[i], columns, slot, row, draw)
  }

  private makeField(
    field: CompiledField,
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    const value = columnOf(field, columns, this.sources[draw.source], draw.row, this.columnNames)
    const place = this.job.layout.fields[field.index]
    const { program } = field
    try {
      if (program.form === 'dense') {
        const pending = program.run(value, slot.at + place.at + row * place.unitBytes, this.context)
        return pending instanceof Promise ? pending.catch(error => fieldFailed(field.name, error)) : undefined
      }
      const result = program.run(value, this.context)
      if (result instanceof Promise) {
        return result.then(
          ({ at, length }) => this.put(field, slot, row, at, length),
          error => fieldFailed(field.name, error),
        )
      }
      this.put(field, slot, row, result.at, result.length)
    } catch (error) {
      fieldFailed(field.name, error)
    }
  }

  /** Puts a row of varying length into its place. */
  private put(field: CompiledField, slot: Slot, row: number, at: number, length: number): void {
    const place = this.job.layout.fields[field.index]
    const most = place.each ?? place.max!
    if (length > most) throw new FieldFailure(field.name, tooLong(length, most, place.each && place.max))
    putVarying(slot, this.work.u8, field.index, row, at, length)
  }

  private good(slot: Slot, row: number): void {
    slot.status[row] = row < slot.words[Header.Valid] ? RowStatus.Good : RowStatus.Filler
  }

  private bad(claim: Claim, slot: Slot, row: number, draw: Draw, error: unknown): void {
    const changed = error instanceof ChangedError
    if (row >= slot.words[Header.Valid] && !changed) {
      this.blankFiller(slot, row)
      return
    }
    slot.status[row] = RowStatus.Bad
    Atomics.add(slot.words, Header.Bad, 1)
    // Data that changed underneath are no bad sample: as a fault of the whole batch they end the run, whatever the policy.
    if (changed) disownIndexOf(error)
    const bad = describeBad(this.sources[draw.source], draw.row, error)
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

function workspaceOf({ memory, workspaces: { at, bytes, count, limit } }: Job, maker: number): Workspace {
  return maker < count
    ? new Workspace(memory, at + maker * bytes, at + (maker + 1) * bytes, limit)
    : Workspace.behind(memory, bytes, limit)
}
