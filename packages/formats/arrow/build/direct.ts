/**
 * Columns whose values are large: pictures, sound, long lists. Each value is read by a range of its own, as a member of a tar
 * shard is, and needs no unit. Where it lies is found while the file is indexed.
 */
import { inFile, type SourceError } from '../../../core/basics/errors.js'
import { NumberBuilder } from '../../../core/source/index/columns.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { type ArrowColumn, elementsOf } from '../columns.js'
import type { Batch } from '../metadata/message.js'
import type { Field } from '../metadata/schema.js'

/** Values of so many bytes, on average of a file, are read one by one. */
const LARGE_VALUE = 4096
/** Offsets that are read at a time, in one level of lists. */
const MOST_OFFSETS = 1 << 18
/** Rows whose offsets are read at a time. */
const ROWS = 1 << 16

/** In place of a size: the row is null; its lists are of different lengths. */
export const NULL_VALUE = -1
export const UNEVEN = -2

/** Whether the values of a column are large, in all batches, and lie there as they are. */
export function isDirect(column: ArrowColumn, batches: readonly Batch[]): boolean {
  const { lists, elements } = elementsOf(column.field)
  const { form, items, dictionary, width } = elements
  if (!['array', 'bytes', 'text'].includes(column.kind) || dictionary !== undefined || items === 'decimal')
    return false
  if (form !== 'varying' && form !== 'fixed') return false
  let rows = 0
  let bytes = 0
  for (const batch of batches) {
    if (batch.codec !== 'none') return false
    // Nulls within lists have to be looked at.
    if (lists.length > 0 && [...lists.slice(1), elements].some(({ node }) => batch.nulls[node] !== 0))
      return false
    rows += batch.rows
    bytes +=
      form === 'varying' ? batch.size[batch.first[elements.node] + 2] : batch.lengths[elements.node] * width
  }
  return rows > 0 && bytes / rows >= LARGE_VALUE
}

/** Where the values of a column lie: offset and bytes of each, and of lists of lists their lengths. */
export class DirectBuilder {
  readonly at = new NumberBuilder()
  readonly size = new NumberBuilder()
  /** All but the innermost, whose length follows. */
  readonly dims: NumberBuilder[]
  private readonly lists: Field[]
  private readonly elements: Field
  private readonly width: number

  constructor(
    private readonly column: ArrowColumn,
    private readonly file: string,
    private readonly read: ReadAt,
  ) {
    const { lists, elements } = elementsOf(column.field)
    this.lists = lists
    this.elements = elements
    this.width = elements.form === 'varying' ? 1 : elements.width
    this.dims = lists.slice(1).map(() => new NumberBuilder())
  }

  async add(batch: Batch): Promise<void> {
    for (let from = 0; from < batch.rows; from += ROWS) {
      const to = Math.min(batch.rows, from + ROWS)
      const nulls = await this.nulls(batch, from, to)
      await this.rows(batch, from, to, row => nulls[row - from] === 1)
    }
  }

  private async rows(
    batch: Batch,
    from: number,
    to: number,
    isNull: (row: number) => boolean,
  ): Promise<void> {
    const levels = await this.levels(batch, from, to)
    if (levels === undefined) {
      const middle = (from + to) >>> 1
      await this.rows(batch, from, middle, isNull)
      return this.rows(batch, middle, to, isNull)
    }
    const buffer = batch.first[this.elements.node] + (this.elements.form === 'varying' ? 2 : 1)
    for (let row = from; row < to; row++) this.row(row, batch.at[buffer], levels, isNull(row))
  }

  private row(row: number, base: number, levels: readonly Level[], isNull: boolean): void {
    let [from, to] = [row, row + 1]
    let uneven = false
    const shape: number[] = []
    for (const level of levels) {
      const count = to - from
      const [first, length] = [level.at(from), count === 0 ? 0 : level.at(from + 1) - level.at(from)]
      const end = level.at(to)
      if (!level.even) for (let i = from + 1; i < to; i++) uneven ||= level.at(i + 1) - level.at(i) !== length
      shape.push(length)
      ;[from, to] = [first, end]
    }
    this.at.push(base + from * this.width)
    this.size.push(isNull ? NULL_VALUE : uneven ? UNEVEN : (to - from) * this.width)
    for (const [k, dim] of this.dims.entries()) dim.push(isNull ? 0 : shape[k])
  }

  /** The offsets of rows from…to−1, level by level; undefined: there are too many to be read at once. */
  private async levels(batch: Batch, from: number, to: number): Promise<Level[] | undefined> {
    const levels: Level[] = []
    let [begin, end] = [from, to]
    for (const field of this.elements.form === 'varying' ? [...this.lists, this.elements] : this.lists) {
      if (field.form === 'array') {
        const { size } = field
        levels.push({ even: true, at: i => i * size })
        ;[begin, end] = [begin * size, end * size]
        continue
      }
      if (end - begin > MOST_OFFSETS && to - from > 1) return undefined
      const level = await this.offsets(batch, field, begin, end)
      levels.push(level)
      ;[begin, end] = [level.at(begin), level.at(end)]
    }
    return levels
  }

  private async offsets(batch: Batch, field: Field, begin: number, end: number): Promise<Level> {
    const buffer = batch.first[field.node] + 1
    const { width } = field
    const most = field.form === 'list' ? batch.lengths[field.children[0].node] : batch.size[buffer + 1]
    if (end > batch.lengths[field.node]) throw this.damaged(field, batch.at[buffer])
    // A column without values may have no offsets.
    if (batch.size[buffer] === 0) return { even: false, at: () => 0 }
    const bytes = await this.bytes(batch.at[buffer] + begin * width, (end - begin + 1) * width)
    const at = (i: number): number => {
      const k = (i - begin) * width
      return width === 4 ? bytes.readInt32LE(k) : bytes.readInt32LE(k + 4) * 2 ** 32 + bytes.readUInt32LE(k)
    }
    let last = 0
    for (let i = begin; i <= end; i++) {
      const offset = at(i)
      if (!(offset >= last && offset <= most)) throw this.damaged(field, batch.at[buffer] + i * width)
      last = offset
    }
    return { even: false, at }
  }

  /** For each row 1 where it, or a struct around it, is null. */
  private async nulls(batch: Batch, from: number, to: number): Promise<Uint8Array> {
    const nulls = new Uint8Array(to - from)
    for (const { node } of [...this.column.within, this.column.field]) {
      const buffer = batch.first[node]
      if (batch.nulls[node] === 0 || batch.size[buffer] === 0) continue
      const begin = Math.floor(from / 8)
      const bits = await this.bytes(batch.at[buffer] + begin, Math.ceil(to / 8) - begin)
      for (let row = from; row < to; row++)
        if ((bits[(row >> 3) - begin] & (1 << (row & 7))) === 0) nulls[row - from] = 1
    }
    return nulls
  }

  private async bytes(offset: number, length: number): Promise<Buffer> {
    const into = Buffer.allocUnsafeSlow(length)
    await this.read(into, offset)
    return into
  }

  private damaged(field: Field, offset: number): SourceError {
    return inFile(
      this.file,
      `: the offsets of column "${this.column.name}" (${field.type}) at offset ${offset} are damaged: write the file again`,
      { offset },
    )
  }
}

/** Offsets of one level: where the elements of value i begin, and where those of i − 1 end. */
interface Level {
  at(i: number): number
  /** All values have one length. */
  even: boolean
}
