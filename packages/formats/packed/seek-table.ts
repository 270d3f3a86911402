/**
 * The seek table of a file that is compressed as a whole: units of rows that are decompressed together. Decompression can begin at points
 * only: at a frame of zstd, at a deflate block of gzip and zlib, with the 32 KiB before it. A unit has the rows that begin between a point and
 * the next. Its last row may reach beyond that, so it ends at the first border (of a block or frame) behind the row.
 *
 *   unit.row     its first row           unit.made    its offset in what the file decompresses to
 *   unit.bit     the bit of its point    unit.bytes   the bytes that it decompresses to
 *   unit.end     the byte of the file    unit.window  deflate: what comes before
 *                at which it ends
 */
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'

/** Decompressed bytes from one point to the next: a window of deflate adds 1.6 %. */
const SPACING = 2 << 20
/** Decompressed bytes from one border that is kept to the next. */
const BORDERS = 16 << 10
/** Frames of a unit: so many small ones would be slow, and are refused by the decompressor. */
const MOST_FRAMES = 400

export const UNIT_COLUMNS = ['unit.row', 'unit.bit', 'unit.made', 'unit.end', 'unit.bytes', 'unit.window']

/** Places in the file, by bit, and in what it decompresses to. */
class Places {
  readonly bits = new NumberBuilder()
  readonly made = new NumberBuilder()

  get length(): number {
    return this.bits.length
  }

  push(bit: number, made: number): void {
    this.bits.push(bit)
    this.made.push(made)
  }

  /** Decompressed bytes between the last one and `made`. */
  since(made: number): number {
    return this.length === 0 ? Infinity : made - this.made.at(this.length - 1)
  }
}

export class SeekTable {
  private readonly points = new Places()
  private readonly borders = new Places()
  private readonly windows = new TextBuilder()
  private frames = 0

  /** A block or frame begins here. */
  add(bit: number, made: number, window?: () => Uint8Array): void {
    const many = ++this.frames >= MOST_FRAMES && window === undefined
    if (this.borders.since(made) >= BORDERS || (many && this.borders.since(made) > 0))
      this.borders.push(bit, made)
    if (this.points.since(made) < SPACING && !(many && this.points.since(made) > 0)) return
    this.points.push(bit, made)
    this.windows.pushBytes(window?.() ?? new Uint8Array(0))
    this.frames = 0
  }

  /** The columns of the index, for rows with these starts; the file ends at byte `bytes`. */
  columns(starts: NumberBuilder, bytes: number): Record<string, ColumnBuilder> {
    const count = starts.length - 1
    const text = starts.at(count)
    const [row, bit, made, end, size] = Array.from({ length: 5 }, () => new NumberBuilder())
    const window = new TextBuilder()
    const windows = [...this.windowsOf()]
    const { points, borders } = this
    let border = 0
    for (let point = 0, first = 0; point < points.length && first < count; point++) {
      const limit = point + 1 < points.length ? points.made.at(point + 1) : Infinity
      if (starts.at(first) >= limit) continue
      let next = first
      while (next < count && starts.at(next) < limit) next++
      const reach = starts.at(next)
      while (border < borders.length && borders.made.at(border) < reach) border++
      const last = border === borders.length
      row.push(first)
      bit.push(points.bits.at(point))
      made.push(points.made.at(point))
      end.push(last ? bytes : Math.ceil(borders.bits.at(border) / 8))
      size.push((last ? text : borders.made.at(border)) - points.made.at(point))
      window.pushBytes(windows[point])
      first = next
    }
    return Object.fromEntries(UNIT_COLUMNS.map((name, i) => [name, [row, bit, made, end, size, window][i]]))
  }

  private *windowsOf(): Generator<Uint8Array> {
    const all = Buffer.concat([...this.windows.pieces()])
    for (let i = 0; i < this.windows.length; i++)
      yield all.subarray(this.windows.offsets.at(i), this.windows.offsets.at(i + 1))
  }
}
