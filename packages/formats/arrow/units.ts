/**
 * The units of an Arrow file: batches, or parts of large ones. A table says for each unit how many values each node has, and
 * where its buffers lie; from it follow the ranges that are read for some columns, and where each buffer is found in them.
 *
 * Buffers that are not compressed are used as they were read. Compressed ones are unpacked into one piece.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { BatchCodec } from './metadata/message.js'
import type { Field } from './metadata/schema.js'
import type { DictionaryEntries, UnitBuffers } from './view.js'

/** A column of the index, or one that is being made. */
export interface Numbers {
  at(i: number): number | undefined
}

/** By unit; by unit and node, `unit × nodes + node`; by buffer. */
export interface UnitColumns {
  /** Which codec of CODECS its buffers have, and whether it is a part of a batch. */
  codec: Numbers
  sliced: Numbers
  length: Numbers
  nulls: Numbers
  bit: Numbers
  /** The number of a node's first buffer, and of views how many there are besides the usual ones. */
  first: Numbers
  more: Numbers
  offset: Numbers
  size: Numbers
  /** Bytes when it is unpacked; −1: it lies there as it is. */
  raw: Numbers
}

export const CODECS: readonly BatchCodec[] = ['none', 'lz4', 'zstd']

/** Buffers with no more than this between them are read as one range: a page. In bytes. */
const GAP = 4096
/** Unpacked buffers begin on a multiple of this. */
const ALIGN = 64

/** What is read of a unit for some columns. */
export interface UnitPlan {
  unit: number
  codec: BatchCodec
  ranges: { offset: number; length: number }[]
  /** Where each buffer lies: in which range, from where on, how many bytes; once it is loaded. */
  buffers: Map<number, BufferPlace>
  /** Bytes that it takes when it is unpacked. */
  bytes: number
}

interface BufferPlace {
  range: number
  at: number
  size: number
  raw: number
  /** Where it begins in what is kept. */
  kept: number
}

export class Units {
  constructor(
    private readonly columns: UnitColumns,
    private readonly nodes: number,
  ) {}

  plan(unit: number, fields: readonly Field[]): UnitPlan {
    const { offset, size, raw, codec } = this.columns
    const numbers = new Set(fields.flatMap(field => this.buffersOf(unit, field)))
    const sorted = [...numbers].filter(k => size.at(k)! > 0).sort((a, b) => offset.at(a)! - offset.at(b)!)
    const ranges: UnitPlan['ranges'] = []
    const buffers: UnitPlan['buffers'] = new Map()
    let bytes = 0
    for (const k of sorted) {
      const [from, length] = [offset.at(k)!, size.at(k)!]
      let last = ranges.at(-1)
      if (last !== undefined && from - (last.offset + last.length) <= GAP)
        last.length = Math.max(last.length, from + length - last.offset)
      else ranges.push((last = { offset: from, length }))
      const unpacked = raw.at(k)!
      buffers.set(k, {
        range: ranges.length - 1,
        at: from - last.offset,
        size: length,
        raw: unpacked,
        kept: bytes,
      })
      bytes += Math.ceil((unpacked < 0 ? length : unpacked) / ALIGN) * ALIGN
    }
    return { unit, codec: CODECS[codec.at(unit)!], ranges, buffers, bytes }
  }

  /** Unpacks what was read into one piece. */
  load({ codec, buffers, bytes }: UnitPlan, pieces: readonly Uint8Array[], into: Uint8Array): Uint8Array[] {
    if (codec === 'none') return [...pieces]
    for (const { range, at, size, raw, kept } of buffers.values()) {
      const from = pieces[range].subarray(at, at + size)
      if (raw < 0) {
        into.set(from, kept)
        continue
      }
      const written = raw === 0 ? 0 : decompressInto(codec, from, into.subarray(kept, kept + raw))
      if (written === raw) continue
      throw new DecodeError(
        `a buffer of the batch unpacks to ${written} bytes, and it says ${raw}: write the file again`,
      )
    }
    return [into.subarray(0, bytes)]
  }

  /** The buffers of a unit, in what was read of it, or in what `load` made of that. */
  buffers(
    { unit, codec, buffers }: UnitPlan,
    pieces: readonly Uint8Array[],
    dictionary: (field: Field) => DictionaryEntries,
  ): UnitBuffers {
    const { columns, nodes } = this
    const of = (column: Numbers, field: Field): number => column.at(unit * nodes + field.node)!
    const buffer = (field: Field, k: number): Uint8Array => {
      const place = buffers.get(of(columns.first, field) + k)
      if (place === undefined) return EMPTY
      if (codec === 'none') return pieces[place.range].subarray(place.at, place.at + place.size)
      return pieces[0].subarray(place.kept, place.kept + (place.raw < 0 ? place.size : place.raw))
    }
    return {
      buffer,
      dictionary,
      more: field => of(columns.more, field),
      length: field => of(columns.length, field),
      bit: field => of(columns.bit, field),
      hasNulls: field => of(columns.nulls, field) !== 0 && buffers.has(of(columns.first, field)),
      sliced: columns.sliced.at(unit) === 1,
    }
  }

  private buffersOf(unit: number, field: Field): number[] {
    const at = unit * this.nodes + field.node
    const first = this.columns.first.at(at)!
    const count = field.buffers + this.columns.more.at(at)!
    return Array.from({ length: count }, (_, k) => first + k)
  }
}

const EMPTY = new Uint8Array(0)
