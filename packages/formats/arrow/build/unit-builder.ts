/**
 * Makes the table of units while a file is indexed. A batch is a unit. A large one that is not compressed is divided into
 * parts of some 512 KiB: its buffers can be read from any row on. Where parts begin follows from the batch alone.
 */
import { inFile, type SourceError } from '../../../core/basics/errors.js'
import { NumberBuilder } from '../../../core/source/index/columns.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { type Batch, bytesOf } from '../metadata/message.js'
import type { Field } from '../metadata/schema.js'
import { CODECS, type UnitColumns } from '../units.js'

/** A batch with more bytes than this is divided, into parts of about PART bytes. */
const LARGE = 1 << 20
const PART = 512 << 10
/** Parts begin at multiples of so many rows: whole bytes of bits, and whole cache lines of values. */
const ROW_STEP = 64
/** No codec packs more tightly: zstd has 128 KiB for 4 bytes at best. */
const TIGHTEST = 40_000

export class UnitBuilder {
  /** First row of each unit; `finish` adds the end. */
  readonly start = new NumberBuilder()
  readonly columns = {
    codec: new NumberBuilder(),
    sliced: new NumberBuilder(),
    length: new NumberBuilder(),
    nulls: new NumberBuilder(),
    bit: new NumberBuilder(),
    first: new NumberBuilder(),
    more: new NumberBuilder(),
    offset: new NumberBuilder(),
    size: new NumberBuilder(),
    raw: new NumberBuilder(),
  } satisfies UnitColumns
  rows = 0

  constructor(
    private readonly file: string,
    private readonly read: ReadAt,
    private readonly fields: readonly Field[],
    /** Nodes that units are needed for. */
    private readonly needed: ReadonlySet<number>,
  ) {}

  get count(): number {
    return this.start.length
  }

  async add(batch: Batch): Promise<void> {
    const step = this.rowsOfPart(batch)
    for (let from = 0; from < batch.rows; from += step) {
      const to = Math.min(batch.rows, from + step)
      this.start.push(this.rows + from)
      this.columns.codec.push(CODECS.indexOf(batch.codec))
      this.columns.sliced.push(step < batch.rows ? 1 : 0)
      for (const field of this.fields) await this.field(field, batch, from, to, step >= batch.rows)
    }
    this.rows += batch.rows
  }

  finish(): void {
    this.start.push(this.rows)
  }

  private rowsOfPart(batch: Batch): number {
    if (batch.codec !== 'none') return batch.rows
    let bytes = 0
    let views = false
    const add = (field: Field): void => {
      if (this.needed.has(field.node)) {
        views ||= field.form === 'view'
        for (let k = 0; k < field.buffers; k++) bytes += batch.size[batch.first[field.node] + k]
      }
      field.children.forEach(add)
    }
    this.fields.forEach(add)
    if (bytes <= LARGE || views) return batch.rows
    const rows = (PART / bytes) * batch.rows
    return Math.max(ROW_STEP, Math.floor(rows / ROW_STEP) * ROW_STEP)
  }

  /** Values from…to−1 of a field, and of all below it. Its node is the next one. */
  private async field(field: Field, batch: Batch, from: number, to: number, whole: boolean): Promise<void> {
    const { columns } = this
    const { node, form, size } = field
    const needed = this.needed.has(node)
    const length = needed ? (whole ? batch.lengths[node] : to - from) : 0
    columns.length.push(length)
    columns.nulls.push(needed ? batch.nulls[node] : 0)
    columns.bit.push(whole || !needed ? 0 : from % 8)
    columns.first.push(columns.offset.length)
    columns.more.push(needed ? batch.more[node] : 0)
    const below = needed ? await this.buffers(field, batch, from, to, whole) : [0, 0]
    const [first, end] = form === 'struct' ? [from, to] : form === 'array' ? [from * size, to * size] : below
    for (const child of field.children) await this.field(child, batch, first, end, whole)
  }

  /** Adds the buffers of a field. Gives the elements that a list has from its first row to its last. */
  private async buffers(
    field: Field,
    batch: Batch,
    from: number,
    to: number,
    whole: boolean,
  ): Promise<[number, number]> {
    const { node, form, width } = field
    const first = batch.first[node]
    if (whole) {
      for (let k = 0; k < field.buffers + batch.more[node]; k++) await this.whole(field, batch, first + k, k)
      return [0, form === 'list' ? 0 : to]
    }
    const offsets = form === 'list' || form === 'varying'
    const bits = [Math.floor(from / 8), Math.ceil(to / 8)]
    if (field.buffers > 0) this.slice(batch, first, bits[0], Math.min(bits[1], batch.size[first]))
    if (form === 'bool') this.slice(batch, first + 1, bits[0], bits[1])
    else if (form === 'fixed' || form === 'view') this.slice(batch, first + 1, from * width, to * width)
    else if (offsets) this.slice(batch, first + 1, from * width, (to + 1) * width)
    if (!offsets) return [0, 0]
    const [begin, end] = [
      await this.offset(batch, first + 1, width, from),
      await this.offset(batch, first + 1, width, to),
    ]
    const most = form === 'list' ? batch.lengths[field.children[0].node] : batch.size[first + 2]
    if (!(begin >= 0 && begin <= end && end <= most)) throw this.badOffsets(field, batch, begin, end, most)
    if (form === 'varying') this.slice(batch, first + 2, begin, end)
    return [begin, end]
  }

  private slice(batch: Batch, buffer: number, from: number, to: number): void {
    this.push(batch.at[buffer] + from, Math.max(0, to - from), -1)
  }

  private push(offset: number, size: number, raw: number): void {
    this.columns.offset.push(offset)
    this.columns.size.push(size)
    this.columns.raw.push(raw)
  }

  /** A whole buffer. Compressed ones begin with i64, the bytes that they unpack to; −1: they are not compressed. */
  private async whole(field: Field, batch: Batch, buffer: number, k: number): Promise<void> {
    const [at, size] = [batch.at[buffer], batch.size[buffer]]
    if (batch.codec === 'none' || size === 0) return this.push(at, size, -1)
    const raw = size < 8 ? -2 : await this.number(at, 8)
    const wanted = k === 1 ? bytesOf(field, batch.lengths[field.node]) : 0
    const enough = (raw < 0 ? size - 8 : raw) >= wanted
    if (raw < -1 || raw > (size - 8) * TIGHTEST || !enough)
      throw inFile(
        this.file,
        `: the buffer at offset ${at} of column "${field.name}" has ${size} bytes and says that it unpacks to ${raw}: ` +
          'it is damaged: write the file again',
        { offset: at },
      )
    this.push(at + 8, size - 8, raw)
  }

  private offset(batch: Batch, buffer: number, width: number, i: number): Promise<number> {
    return this.number(batch.at[buffer] + i * width, width)
  }

  private async number(at: number, width: number): Promise<number> {
    const into = Buffer.allocUnsafe(width)
    await this.read(into, at)
    return width === 4 ? into.readInt32LE(0) : into.readInt32LE(4) * 2 ** 32 + into.readUInt32LE(0)
  }

  private badOffsets(field: Field, batch: Batch, begin: number, end: number, most: number): SourceError {
    const offset = batch.at[batch.first[field.node] + 1]
    return inFile(
      this.file,
      `: column "${field.name}" has offsets ${begin} to ${end} of ${most}, at offset ${offset}: they are damaged: ` +
        'write the file again',
      { offset },
    )
  }
}
