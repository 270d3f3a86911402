/**
 * Writes the columns of rows of tokens into the slot, out of the workspace. It gives what `sample` of the source and the programs
 * of the fields would give.
 */

import type { FieldPlace } from '../../core/batch/layout.js'
import type { Slot } from '../../core/batch/slot.js'
import type { RowWindow } from '../../core/define/making.js'
import type { NormalField } from '../../core/define/types.js'
import type { Workspace } from '../../core/system/memory/workspace.js'
import { TOKEN_BYTES } from './formats/token-file.js'
import { TOKEN_CODES, type TokenKernel, tokenKernel } from './kernels/load.js'
import type { Stretches, TokenFileRows } from './token-rows.js'

/** The target of a place that has none: PyTorch's ignore_index. */
const NO_TARGET = -100
/** Bytes of an element, of the types that are written here. */
const SIZES: Partial<Record<string, number>> = { i32: 4, i64: 8 }
/** No token is as great as this: batches hold them in signed integers of 32 bits or more. */
const BEYOND = 2 ** 31

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
  private readonly files: { code: number; bytes: number }[]
  private readonly limit: number
  private readonly isCut: boolean
  private readonly kernel: TokenKernel

  /** Undefined where a field is anything but a column of tokens, or its type needs more than widening. */
  static of(
    fields: readonly NormalField[],
    places: readonly FieldPlace[],
    rows: TokenFileRows,
    work: Workspace,
  ): TokenColumns | undefined {
    if (!rows.files.every(({ dtype }) => dtype in TOKEN_CODES)) return undefined
    const found = fields.map((field, i) => fieldOf(field, places[i], rows))
    const known = found.flatMap(field => field ?? [])
    if (known.length < found.length) return undefined
    return new TokenColumns(known, rows, work, places[0].windows ?? [{ from: 0, to: rows.length, at: 0 }])
  }

  private constructor(
    fields: TokenField[],
    rows: TokenFileRows,
    work: Workspace,
    /** The parts of a row that are written. */
    private readonly windows: readonly RowWindow[],
  ) {
    this.fields = fields
    const [one, other] = fields
    if (fields.length === 2 && one.size === other.size && one.ahead !== other.ahead)
      this.pair = one.ahead === 0 ? { input: one, target: other } : { input: other, target: one }
    this.extra = Math.max(...Object.values(rows.columns).map(({ ahead }) => ahead))
    this.files = rows.files.map(({ dtype }) => ({
      code: TOKEN_CODES[dtype as keyof typeof TOKEN_CODES],
      bytes: TOKEN_BYTES[dtype],
    }))
    this.limit = Math.min(rows.vocabulary ?? BEYOND, BEYOND)
    this.isCut = windows.length > 1 || windows[0].to - windows[0].from < rows.length
    this.kernel = tokenKernel(work.memory)
  }

  /** Writes a row; the bytes of its stretches lie at `places`, from entry `first` on. False: it has a number that is no token. */
  write(slot: Slot, row: number, stretches: Stretches, places: readonly number[], first: number): boolean {
    const { count, joined, file, end } = stretches
    if (this.isCut && !this.areTokens(stretches, places, first)) return false
    for (const window of this.windows) {
      for (let k = 0; k < count; k++) {
        const alone = joined[k] === 0 && (k + 1 === count || joined[k + 1] === 0) && file[k] >= 0
        const greatest = alone
          ? this.writePiece(window, slot, row, stretches, k, places[first + k])
          : this.writeEach(window, slot, row, stretches, k, places[first + k])
        if (greatest >= this.limit) return false
      }
      if (end < window.to) this.pad(window, slot, row, end)
    }
    return true
  }

  /** All ranks of a sequence find the same rows bad, whichever part of them each has. */
  private areTokens({ count, file, tokens }: Stretches, places: readonly number[], first: number): boolean {
    for (let k = 0; k < count; k++) {
      if (file[k] < 0) continue
      const greatest = this.kernel.greatest(this.files[file[k]].code, places[first + k], tokens[k]) >>> 0
      if (greatest >= this.limit) return false
    }
    return true
  }

  /** A stretch that is a whole piece: input and target in one pass, where the feed has both. */
  private writePiece(
    window: RowWindow,
    slot: Slot,
    row: number,
    stretches: Stretches,
    k: number,
    from: number,
  ): number {
    const { pair } = this
    if (pair === undefined) return this.writeEach(window, slot, row, stretches, k, from)
    const { input, target } = pair
    const place = stretches.place[k]
    const skip = Math.max(0, window.from - place)
    const count = Math.min(stretches.tokens[k], window.to - place + 1) - skip
    if (count <= 1) return 0
    const at = (place + skip - window.from + window.at) * input.size
    const { code, bytes } = this.files[stretches.file[k]]
    return (
      this.kernel.widenPair(
        code,
        input.size,
        from + skip * bytes,
        count,
        slot.at + input.at + row * input.rowBytes + at,
        slot.at + target.at + row * target.rowBytes + at,
      ) >>> 0
    )
  }

  /** Each column of a stretch by itself. */
  private writeEach(
    window: RowWindow,
    slot: Slot,
    row: number,
    stretches: Stretches,
    k: number,
    from: number,
  ): number {
    const { extra, kernel } = this
    const { file, offset, place, joined, count } = stretches
    const tokens = stretches.tokens[k]
    const ends = k + 1 === count || joined[k + 1] === 0
    let greatest = 0
    for (const { at, rowBytes, size, ahead } of this.fields) {
      // Token i goes to place `begin + i`: the first of a piece is no target, the last no input.
      const begin = place[k] - ahead
      const i = Math.max(ahead === 1 && joined[k] === 0 ? 1 : 0, window.from - begin)
      const last = Math.min(ahead < extra && ends ? tokens - 1 : tokens, window.to - begin)
      if (i >= last) continue
      const to = slot.at + at + row * rowBytes + (begin + i - window.from + window.at) * size
      if (file[k] < 0) {
        // It stands in no file, and is put in.
        kernel.fill(size, to, last - i, offset[k])
        greatest = offset[k]
      } else
        greatest = Math.max(greatest, kernel.widen(this.files[file[k]].code, size, from, i, last, to) >>> 0)
    }
    return greatest
  }

  private pad({ from, to, at: index }: RowWindow, slot: Slot, row: number, end: number): void {
    const first = Math.max(from, end)
    for (const { at, rowBytes, size, padding } of this.fields)
      this.kernel.fill(
        size,
        slot.at + at + row * rowBytes + (first - from + index) * size,
        to - first,
        padding,
      )
  }
}

/** A field that is a column of tokens as it is. */
function fieldOf(field: NormalField, place: FieldPlace, rows: TokenFileRows): TokenField | undefined {
  const { from, as, apply, map, compression } = field
  const plain = as === 'npy' && apply.length === 0 && map === undefined && compression === undefined
  const [name] = from
  const column = Object.hasOwn(rows.columns, name) ? rows.columns[name] : undefined
  const size = SIZES[place.dtype]
  if (!plain || from.length !== 1 || column === undefined || size === undefined) return undefined
  if (place.form !== 'dense' || field.layout.shape.length !== 1 || field.layout.shape[0] !== rows.length)
    return undefined
  const padding = column.trains ? NO_TARGET : rows.padding
  return { at: place.at, rowBytes: place.unitBytes, size, ahead: column.ahead, padding }
}
