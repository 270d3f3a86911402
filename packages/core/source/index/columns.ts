/**
 * Columns of an index while it is made: numbers and texts, in chunks of typed arrays. Ten million rows are a few hundred
 * chunks, never ten million objects, and a column that grows copies nothing.
 */

export type NumberType = 'u8' | 'u16' | 'u32' | 'i32' | 'f64'
export type NumberArray = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array

export const NUMBER_ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
} as const

/** Values a chunk of numbers: 512 KiB. The first begins with 512 bytes. */
const CHUNK = 65536
const FIRST_CHUNK = 64
/** The first chunk of a text column is small, since an archive may have very many columns; later ones double up to 1 MiB. */
const FIRST_TEXT_CHUNK = 256
const TEXT_CHUNK = 1 << 20

/** Numbers, held as f64; written in the narrowest type that holds them all. */
export class NumberBuilder {
  length = 0
  private readonly chunks: Float64Array[] = []
  private least = 0
  private greatest = 0
  private whole = true

  push(value: number): void {
    const chunk = Math.floor(this.length / CHUNK)
    const place = this.length % CHUNK
    if (chunk === this.chunks.length || place === this.chunks[chunk].length) this.grow(chunk)
    this.chunks[chunk][place] = value
    this.length++
    this.note(value)
  }

  at(row: number): number {
    return this.chunks[Math.floor(row / CHUNK)][row % CHUNK]
  }

  /** Puts another value in the place of one that was pushed. */
  set(row: number, value: number): void {
    this.chunks[Math.floor(row / CHUNK)][row % CHUNK] = value
    this.note(value)
  }

  get type(): NumberType {
    if (!this.whole) return 'f64'
    if (this.least < 0) return this.least >= -(2 ** 31) && this.greatest < 2 ** 31 ? 'i32' : 'f64'
    if (this.greatest < 2 ** 8) return 'u8'
    if (this.greatest < 2 ** 16) return 'u16'
    return this.greatest < 2 ** 32 ? 'u32' : 'f64'
  }

  /** The values in their final type, piece by piece. */
  *pieces(type = this.type): Generator<Uint8Array> {
    const Type = NUMBER_ARRAYS[type]
    for (let from = 0; from < this.length; from += CHUNK) {
      const array = new Type(this.chunks[from / CHUNK].subarray(0, Math.min(CHUNK, this.length - from)))
      yield new Uint8Array(array.buffer)
    }
  }

  private note(value: number): void {
    if (value < this.least) this.least = value
    else if (value > this.greatest) this.greatest = value
    // No type of integers has −0.
    if (this.whole && (!Number.isInteger(value) || Object.is(value, -0))) this.whole = false
  }

  /** A short column stays short: the first chunk doubles, the others begin whole. */
  private grow(chunk: number): void {
    if (chunk > 0) this.chunks.push(new Float64Array(CHUNK))
    else if (this.chunks.length === 0) this.chunks.push(new Float64Array(FIRST_CHUNK))
    else {
      const larger = new Float64Array(Math.min(CHUNK, 4 * this.chunks[0].length))
      larger.set(this.chunks[0])
      this.chunks[0] = larger
    }
  }
}

/** Texts as UTF-8, or raw bytes: one blob, and where each value ends. */
export class TextBuilder {
  readonly offsets = new NumberBuilder()
  bytes = 0
  private readonly chunks: Buffer[] = []
  private current = Buffer.alloc(0)
  private used = 0

  constructor() {
    this.offsets.push(0)
  }

  get length(): number {
    return this.offsets.length - 1
  }

  push(text: string): void {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    this.makeRoom(text.length * 3)
    this.close(this.current.write(text, this.used))
  }

  pushBytes(data: Uint8Array): void {
    this.makeRoom(data.length)
    this.current.set(data, this.used)
    this.close(data.length)
  }

  /** Adds empty values up to `length`. */
  padTo(length: number): void {
    while (this.length < length) this.offsets.push(this.bytes)
  }

  *pieces(): Generator<Uint8Array> {
    yield* this.chunks
    if (this.used > 0) yield this.current.subarray(0, this.used)
  }

  private close(written: number): void {
    this.used += written
    this.bytes += written
    this.offsets.push(this.bytes)
  }

  private makeRoom(bytes: number): void {
    if (this.used + bytes <= this.current.length) return
    if (this.used > 0) this.chunks.push(this.current.subarray(0, this.used))
    const usual = Math.min(TEXT_CHUNK, Math.max(FIRST_TEXT_CHUNK, 2 * this.current.length))
    this.current = Buffer.allocUnsafeSlow(Math.max(usual, bytes))
    this.used = 0
  }
}

/** Numbers that are made while they are written. */
export interface NumberColumn {
  readonly type: NumberType
  readonly length: number
  pieces(): Iterable<Uint8Array>
}

export type ColumnBuilder = NumberBuilder | TextBuilder
