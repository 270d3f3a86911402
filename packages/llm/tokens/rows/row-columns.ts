/**
 * The columns of a row, from its stretches and their bytes. Rows of one piece are views of the bytes that were read; others are
 * put together here. (The engine mostly makes rows without this: see token-rows.ts.)
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { TokenShape } from '../../../core/define/check/tokens/fields.js'
import type { TokenColumn } from '../../../core/define/token-types.js'
import type { ArrayColumn, Column, Columns, Tile } from '../../../core/source/source.js'
import { TOKEN_BYTES, type TokenDtype } from '../formats/token-file.js'
import type { Stretches } from '../token-rows.js'
import type { Segments } from './segments.js'

/** The target of a place that has none: PyTorch's ignore_index. */
const NO_TARGET = -100

/** Batches hold tokens in signed integers of 32 bits or more. */
const MOST_TOKENS = 2 ** 31

/** The file of a stretch that stands in no file: one token, `offset`, that is put in. */
export const INSERTED = -1

/** What was brought for a row: the bytes of its stretches, and of their masks; nothing for what is put in. */
export interface RowBytes {
  tokens: readonly (Uint8Array | undefined)[]
  mask?: readonly (Uint8Array | undefined)[]
}

const READ: Readonly<Record<TokenDtype, (view: DataView, at: number) => number>> = {
  u8: (view, at) => view.getUint8(at),
  u16: (view, at) => view.getUint16(at, true),
  u32: (view, at) => view.getUint32(at, true),
  i32: (view, at) => view.getInt32(at, true),
  i64: (view, at) => Number(view.getBigInt64(at, true)),
}

export class RowColumns {
  private readonly bytes: number
  /** Whether tokens are looked at: there is a vocabulary, or their type holds numbers that are no tokens. */
  private readonly checks: boolean

  constructor(
    private readonly shape: TokenShape,
    private readonly dtype: TokenDtype,
    private readonly pad: number,
    /** model: the first token of a piece is no target. */
    private readonly maskFirst: boolean,
    /** Tokens from here on are errors. */
    private readonly vocabulary: number | undefined,
  ) {
    this.bytes = TOKEN_BYTES[dtype]
    this.checks = vocabulary !== undefined || TOKEN_BYTES[dtype] > 2
  }

  /** Some of the columns. `segments` is asked for where they need it. */
  make(
    columns: readonly (readonly [string, TokenColumn])[],
    row: Stretches,
    got: RowBytes,
    segments: () => Segments,
    named: (stretch: number, token: number) => string,
  ): Columns {
    const out: Columns = {}
    if (this.checks) this.check(row, got, named)
    let values: Values | undefined
    const whole = this.isWhole(row, got)
    for (const [name, column] of columns) {
      switch (column) {
        case 'input':
        case 'tokens':
          out[name] = whole ? this.view(row, got, 0) : array((values ??= this.values(row, got)).input)
          break
        case 'target':
          out[name] = whole ? this.view(row, got, 1) : array((values ??= this.values(row, got)).target)
          break
        case 'labels':
          out[name] =
            whole && !this.maskFirst
              ? this.view(row, got, 0)
              : array((values ??= this.values(row, got)).target)
          break
        case 'lossMask':
          out[name] = this.lossMask(whole, () => (values ??= this.values(row, got)))
          break
        default:
          out[name] = segmentColumn(column, segments(), this.shape)
      }
    }
    return out
  }

  /** Whether the row is one piece that fills it, and each of its places has a target. */
  private isWhole(row: Stretches, { mask }: RowBytes): boolean {
    if (mask !== undefined || row.count === 0 || this.shape.ragged) return false
    for (let i = 1; i < row.count; i++) if (row.joined[i] === 0) return false
    for (let i = 0; i < row.count; i++) if (row.file[i] === INSERTED) return false
    const last = row.count - 1
    return row.place[last] + row.tokens[last] === this.shape.length + this.extra
  }

  private get extra(): number {
    return this.shape.shift === 'here' ? 1 : 0
  }

