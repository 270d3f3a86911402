/** Samples of shards while a feed runs: where each lies, in its file or in a unit. What is in one, its kind of source says. */
import { DecodeError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import { lastAtMost } from '../../core/basics/search.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { Layout } from '../../core/source/layout.js'
import type { ByteRange, Columns, Leaf, Need, Pieces } from '../../core/source/source.js'
import { RowsOfFiles } from '../rows-of-files.js'
import { UnitRefs } from '../shared/unit-refs.js'
import type { ShardManifest, Unit } from './manifest.js'
import type { Decoder } from './values.js'

/** A wanted column: which part of a sample it is, and how that is read. */
export interface Wanted {
  place: number
  decode: Decoder
}

export abstract class ShardSource extends RowsOfFiles {
  readonly unitStarts?: Float64Array
  private readonly table: Uint32Array
  private readonly refs = new UnitRefs(this as unknown as Leaf)
  /** For each form of samples. */
  private readonly wanted = new PerColumns(columns =>
    this.sizes.map((_, form) =>
      columns.flatMap(name => {
        const found = this.find(form, name)
        return found === undefined ? [] : [{ name, ...found }]
      }),
    ),
  )
  private readonly ends: number[] = []

  /**
   * A sample is a size (u32) for each part whose size varies, then the parts. `sizes` has them for each form that samples have, 0 where
   * one varies; none where all of a sample is one part. `formOf`: the form of each shard's samples.
   */
  constructor(
    private readonly manifest: ShardManifest,
    private readonly sizes: readonly (readonly number[])[],
    private readonly formOf?: readonly number[],
  ) {
    const { shards, units, columns, table } = manifest
    super(shards, columns)
    this.table = new Uint32Array(table)
    if (units)
      this.unitStarts = Float64Array.from(units, ({ shard, first }) => this.rows.starts[shard] + first)
  }

  /** A column of the samples of a form; undefined where they have none of that name. */
  protected abstract find(form: number, name: string): Wanted | undefined

  /** The wanted columns of a sample of a shard. */
  private decode(shard: number, bytes: Uint8Array, columns: readonly string[]): Columns {
    const form = this.formOf?.[shard] ?? 0
    const wanted = this.wanted.of(columns)[form]
    this.measure(this.sizes[form], bytes)
    const out: Columns = {}
    for (const { name, place, decode } of wanted) {
      const value = decode(bytes.subarray(this.ends[place], this.ends[place + 1]))
      if (value !== undefined) out[name] = value
    }
    return out
  }

  /** Sets `ends` to where each part begins, and the last ends. */
  private measure(sizes: readonly number[], bytes: Uint8Array): void {
    const { ends } = this
    let head = 0
    for (const size of sizes) if (size === 0) head += 4
    if (head > bytes.length) throw tooShort(bytes.length, head)
    let [at, end] = [0, sizes.length === 0 ? bytes.length : head]
    ends[0] = head
    ends[1] = end
    for (let i = 0; i < sizes.length; i++) {
      let size = sizes[i]
      if (size === 0) {
        size = word(bytes, at)
        at += 4
      }
      end += size
      ends[i + 1] = end
    }
    if (end > bytes.length) throw tooShort(bytes.length, end)
  }

  where(row: number): { file: string; offset: number } {
    const at = this.rows.locate(row)
    const { file, table } = this.manifest.shards[this.rows.file]
    if (this.unitStarts !== undefined) return { file, offset: this.units[this.unitOf(row)].offset }
    return { file, offset: this.table[table! + at] }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length === 0) return
    if (this.unitStarts !== undefined) {
      out.units.push(this.refs.of(this.unitOf(row), this.columns))
      return
    }
    const at = this.rows.locate(row)
    const { file, was, table } = this.manifest.shards[this.rows.file]
    const offset = this.table[table! + at]
    out.ranges.push({ file, offset, length: this.table[table! + at + 1] - offset, was })
  }

  planUnit(unit: number): ByteRange[] {
    const { shard, offset, length } = this.units[unit]
    const { file, was } = this.manifest.shards[shard]
    return [{ file, offset, length, was }]
  }

  unitBytes(unit: number): number {
    return this.units[unit].bytes
  }

  load(unit: number, [packed]: Uint8Array[], into: Uint8Array): Uint8Array[] {
    const { codec, bytes, exact, shard, count } = this.units[unit]
    const { file, table } = this.manifest.shards[shard]
    const room = into.subarray(0, bytes)
    let written = bytes
    if (codec === undefined) room.set(packed)
    else written = unpacked(codec, packed, room, file)
    if (exact && written !== bytes)
      throw new DecodeError(`${file} unpacks to ${written} bytes, not to ${bytes}: copy or write it again`)
    const loaded = room.subarray(0, written)
    if (table === undefined) checkTable(loaded, count, file)
    return [loaded]
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    if (columns.length === 0) return {}
    const at = this.rows.locate(row)
    const shard = this.rows.file
    return this.decode(shard, units.length === 0 ? ranges[0] : this.inUnit(row, at, units[0][0]), columns)
  }

  layout(): Layout {
    const { schema, shards, units } = this.manifest
    const codecs = [...new Set((units ?? []).flatMap(({ codec }) => codec ?? []))]
    return {
      schema,
      chunks: `${this.count} samples in ${shards.length} ${shards.length === 1 ? 'shard' : 'shards'}`,
      ...(codecs.length > 0 && { codecs }),
      ...(units && units.length === shards.length && { slow: WHOLE_SHARDS }),
    }
  }

  /** A sample's bytes in its unit. */
  private inUnit(row: number, at: number, unit: Uint8Array): Uint8Array {
    const { shard, base } = this.units[this.unitOf(row)]
    const { table } = this.manifest.shards[shard]
    if (table === undefined) return unit.subarray(word(unit, 4 + 4 * at), word(unit, 8 + 4 * at))
    return unit.subarray(this.table[table + at] - base, this.table[table + at + 1] - base)
  }

  private get units(): readonly Unit[] {
    return this.manifest.units!
  }

  private unitOf(row: number): number {
    return lastAtMost(this.unitStarts!, row)
  }
}

