/** Samples of shards while a feed runs: where each lies, in its file or in a unit. What is in one, its kind of source says. */
import { DecodeError } from '../../core/basics/errors.js'
import { decompressInto } from '../../core/codec/codec.js'
import type { Layout } from '../../core/source/layout.js'
import type { ByteRange, Column, IndexColumn, Leaf, Need, Pieces, Source } from '../../core/source/source.js'
import { fileKey } from '../shared/file-key.js'
import { FileRows } from '../shared/file-rows.js'
import { UnitRefs } from '../shared/unit-refs.js'
import type { ShardManifest, Unit } from './manifest.js'

export abstract class ShardSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed = ['key', 'shard']
  readonly unitStarts?: Float64Array
  protected readonly rows: FileRows
  private readonly table: Uint32Array
  private readonly refs = new UnitRefs(this as unknown as Leaf)

  constructor(private readonly manifest: ShardManifest) {
    const { shards, units, columns, table } = manifest
    this.rows = new FileRows(shards.map(({ count }) => count))
    this.count = this.rows.count
    this.runs = this.rows.runs
    this.columns = columns
    this.table = new Uint32Array(table)
    if (units)
      this.unitStarts = Float64Array.from(units, ({ shard, first }) => this.rows.starts[shard] + first)
  }

  /** The wanted columns of a sample of a shard. */
  protected abstract decode(
    shard: number,
    bytes: Uint8Array,
    columns: readonly string[],
  ): Record<string, Column>

  id(row: number): string {
    const at = this.rows.locate(row)
    return `${this.manifest.shards[this.rows.file].name}:${at}`
  }

  key(row: number): string {
    const at = this.rows.locate(row)
    return `${fileKey(this.manifest.shards[this.rows.file].name)}:${at}`
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name !== 'shard') return undefined
    const shard = (row: number): string => {
      this.rows.locate(row)
      return this.manifest.shards[this.rows.file].name
    }
    return { type: 'string', at: shard }
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

  sample(
    row: number,
    _epoch: number,
    columns: readonly string[],
    { ranges, units }: Pieces,
  ): Record<string, Column> {
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
    const starts = this.unitStarts!
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (starts[middle] <= row) low = middle
      else high = middle
    }
    return low
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