  /** The row's tokens from its `skip`-th on. */
  private view(row: Stretches, { tokens }: RowBytes, skip: number): ArrayColumn {
    const { length } = this.shape
    const tiles: Tile[] = []
    for (let i = 0; i < row.count; i++) {
      const from = Math.max(0, row.place[i] - skip)
      const to = Math.min(length, row.place[i] + row.tokens[i] - skip)
      if (to <= from) continue
      const first = from + skip - row.place[i]
      const data = tokens[i]!.subarray(first * this.bytes, (first + to - from) * this.bytes)
      tiles.push(to - from === length ? { data } : { data, at: [from], shape: [to - from] })
    }
    return { dtype: this.dtype, shape: [length], tiles }
  }

  private values(row: Stretches, got: RowBytes): Values {
    const { extra, pad } = this
    const filled = filledPlaces(row, extra)
    const length = this.shape.ragged ? filled : this.shape.length
    const input = new Int32Array(length).fill(pad)
    const target = new Int32Array(length).fill(NO_TARGET)
    const read = READ[this.dtype]
    let start = 0
    for (let i = 0; i < row.count; i++) {
      const place = row.place[i]
      if (row.joined[i] === 0) start = place
      const endsPiece = i + 1 === row.count || row.joined[i + 1] === 0
      const inputs = row.tokens[i] - (endsPiece ? extra : 0)
      const bytes = got.tokens[i]
      const mask = got.mask?.[i]
      const view = bytes && new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      for (let j = 0; j < row.tokens[i]; j++) {
        const token = view === undefined ? row.offset[i] : read(view, j * this.bytes)
        if (j < inputs) input[place + j] = token
        const at = place + j - extra
        const first = place + j === start
        const counts = mask === undefined || mask[j] !== 0
        if (counts && (extra === 1 ? !first : !(first && this.maskFirst))) target[at] = token
      }
    }
    return { input, target }
  }

  private lossMask(whole: boolean, values: () => Values): ArrayColumn {
    if (whole && !this.maskFirst) return array(new Uint8Array(this.shape.length).fill(1), 'bool')
    return array(
      Uint8Array.from(values().target, token => (token === NO_TARGET ? 0 : 1)),
      'bool',
    )
  }

  private check(
    row: Stretches,
    { tokens }: RowBytes,
    named: (stretch: number, token: number) => string,
  ): void {
    const read = READ[this.dtype]
    const limit = this.vocabulary ?? MOST_TOKENS
    for (let i = 0; i < row.count; i++) {
      const bytes = tokens[i]
      if (bytes === undefined) continue
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      for (let j = 0; j < row.tokens[i]; j++) {
        const token = read(view, j * this.bytes)
        if (token >= 0 && token < limit) continue
        const why =
          this.vocabulary === undefined
            ? 'which is no token'
            : `and the vocabulary has ${this.vocabulary} tokens: the file was made with another tokenizer`
        throw new DecodeError(`${named(i, j)} is ${token}, ${why}; is it of another dtype, or damaged?`)
      }
    }
  }
}

interface Values {
  input: Int32Array
  /** Or labels. */
  target: Int32Array
}

/** Places of a row that pieces fill. */
export function filledPlaces({ count, place, tokens }: Stretches, extra: number): number {
  return count === 0 ? 0 : place[count - 1] + tokens[count - 1] - extra
}

function array(values: Int32Array | Uint8Array, dtype: 'i32' | 'u8' | 'bool' = 'i32'): ArrayColumn {
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return { dtype, shape: [values.length], tiles: [{ data }] }
}

/** A column that follows from the borders of segments alone. */
function segmentColumn(column: TokenColumn, segments: Segments, shape: TokenShape): Column {
  switch (column) {
    case 'positionIds':
      return array(segments.positions())
    case 'segments':
      return array(segments.numbers())
    case 'cuSeqlens':
      return array(segments.borders(shape.capacity))
    case 'seqLens':
      return array(segments.lengths(shape.capacity))
    case 'cuCount':
      return segments.count
    default:
      return segments.longest()
  }
}