const WHOLE_SHARDS =
  'Shards are compressed as a whole, so one is unpacked for any of its samples: shuffle by windows, or write them without compression.'

function unpacked(codec: Unit['codec'] & string, packed: Uint8Array, into: Uint8Array, file: string): number {
  try {
    return decompressInto(codec, packed, into)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new DecodeError(`${file}: ${error.message}: copy or write it again`, { cause: error })
  }
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
}

function tooShort(bytes: number, needed: number): DecodeError {
  return new DecodeError(
    `the sample has ${bytes} bytes, its columns need ${needed}: the shard is damaged, or its index.json belongs to another; ` +
      'copy or write them again',
  )
}

/** Refuses a shard whose offsets don't ascend within it. */
export function checkTable(shard: Uint8Array, count: number, file: string, bytes = shard.length): void {
  const problem = tableProblem(shard, count, bytes)
  if (problem !== undefined)
    throw new DecodeError(`${file}: ${problem}: the shard is damaged; copy or write it again`)
}

function tableProblem(shard: Uint8Array, count: number, bytes: number): string | undefined {
  const end = 4 * (count + 2)
  if (shard.length < end)
    return `it has ${shard.length} bytes, its table of ${count} samples alone needs ${end}`
  if (word(shard, 0) !== count) return `it has ${word(shard, 0)} samples, index.json says ${count}`
  let before = end
  for (let i = 0; i <= count; i++) {
    const offset = word(shard, 4 + 4 * i)
    if (offset < before || offset > bytes)
      return `sample ${Math.min(i, count - 1)} lies at byte ${offset}, which is not between ${before} and ${bytes}`
    before = offset
  }
  return undefined
}
