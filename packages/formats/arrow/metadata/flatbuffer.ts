/**
 * Reads the tables in which Arrow keeps its metadata (flatbuffers). Every offset is checked before it is followed: the bytes
 * come from a file, and may be damaged or made to do harm.
 *
 *   table    i32 back to its vtable; the vtable says where each field lies, 0: it is absent
 *   vector   u32 count, then its elements
 *   string   u32 bytes, then UTF-8
 */
import { inFile } from '../../../core/basics/errors.js'

/** A buffer with tables, and where it lies, for messages. */
export class FlatBuffer {
  private readonly view: DataView
  /** Tables that may still be opened. A buffer can't hold more, unless many offsets lead to the same one: that may take for ever. */
  private left: number

  constructor(
    readonly bytes: Uint8Array,
    readonly file: string,
    /** Of its first byte in the file. */
    readonly offset: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.left = Math.floor(bytes.length / 4)
  }

  root(): Table {
    return this.table(this.u32(0))
  }

  table(at: number): Table {
    if (--this.left < 0) this.fail('it has more tables than it has room for', at)
    const vtable = at - this.i32(at)
    const bytes = this.u16(vtable)
    if (bytes < 4 || vtable + bytes > this.bytes.length) this.fail('a table has a vtable out of bounds', at)
    return new Table(this, at, vtable, (bytes - 4) >> 1)
  }

  text(at: number): string {
    const length = this.u32(at)
    this.check(at + 4, length)
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + at + 4, length).toString('utf8')
  }

  u8(at: number): number {
    this.check(at, 1)
    return this.view.getUint8(at)
  }

  u16(at: number): number {
    this.check(at, 2)
    return this.view.getUint16(at, true)
  }

  i16(at: number): number {
    this.check(at, 2)
    return this.view.getInt16(at, true)
  }

  i32(at: number): number {
    this.check(at, 4)
    return this.view.getInt32(at, true)
  }

  u32(at: number): number {
    this.check(at, 4)
    return this.view.getUint32(at, true)
  }

  /** As a number: what has more than 53 bits is no count, size or offset. */
  i64(at: number): number {
    this.check(at, 8)
    const value = this.view.getInt32(at + 4, true) * 2 ** 32 + this.view.getUint32(at, true)
    if (!Number.isSafeInteger(value)) this.fail(`the number ${value} is too large`, at)
    return value
  }

  check(at: number, length: number): void {
    if (!(at >= 0 && at + length <= this.bytes.length))
      this.fail('an offset leads out of the metadata', Math.max(0, at))
  }

  fail(problem: string, at = 0): never {
    const offset = this.offset + at
    throw inFile(
      this.file,
      `: the Arrow metadata at offset ${offset} is damaged: ${problem}: write the file again`,
      { offset },
    )
  }
}

/** A table. Fields go by their numbers in Arrow's schema; those that are absent have their default. */
export class Table {
  constructor(
    readonly buffer: FlatBuffer,
    private readonly at: number,
    private readonly vtable: number,
    private readonly fields: number,
  ) {}

  i8(field: number, otherwise = 0): number {
    const at = this.place(field)
    return at === undefined ? otherwise : this.buffer.u8(at)
  }

  i16(field: number, otherwise = 0): number {
    const at = this.place(field)
    return at === undefined ? otherwise : this.buffer.i16(at)
  }

  i32(field: number, otherwise = 0): number {
    const at = this.place(field)
    return at === undefined ? otherwise : this.buffer.i32(at)
  }

  i64(field: number, otherwise = 0): number {
    const at = this.place(field)
    return at === undefined ? otherwise : this.buffer.i64(at)
  }

  text(field: number): string | undefined {
    const at = this.place(field)
    return at === undefined ? undefined : this.buffer.text(at + this.buffer.u32(at))
  }

  table(field: number): Table | undefined {
    const at = this.place(field)
    return at === undefined ? undefined : this.buffer.table(at + this.buffer.u32(at))
  }

  tables(field: number): Table[] {
    const { at, count } = this.vector(field, 4)
    return Array.from({ length: count }, (_, i) => {
      const place = at + 4 * i
      return this.buffer.table(place + this.buffer.u32(place))
    })
  }

  /** A vector of structs or numbers: where its first element lies, and how many there are. */
  vector(field: number, elementBytes: number): { at: number; count: number } {
    const place = this.place(field)
    if (place === undefined) return { at: 0, count: 0 }
    const at = place + this.buffer.u32(place)
    const count = this.buffer.u32(at)
    this.buffer.check(at + 4, count * elementBytes)
    return { at: at + 4, count }
  }

  private place(field: number): number | undefined {
    if (field >= this.fields) return undefined
    const offset = this.buffer.u16(this.vtable + 4 + 2 * field)
    return offset === 0 ? undefined : this.at + offset
  }
}
