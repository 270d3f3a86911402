/**
 * Writes the columns of rows of tokens into the slot, out of the workspace. It gives what `sample` of the source and the programs
 * of the fields would give.
 */
import type { FieldPlace } from '../../batch/layout.js'
import type { Slot } from '../../batch/slot.js'
import type { NormalField } from '../../define/types.js'
import type { Stretches, TokenRows } from '../../source/tokens/token-rows.js'
import type { Workspace } from '../../system/memory/workspace.js'
import { kernel } from '../../transform/kernels/load.js'
import { TOKEN_CODES } from '../../transform/twins/tokens.js'

/** The target of a place that has none: PyTorch's ignore_index. */
const NO_TARGET = -100
/** Bytes of an element, of the types that are written here. */
const SIZES: Partial<Record<string, number>> = { i32: 4, i64: 8 }
/** No token is as great as this: batches hold them in signed integers of 32 bits or more. */
const BEYOND = 2 ** 31

interface TokenKernel {
  widen(source: number, size: number, from: number, first: number, last: number, to: number): number
  widenPair(source: number, size: number, from: number, count: number, input: number, target: number): number
  fill(size: number, at: number, count: number, value: number): void
}

/** A column of tokens, and where it lies in the slot. */
interface TokenField {
  at: number
  rowBytes: number
  /** Bytes of an element. */
  size: number
  /** Places that it is ahead of the input. */
  ahead: number
  /** What stands in places without a token. */
  padding: number
}

export class TokenColumns {
  private readonly fields: TokenField[]
  /** The input and the target, where they are written in one pass. */
  private readonly pair: { input: TokenField; target: TokenField } | undefined
  /** Tokens that a piece has more than places: 1 where the last of them is only a target. */
  private readonly extra: number
  /** For each file, the number of its type in the kernel, and the bytes of a token. */
  private readonly codes: number[]
  private readonly limit: number
  private readonly kernel: TokenKernel

  /** Undefined where a field is anything but a column of tokens, or its type needs more than widening. */
  static of(
    fields: readonly NormalField[],
    places: readonly FieldPlace[],
    rows: TokenRows,
    work: Workspace,
  ): TokenColumns | undefined {
    if (!rows.files.every(({ dtype }) => dtype in TOKEN_CODES)) return undefined
    const found = fields.map((field, i) => fieldOf(field, places[i], rows))
    const known = found.flatMap(field => field ?? [])
    return known.length < found.length ? undefined : new TokenColumns(known, rows, work)
  }

  private constructor(
    fields: TokenField[],
    private readonly rows: TokenRows,
    work: Workspace,
  ) {
    this.fields = fields
    const [one, other] = fields
    if (fields.length === 2 && one.size === other.size && one.ahead !== other.ahead)
      this.pair = one.ahead === 0 ? { input: one, target: other } : { input: other, target: one }
    this.extra = Math.max(...Object.values(rows.columns))
    this.codes = rows.files.map(({ dtype }) => TOKEN_CODES[dtype as keyof typeof TOKEN_CODES])
    this.limit = Math.min(rows.vocabulary ?? BEYOND, BEYOND)
    this.kernel = kernel<TokenKernel>('tokens', work.memory)
  }

  /** Writes a row; the bytes of its stretches lie at `places`, from entry `first` on. False: it has a number that is no token. */
  write(slot: Slot, row: number, stretches: Stretches, places: readonly number[], first: number): boolean {
    const { pair, limit } = this
    const { count } = stretches
    for (let k = 0; k < count; k++) {
      const alone = stretches.joined[k] === 0 && (k + 1 === count || stretches.joined[k + 1] === 0)
      const greatest =
        pair !== undefined && alone && stretches.file[k] >= 0
          ? this.writePair(pair.input, pair.target, slot, row, stretches, k, places[first + k])
          : this.writeEach(slot, row, stretches, k, places[first + k])
      if (greatest >= limit) return false
    }
    if (stretches.end < this.rows.length) this.pad(slot, row, stretches.end)
    return true
  }

  /** Input and target of a stretch that is a whole piece. */
  private writePair(
    input: TokenField,
    target: TokenField,
    slot: Slot,
    row: number,
    { file, place, tokens }: Stretches,
    k: number,
    from: number,
  ): number {
    const at = place[k] * input.size
    const toInput = slot.at + input.at + row * input.rowBytes + at
    const toTarget = slot.at + target.at + row * target.rowBytes + at
    const code = this.codes[file[k]]
    return this.kernel.widenPair(code, input.size, from, tokens[k], toInput, toTarget) >>> 0
  }

  /** Each column of a stretch by itself. */
  private writeEach(slot: Slot, row: number, stretches: Stretches, k: number, from: number): number {
    const { extra, kernel } = this
    const { file, offset, place, joined, count } = stretches
    const tokens = stretches.tokens[k]
    const ends = k + 1 === count || joined[k + 1] === 0
    let greatest = 0
    for (const { at, rowBytes, size, ahead } of this.fields) {
      // Token i goes to place `place + i − ahead`: the first of a piece is no target, the last no input.
      const i = ahead === 1 && joined[k] === 0 ? 1 : 0
      const last = ahead < extra && ends ? tokens - 1 : tokens
      if (i >= last) continue
      const to = slot.at + at + row * rowBytes + (place[k] + i - ahead) * size
      if (file[k] < 0) {
        // It stands in no file, and is put in.
        kernel.fill(size, to, last - i, offset[k])
        greatest = offset[k]
      } else greatest = Math.max(greatest, kernel.widen(this.codes[file[k]], size, from, i, last, to) >>> 0)
    }
    return greatest
  }

  private pad(slot: Slot, row: number, end: number): void {
    const { length } = this.rows
    for (const { at, rowBytes, size, padding } of this.fields)
      this.kernel.fill(size, slot.at + at + row * rowBytes + end * size, length - end, padding)
  }
}

/** A field that is a column of tokens as it is. */
function fieldOf(field: NormalField, place: FieldPlace, rows: TokenRows): TokenField | undefined {
  const { from, as, apply, map, compression } = field
  const plain = as === 'npy' && apply.length === 0 && map === undefined && compression === undefined
  const [name] = from
  const ahead = Object.hasOwn(rows.columns, name) ? rows.columns[name] : undefined
  const size = SIZES[place.dtype]
  if (!plain || from.length !== 1 || ahead === undefined || size === undefined) return undefined
  if (place.form !== 'dense' || place.shape.length !== 1 || place.shape[0] !== rows.length) return undefined
  const padding = rows.targets.includes(name) ? NO_TARGET : rows.padding
  return { at: place.at, rowBytes: place.unitBytes, size, ahead, padding }
}
