/**
 * Reads Thrift's compact protocol, in which Parquet writes its footer and its page headers. The caller walks the fields and
 * takes what it wants; nothing becomes an object. All lengths are checked against the bytes that are there.
 */
import { DecodeError } from '../../../core/basics/errors.js'

/** Types of fields, as the protocol numbers them. */
const STOP = 0
const TRUE = 1
const FALSE = 2
const BYTE = 3
const DOUBLE = 7
const BINARY = 8
const LIST = 9
const SET = 10
const MAP = 11
const STRUCT = 12
/** Structures within structures that are skipped: no format nests deeper. */
const DEEPEST = 32

export class Thrift {
  /** The number and the type of the field that was read last. */
  id = 0
  type = 0

  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
    private readonly end = bytes.length,
  ) {}

  /** Begins a structure. Give the answer to `leave`, or go on with `field` until it says 0. */
  enter(): number {
    const outer = this.id
    this.id = 0
    return outer
  }

  /** The next field of the structure; 0 at its end. */
  field(): number {
    const head = this.byte()
    this.type = head & 15
    if (this.type === STOP) return 0
    const step = head >> 4
    this.id = step === 0 ? this.signed() : this.id + step
    if (this.id <= 0) throw new DecodeError(`at byte ${this.at}: a field has the number ${this.id}`)
    return this.id
  }

  leave(outer: number): void {
    this.id = outer
  }

  /** A number: of a field of any integer type. */
  number(): number {
    if (this.type === BYTE) return (this.byte() << 24) >> 24
    if (this.type < BYTE || this.type > 6) throw this.wrong('a number')
    return this.signed()
  }

  /** A count or an offset: no number below 0. */
  count(): number {
    const n = this.number()
    if (n < 0) throw new DecodeError(`at byte ${this.at}: ${n} where a count or an offset should be`)
    return n
  }

  bool(): boolean {
    if (this.type !== TRUE && this.type !== FALSE) throw this.wrong('a boolean')
    return this.type === TRUE
  }

  /** An element of a list of booleans: a byte. */
  element(): boolean {
    if (this.type !== TRUE && this.type !== FALSE) throw this.wrong('a boolean')
    return this.byte() === TRUE
  }

  binary(): Uint8Array {
    if (this.type !== BINARY) throw this.wrong('text')
    const length = this.room(this.unsigned())
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  text(): string {
    const { buffer, byteOffset, length } = this.binary()
    return Buffer.from(buffer, byteOffset, length).toString('utf8')
  }

  /** Begins a list: how many elements it has. Each has at least a byte. `type` is then that of the elements. */
  list(): number {
    if (this.type !== LIST && this.type !== SET) throw this.wrong('a list')
    const head = this.byte()
    this.type = head & 15
    return this.room(head >> 4 === 15 ? this.unsigned() : head >> 4)
  }

  /** Begins the structure of a field. */
  struct(): number {
    if (this.type !== STRUCT) throw this.wrong('a structure')
    return this.enter()
  }

  /** Leaves out the value of a field. */
  skip(depth = 0): void {
    if (depth > DEEPEST) throw new DecodeError(`at byte ${this.at}: structures nest deeper than ${DEEPEST}`)
    switch (this.type) {
      case TRUE:
      case FALSE:
        return
      case BYTE:
        this.at += this.room(1)
        return
      case 4:
      case 5:
      case 6:
        this.unsigned()
        return
      case DOUBLE:
        this.at += this.room(8)
        return
      case BINARY:
        this.binary()
        return
      case LIST:
      case SET: {
        const count = this.list()
        const type = this.type
        for (let i = 0; i < count; i++) this.skipElement(type, depth)
        return
      }
      case MAP: {
        const count = this.room(this.unsigned())
        const types = count === 0 ? 0 : this.byte()
        for (let i = 0; i < count; i++) {
          this.skipElement(types >> 4, depth)
          this.skipElement(types & 15, depth)
        }
        return
      }
      case STRUCT: {
        const outer = this.enter()
        while (this.field() !== 0) this.skip(depth + 1)
        this.leave(outer)
        return
      }
      default:
        throw new DecodeError(`at byte ${this.at}: there is no type ${this.type}`)
    }
  }

  /** Elements that are booleans have a byte each; as fields they have none. */
  private skipElement(type: number, depth: number): void {
    this.type = type === TRUE || type === FALSE ? BYTE : type
    this.skip(depth + 1)
  }

  private signed(): number {
    const n = this.unsigned()
    return n % 2 === 0 ? n / 2 : -(n + 1) / 2
  }

  /** Exact up to 2^53; counts, sizes and offsets are below that. */
  private unsigned(): number {
    const { bytes, end } = this
    let at = this.at
    let value = 0
    let scale = 1
    for (let i = 0; i < 10; i++) {
      if (at >= end) throw this.short()
      const byte = bytes[at++]
      value += (byte & 127) * scale
      if (byte < 128) {
        this.at = at
        return value
      }
      scale *= 128
    }
    throw new DecodeError(`at byte ${this.at}: a number of more than ten bytes`)
  }

  private byte(): number {
    if (this.at >= this.end) throw this.short()
    return this.bytes[this.at++]
  }

  private room(length: number): number {
    if (length > this.end - this.at) throw this.short()
    return length
  }

  private short(): DecodeError {
    return new DecodeError(`at byte ${this.at}: it ends within a value`)
  }

  private wrong(what: string): DecodeError {
    return new DecodeError(
      `at byte ${this.at}: field ${this.id} should be ${what}, and has type ${this.type}`,
    )
  }
}
