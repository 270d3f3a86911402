/** The header before each page of a column chunk. */
import { DecodeError } from '../../../core/basics/errors.js'
import { ENCODING } from '../names.js'
import { Thrift } from '../structure/thrift.js'

export const DATA_PAGE = 0
export const INDEX_PAGE = 1
export const DICTIONARY_PAGE = 2
export const DATA_PAGE_V2 = 3

/** One header, read again and again into the same object. */
export class PageHeader {
  type = 0
  /** Bytes behind the header, in the file and decompressed. */
  compressed = 0
  raw = 0
  values = 0
  encoding = 0
  /** Version 1: how levels are encoded. */
  definitionEncoding: number = ENCODING.RLE
  repetitionEncoding: number = ENCODING.RLE
  /** Version 2: bytes of the levels, which are never compressed; whether the values are; rows, or −1. */
  definitionBytes = 0
  repetitionBytes = 0
  isCompressed = true
  rows = -1
  /** CRC-32 of the bytes behind the header, as they lie in the file; -1: the writer left it out. */
  crc = -1

  /** Reads the header at a byte; says where the page begins. */
  read(bytes: Uint8Array, at: number): number {
    const thrift = new Thrift(bytes, at)
    this.type = this.compressed = this.raw = this.values = -1
    this.encoding = this.rows = this.crc = -1
    this.definitionEncoding = this.repetitionEncoding = ENCODING.RLE
    this.definitionBytes = this.repetitionBytes = 0
    this.isCompressed = true
    const outer = thrift.enter()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 1) this.type = thrift.count()
      else if (id === 2) this.raw = thrift.count()
      else if (id === 3) this.compressed = thrift.count()
      else if (id === 4) this.crc = thrift.number() >>> 0
      else if (id === 5) this.readData(thrift)
      else if (id === 7) this.readDictionary(thrift)
      else if (id === 8) this.readData2(thrift)
      else thrift.skip()
    }
    thrift.leave(outer)
    if (this.type < 0 || this.raw < 0 || this.compressed < 0)
      throw new DecodeError('its header says neither what it is nor how long')
    if (this.type !== INDEX_PAGE && (this.values < 0 || this.encoding < 0))
      throw new DecodeError('its header has no count of values, or no encoding')
    return thrift.at
  }

  private readData(thrift: Thrift): void {
    const outer = thrift.struct()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 1) this.values = thrift.count()
      else if (id === 2) this.encoding = thrift.count()
      else if (id === 3) this.definitionEncoding = thrift.count()
      else if (id === 4) this.repetitionEncoding = thrift.count()
      else thrift.skip()
    }
    thrift.leave(outer)
  }

  private readDictionary(thrift: Thrift): void {
    const outer = thrift.struct()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 1) this.values = thrift.count()
      else if (id === 2) this.encoding = thrift.count()
      else thrift.skip()
    }
    thrift.leave(outer)
  }

  private readData2(thrift: Thrift): void {
    const outer = thrift.struct()
    for (let id = thrift.field(); id !== 0; id = thrift.field()) {
      if (id === 1) this.values = thrift.count()
      else if (id === 3) this.rows = thrift.count()
      else if (id === 4) this.encoding = thrift.count()
      else if (id === 5) this.definitionBytes = thrift.count()
      else if (id === 6) this.repetitionBytes = thrift.count()
      else if (id === 7) this.isCompressed = thrift.bool()
      else thrift.skip()
    }
    thrift.leave(outer)
  }
}
