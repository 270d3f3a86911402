/**
 * The bytes of an HDF5 file while its structure is read: pages that are kept, from any store. Every read is checked against
 * the file's size before memory is taken for it.
 */
import { inFile, type SourceError } from '../../../core/basics/errors.js'
import { lookup3 } from '../../../core/codec/checksum.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'

/** Bytes of pages that are kept. */
const MOST_KEPT = 32 << 20
/** Bytes that are read at once of a local file at least: several nodes of a tree lie in them. */
const LEAST_PAGE = 16 << 10
const MOST_PAGE = 1 << 20

/** An address that means "nowhere". */
export const NOWHERE = -1

export class Hdf5Bytes {
  /** Bytes of an address and of a length in this file; the superblock says them. */
  offsetSize = 8
  lengthSize = 8
  /** What addresses count from: the superblock's place, behind a user's own block. */
  base = 0
  /** The address of an object that tells more of the whole file; NOWHERE in most files. */
  extension = NOWHERE
  private readonly page: number
  private readonly pages = new Map<number, Promise<Buffer>>()

  constructor(
    readonly file: string,
    readonly size: number,
    private readonly read: ReadAt,
    piece: number,
  ) {
    this.page = Math.min(MOST_PAGE, Math.max(LEAST_PAGE, piece))
  }

  /** The bytes from an address on. The view must not be written to. */
  async at(address: number, length: number): Promise<Buffer> {
    const offset = this.offsetOf(address, length)
    const first = Math.floor(offset / this.page)
    const last = Math.floor((offset + Math.max(1, length) - 1) / this.page)
    if (length > this.page) return this.pure(offset, length)
    const from = await this.pageAt(first)
    const start = offset - first * this.page
    if (first === last) return from.subarray(start, start + length)
    return Buffer.concat([
      from.subarray(start),
      (await this.pageAt(last)).subarray(0, start + length - from.length),
    ])
  }

  /** A cursor over the bytes from an address on. */
  async cursor(address: number, length: number): Promise<Cursor> {
    return new Cursor(this, await this.at(address, length), address)
  }

  /** The same for a block that ends with a checksum of all its other bytes; the checksum is compared, and left out. */
  async checked(address: number, length: number, what: string): Promise<Cursor> {
    const bytes = await this.at(address, length)
    const stored = bytes.readUInt32LE(length - 4)
    const own = lookup3(bytes.subarray(0, length - 4))
    if (stored !== own) throw this.fault(`the checksum of its ${what} is wrong`, address)
    return new Cursor(this, bytes.subarray(0, length - 4), address)
  }

  /** The offset in the file of an address, once it is known that so many bytes lie there. */
  offsetOf(address: number, length: number): number {
    const offset = this.base + address
    if (!(address >= 0 && length >= 0 && offset + length <= this.size))
      throw this.fault(
        `${length} bytes at address ${address} reach beyond its end (${this.size} bytes)`,
        address,
      )
    return offset
  }

  /** The error for a file whose structure is wrong. */
  fault(problem: string, address: number): SourceError {
    const offset = this.base + address
    return inFile(
      this.file,
      `is damaged at byte ${offset}: ${problem}: copy or write the file again (h5dump says more)`,
      { offset },
    )
  }

  private pageAt(number: number): Promise<Buffer> {
    let page = this.pages.get(number)
    if (page === undefined) {
      const offset = number * this.page
      page = this.pure(offset, Math.min(this.page, this.size - offset))
      // The page that was asked for longest ago goes.
      if (this.pages.size * this.page >= MOST_KEPT) {
        const [oldest] = this.pages.keys()
        this.pages.delete(oldest)
      }
    } else this.pages.delete(number)
    this.pages.set(number, page)
    return page
  }

  private pure(offset: number, length: number): Promise<Buffer> {
    return readExactly(this.read, offset, length)
  }
}

/** Reads numbers and names one after the other, never past the end. */
export class Cursor {
  at = 0

  constructor(
    readonly file: Hdf5Bytes,
    readonly bytes: Buffer,
    /** The address of the first byte. */
    readonly address: number,
  ) {}

  get left(): number {
    return this.bytes.length - this.at
  }

  /** The address of the next byte. */
  get here(): number {
    return this.address + this.at
  }

  u8(): number {
    return this.bytes[this.step(1)]
  }

  u16(): number {
    return this.bytes.readUInt16LE(this.step(2))
  }

  u32(): number {
    return this.word(this.step(4))
  }

  /** A whole number of 1 to 8 bytes. Beyond 2^53 it is a fault: no count or offset of a file is that large. */
  uint(size: number): number {
    const at = this.step(size)
    if (size === 8) {
      const high = this.word(at + 4)
      if (high >= 2 ** 21) throw this.fault('it has a number beyond all measure', at)
      return high * 2 ** 32 + this.word(at)
    }
    if (size === 4) return this.word(at)
    let value = 0
    for (let i = size - 1; i >= 0; i--) value = value * 256 + this.bytes[at + i]
    if (value > Number.MAX_SAFE_INTEGER) throw this.fault('it has a number beyond all measure', at)
    return value
  }

  /** An address, or NOWHERE. */
  where(): number {
    const size = this.file.offsetSize
    const at = this.at
    if (this.bytes[at] !== 255) return this.uint(size)
    for (let i = 1; i < size; i++) if (this.bytes[at + i] !== 255) return this.uint(size)
    this.step(size)
    return NOWHERE
  }

  /** A length or a size. */
  length(): number {
    return this.uint(this.file.lengthSize)
  }

  /** A dimension's greatest size, which may be without a limit: Infinity. */
  limit(): number {
    const size = this.file.lengthSize
    const bytes = this.bytes.subarray(this.at, this.at + size)
    if (!bytes.every(byte => byte === 255)) return this.length()
    this.step(size)
    return Infinity
  }

  take(length: number): Buffer {
    const at = this.step(length)
    return this.bytes.subarray(at, at + length)
  }

  skip(length: number): void {
    this.step(length)
  }

  /** The next bytes as a cursor of their own. */
  part(length: number): Cursor {
    const here = this.here
    return new Cursor(this.file, this.take(length), here)
  }

  /** Text up to the first NUL of so many bytes. */
  text(length: number): string {
    const bytes = this.take(length)
    const nul = bytes.indexOf(0)
    return bytes.toString('utf8', 0, nul < 0 ? length : nul)
  }

  /** Text up to a NUL, which is read too. */
  textToNul(): string {
    const nul = this.bytes.indexOf(0, this.at)
    if (nul < 0) throw this.fault('a name has no end')
    return this.text(nul + 1 - this.at)
  }

  /** Throws unless the next bytes are this signature. */
  signature(name: string, what: string): void {
    const found = this.take(4).toString('latin1')
    if (found !== name)
      throw this.fault(`its ${what} should begin with "${name}", not ${JSON.stringify(found)}`, this.at - 4)
  }

  fault(problem: string, at = this.at): Error {
    return this.file.fault(problem, this.address + at)
  }

  private word(at: number): number {
    const { bytes } = this
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
  }

  private step(length: number): number {
    const at = this.at
    if (!(length >= 0 && at + length <= this.bytes.length))
      throw this.fault(`a part of its structure has ${this.bytes.length} bytes, and needs more`)
    this.at = at + length
    return at
  }
}

export type { ReadAt }

/** So many bytes: the caller knows that the file has them. */
async function readExactly(read: ReadAt, offset: number, length: number): Promise<Buffer> {
  const into = Buffer.allocUnsafeSlow(length)
  const got = await read(into, offset)
  return got === length ? into : into.fill(0, got)
}
