/**
 * Makes samples of a shard's members, as WebDataset does: the key of a member is its directory and its basename up to the
 * first dot, its extension the rest in lower case; adjacent members of one key are one sample. The result is the columns of
 * the shard's index.
 */

import { createHash } from 'node:crypto'
import { inFile } from '../../core/basics/errors.js'
import { type ColumnBuilder, NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { hashKey } from '../../core/source/index/key-hash.js'
import { KeySet } from '../shared/key-set.js'
import { numberIn } from '../shared/number-in.js'
import { columnOf } from './column.js'
import type { TarSink } from './scan.js'

/** As many extensions of a shard may have their small values in the index. */
const MOST_SMALL = 32
/** As many extensions are named in the index's header, for messages. */
const MOST_NAMED = 64

/** What the header of a shard's index says of its samples. */
export interface SampleMeta {
  /** Of keys, extensions and sizes: never of times or offsets, so that repacking is no change. */
  digest: string
  /** Column names of the first extensions. */
  columns: string[]
  /** Columns of which the index holds every value, and whether all are numbers. */
  small: { name: string; number: boolean }[]
  /** Links that are called as members of samples are: how many, and the first. */
  links?: { count: number; first: string }
}

/** Splits a member's name, or gives undefined when it is no member of a sample. */
export function splitName(name: string): { key: string; extension: string } | undefined {
  if (/^__[^/]*__(?:$|\/)/.test(name)) return undefined
  const slash = name.lastIndexOf('/')
  let dot = name.indexOf('.', slash + 1)
  if (dot < 0) return undefined
  if (dot === slash + 1) {
    // ".x.txt" in a folder: WebDataset's pattern takes the folder's own name, if that has no dot, for the key.
    const folder = name.slice(name.lastIndexOf('/', slash - 1) + 1, slash)
    if (slash < 0 || folder.includes('.')) return undefined
    dot = slash + 1
  }
  return { key: name.slice(0, dot), extension: name.slice(dot + 1).toLowerCase() }
}

/** The values of one extension, as long as all of them are small. */
interface SmallValues {
  text: TextBuilder
  /** The same as numbers, as long as all of them are. NaN where a row has no such member. */
  numbers: NumberBuilder | undefined
}

export class SampleColumns implements TarSink {
  /** Samples so far. */
  count = 0
  private readonly keys = new TextBuilder()
  /** Keys that the members' names could not have (see `Pax`); empty where they are the same. */
  private ownKeys: TextBuilder | undefined
  private readonly hashes = new NumberBuilder()
  /** Of the keys as the members' names have them. */
  private readonly nameHashes = new NumberBuilder()
  private readonly starts = new NumberBuilder()
  private readonly extensions = new NumberBuilder()
  private readonly offsets = new NumberBuilder()
  private readonly sizes = new NumberBuilder()
  private readonly numberOf = new Map<string, number>()
  /** For each extension the number of its column: that of the first extension which fills it. */
  private readonly columnNumber: number[] = []
  /** For each column the last row that had it. */
  private readonly lastRow: number[] = []
  private readonly small: (SmallValues | undefined)[] = []
  private key: string | undefined
  private links: SampleMeta['links']

  /** `file` is the shard's name for messages. */
  constructor(private readonly file: string) {}

  member(name: string, offset: number, size: number, small: Uint8Array | undefined, key?: string): void {
    const parts = splitName(name)
    if (parts === undefined) return
    if (parts.key !== this.key) this.beginSample(parts.key, key ?? parts.key)
    const extension = this.extensionNumber(parts.extension)
    this.refuseRepetition(extension, parts.extension, name, offset)
    this.extensions.push(extension)
    this.offsets.push(offset)
    this.sizes.push(size)
    this.keepSmall(extension, small)
  }

  link(name: string): void {
    if (splitName(name) === undefined) return
    this.links ??= { count: 0, first: name }
    this.links.count++
  }

  /** Where the first and the last member of up to `most` samples lie, which are spread evenly, first and last included. */
  spread(most: number): number[] {
    const offsets: number[] = []
    const wanted = Math.min(most, this.count)
    for (let i = 0; i < wanted; i++) {
      const row = wanted === 1 ? 0 : Math.round((i * (this.count - 1)) / (wanted - 1))
      const first = this.starts.at(row)
      const last = (row + 1 < this.count ? this.starts.at(row + 1) : this.offsets.length) - 1
      offsets.push(this.offsets.at(first))
      if (last > first) offsets.push(this.offsets.at(last))
    }
    return offsets
  }

  /** The finished columns and what is to be said about them. */
  finish(): { count: number; columns: Record<string, ColumnBuilder>; meta: SampleMeta } {
    this.starts.push(this.offsets.length)
    const names = new TextBuilder()
    for (const name of this.numberOf.keys()) names.push(name)
    const columns: Record<string, ColumnBuilder> = {
      key: this.keys,
      keyHash: this.hashes,
      start: this.starts,
      extension: this.extensions,
      size: this.sizes,
      extensions: names,
    }
    const digest = digestOf(columns)
    columns.offset = this.offsets
    if (this.ownKeys !== undefined) {
      this.ownKeys.padTo(this.count)
      columns.ownKey = this.ownKeys
    }
    const repeats = this.repeatedKeys()
    if (repeats !== undefined) columns.repeat = repeats
    const small = this.finishSmall(columns)
    const known = [...this.numberOf.keys()].slice(0, MOST_NAMED).map(name => columnOf(name).column)
    const meta = { digest, columns: [...new Set(known)], small, ...(this.links && { links: this.links }) }
    return { count: this.count, columns, meta }
  }

  private beginSample(key: string, own: string): void {
    if (own !== key) {
      this.ownKeys ??= new TextBuilder()
      this.ownKeys.padTo(this.count)
      this.ownKeys.push(own)
    }
    this.key = key
    this.count++
    this.keys.push(key)
    this.hashes.push(hashKey(own))
    this.nameHashes.push(hashKey(key))
    this.starts.push(this.offsets.length)
  }

  private extensionNumber(name: string): number {
    let number = this.numberOf.get(name)
    if (number === undefined) {
      number = this.numberOf.size
      this.numberOf.set(name, number)
      this.columnNumber.push(this.columnNumberOf(columnOf(name).column, number))
      this.lastRow.push(-1)
      const keep = number < MOST_SMALL && !columnOf(name).gzip
      this.small.push(keep ? { text: new TextBuilder(), numbers: new NumberBuilder() } : undefined)
    }
    return number
  }

  /** `json` and `json.gz` fill the same column. */
  private columnNumberOf(column: string, otherwise: number): number {
    return this.numberOf.get(column) ?? this.numberOf.get(`${column}.gz`) ?? otherwise
  }

  private refuseRepetition(extension: number, name: string, member: string, offset: number): void {
    const column = this.columnNumber[extension]
    if (this.lastRow[column] === this.count - 1) {
      throw inFile(
        this.file,
        `: sample "${this.key}" has a second member "${name}": "${member}" at byte ${offset}; ` +
          'members of one sample must have different extensions',
        { offset },
      )
    }
    this.lastRow[column] = this.count - 1
  }

  private keepSmall(extension: number, bytes: Uint8Array | undefined): void {
    const values = this.small[extension]
    if (values === undefined) return
    if (bytes === undefined) {
      this.small[extension] = undefined // a large one: this column is read from the shard
      return
    }
    const row = this.count - 1
    values.text.padTo(row)
    values.text.pushBytes(bytes)
    const number = parseNumber(bytes)
    if (number === undefined) values.numbers = undefined
    if (values.numbers === undefined) return
    while (values.numbers.length < row) values.numbers.push(Number.NaN)
    values.numbers.push(number as number)
  }

  private finishSmall(columns: Record<string, ColumnBuilder>): SampleMeta['small'] {
    const kept: SampleMeta['small'] = []
    for (const [name, number] of this.numberOf) {
      const values = this.small[number]
      if (values === undefined) continue
      values.text.padTo(this.count)
      while (values.numbers !== undefined && values.numbers.length < this.count)
        values.numbers.push(Number.NaN)
      columns[`small.${name}`] = values.text
      if (values.numbers !== undefined) columns[`number.${name}`] = values.numbers
      kept.push({ name, number: values.numbers !== undefined })
    }
    return kept
  }

  /** For shards in which a key comes back later: which occurrence each row is. Usually there is no such shard. */
  private repeatedKeys(): NumberBuilder | undefined {
    const seen = new KeySet(this.count)
    const times = new Map<number, number>()
    const repeats = new NumberBuilder()
    for (let row = 0; row < this.count; row++) {
      const hash = this.nameHashes.at(row)
      const repeat = seen.add(hash) ? 0 : (times.get(hash) ?? 0) + 1
      if (repeat > 0) times.set(hash, repeat)
      repeats.push(repeat)
    }
    return times.size > 0 ? repeats : undefined
  }
}

/** A plain decimal number, blanks around it allowed; undefined otherwise. */
function parseNumber(bytes: Uint8Array): number | undefined {
  return numberIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'))
}

/** SHA-256 over the columns in their final form. */
function digestOf(columns: Readonly<Record<string, ColumnBuilder>>): string {
  const hash = createHash('sha256')
  for (const [name, column] of Object.entries(columns)) {
    hash.update(`${name} ${column.length}\n`)
    if (column instanceof TextBuilder) for (const piece of column.offsets.pieces('f64')) hash.update(piece)
    for (const piece of column instanceof TextBuilder ? column.pieces() : column.pieces('f64'))
      hash.update(piece)
  }
  return hash.digest('hex').slice(0, 32)
}
