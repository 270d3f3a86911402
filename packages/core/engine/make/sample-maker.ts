/**
 * Makes one sample: from its columns to its fields in the slot.
 *
 *   columns ─ the feed's function, if any ─► columns ─ one program a field ─► row of the slot
 *
 * One a worker and ring, since its context is changed from row to row: it makes one sample at a time.
 */

import { isRead, isTiled } from '../../basics/array.js'
import { landed } from '../../basics/plain-array.js'
import { hashText, operatorKey, Random } from '../../basics/random.js'
import { putVarying } from '../../batch/close.js'
import { takeRoom } from '../../batch/room.js'
import { type Slot, Stamp } from '../../batch/slot.js'
import { columnsAreKnown } from '../../define/check/sources.js'
import { tooLong } from '../../define/limits.js'
import type { Draw } from '../../order/order.js'
import type { ArrayColumn, Column, Source } from '../../source/source.js'
import type { SpanClock } from '../../spans/clock.js'
import type { Workspace } from '../../system/memory/workspace.js'
import type { Job } from '../plan/job.js'
import { type DirectRows, directRowsOf } from './direct-rows.js'
import { FieldFailure, fieldFailed } from './failures.js'
import { type ColumnNames, type CompiledField, columnOf, compileFields } from './fields.js'
import type { RowContext, WideProgram } from './program.js'
import type { SampleFunction, UserFunctions } from './user-functions.js'

const SAMPLE_KEY = hashText('sample map')

export class SampleMaker {
  private readonly fields: CompiledField[]
  private readonly columnNames: ColumnNames
  private readonly context: { -readonly [name in keyof RowContext]: RowContext[name] }
  private readonly random = new Random()
  /** The sample being made: its epoch, for its random keys, what it is made of, and which it is. */
  private epoch = 0
  private columns: Record<string, Column> = {}
  private drawn!: Draw
  /** The field of varying length that is being made, its row, and where that lies if it took room in the slot. */
  private slot!: Slot
  private row = 0
  private index = 0
  private taken: number | undefined

  constructor(
    private readonly job: Job,
    private readonly functions: UserFunctions,
    private readonly sources: readonly Source[],
    private readonly work: Workspace,
    private readonly clock: SpanClock,
    private readonly read?: RowContext['read'],
  ) {
    this.fields = compileFields(job, functions)
    this.columnNames =
      functions.sample !== undefined ? 'made' : columnsAreKnown(job.feed.source) ? 'all' : 'some'
    this.context = {
      work,
      position: 0,
      chosen: new Map(),
      other: (name, use) => {
        const field = this.fields.find(other => other.name === name)!
        const { source, row } = this.drawn
        const value = columnOf(field, this.columns, this.sources[source], row, this.columnNames)
        try {
          return use(value)
        } catch (error) {
          fieldFailed(name, error)
        }
      },
      random: (field, op) => this.keyed(operatorKey(field, op.name, op.ordinal)),
      room: length => (this.taken = takeRoom(this.slot, this.index, this.row, length)),
      ...(read && { read }),
    }
  }

  /** Makes rows straight from these columns of units, where all fields can be made so. */
  directRows(columns: readonly string[]): DirectRows | undefined {
    return directRowsOf(this.job.layout, this.fields, columns, this.context)
  }

  /** Throws, or rejects, with what is wrong with the sample. A promise only where functions of the user's return one. */
  make(columns: Record<string, Column>, slot: Slot, row: number, draw: Draw): void | Promise<void> {
    this.epoch = slot.stamps[Stamp.Epoch]
    this.context.position = slot.positions[row]
    this.work.reset()
    const { sample } = this.functions
    if (sample === undefined) return this.makeFields(columns, slot, row, draw)
    const whole = landedColumns(columns, this.read)
    if (whole instanceof Promise)
      return whole.then(all => this.makeMapped(sample(all, this.keyed(SAMPLE_KEY)), slot, row, draw))
    return this.makeMapped(sample(whole, this.keyed(SAMPLE_KEY)), slot, row, draw)
  }

  private makeMapped(
    mapped: ReturnType<SampleFunction>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    if (!(mapped instanceof Promise)) return this.makeFields(mapped, slot, row, draw)
    return mapped.then(result => this.makeFields(result, slot, row, draw))
  }

  /** The random numbers of a function or an operator, for this sample. */
  private keyed(key: number): Random {
    return this.random.key(this.job.feed.seed, this.epoch, this.context.position, key)
  }

  private makeFields(
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    this.clock.resume()
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
    for (let i = next; i < this.fields.length; i++) {
      this.clock.resume()
      await this.makeField(this.fields[i], columns, slot, row, draw)
    }
  }

  private makeField(
    field: CompiledField,
    columns: Record<string, Column>,
    slot: Slot,
    row: number,
    draw: Draw,
  ): void | Promise<void> {
    const place = this.job.layout.fields[field.index]
    const { program } = field
    if (program.form === 'wide')
      return this.makeWide(field.name, program, columns, slot.at + place.at + row * place.unitBytes)
    const value = columnOf(field, columns, this.sources[draw.source], draw.row, this.columnNames)
    if (value === undefined) return this.makeMissing(field, slot, row)
    try {
      if (program.form === 'dense') {
        const pending = program.run(value, slot.at + place.at + row * place.unitBytes, this.context)
        return pending instanceof Promise ? pending.catch(error => fieldFailed(field.name, error)) : undefined
      }
      this.slot = slot
      this.row = row
      this.index = field.index
      this.taken = undefined
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

  /** A field of many columns. */
  private makeWide(
    name: string,
    program: WideProgram,
    columns: Record<string, Column>,
    at: number,
  ): void | Promise<void> {
    try {
      const pending = program.run(columns, at, this.context)
      return pending instanceof Promise ? pending.catch(error => fieldFailed(name, error)) : undefined
    } catch (error) {
      fieldFailed(name, error)
    }
  }

  /** What stands for a value that the sample lacks. */
  private makeMissing(field: CompiledField, slot: Slot, row: number): void {
    const place = this.job.layout.fields[field.index]
    const { program } = field
    if (program.form === 'dense') program.missing!(slot.at + place.at + row * place.unitBytes, this.context)
    else if (program.form === 'varying') {
      this.taken = undefined
      const { at, length } = program.missing!(this.context)
      this.put(field, slot, row, at, length)
    }
  }

  /** Puts a row of varying length into its place. */
  private put(field: CompiledField, slot: Slot, row: number, at: number, length: number): void {
    if (at === this.taken) return
    const place = this.job.layout.fields[field.index]
    const most = place.each ?? place.max!
    if (length > most) throw new FieldFailure(field.name, tooLong(length, most, place.each && place.max))
    putVarying(slot, this.work.u8, field.index, row, at, length)
  }
}

/** A function over the sample gets arrays with all of their bytes. */
function landedColumns(
  columns: Record<string, Column>,
  read: RowContext['read'],
): Record<string, Column> | Promise<Record<string, Column>> {
  const unread = Object.entries(columns).filter(([, value]) => isTiled(value) && !isRead(value))
  if (unread.length === 0) return columns
  const arrays = unread.map(
    ([, value]) => landed(value as ArrayColumn, read) as ArrayColumn | Promise<ArrayColumn>,
  )
  const withThem = (all: readonly ArrayColumn[]): Record<string, Column> => ({
    ...columns,
    ...Object.fromEntries(unread.map(([name], i) => [name, all[i]])),
  })
  return arrays.some(array => array instanceof Promise)
    ? Promise.all(arrays).then(withThem)
    : withThem(arrays as ArrayColumn[])
}
