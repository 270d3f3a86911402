/**
 * The features of a tf.Example as columns. The messages are
 *
 *   Example          1: Features
 *   SequenceExample  1: Features (its context)   2: FeatureLists
 *   Features         1: entry { 1: name, 2: Feature }, repeated
 *   FeatureLists     1: entry { 1: name, 2: FeatureList }, repeated; a FeatureList has 1: Feature, repeated
 *   Feature          1: bytes list, 2: float list, 3: int64 list; each has 1: value, repeated, packed or not
 *
 * A list of numbers is an array [n], in a sequence [steps, n]. Floats that are packed, as all writers pack them, are used where
 * they lie. One text of bytes is the column's value; of several, `name[2]` is one.
 */
import { DecodeError, SeveralError } from '../../core/basics/errors.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import type { ArrayColumn, Column, Columns } from '../../core/source/source.js'

/** A feature that is wanted. */
interface Target {
  column: string
  name: Uint8Array
  /** Which of its values; undefined: all. */
  item: number | undefined
}

export type Targets = readonly Target[]

const KINDS = ['nothing', 'bytes', 'float', 'int64']

/** What to look for, for some columns: `tags[1]` may be a feature of this name, or a value of the feature `tags`. */
export function targetsOf(columns: readonly string[]): Targets {
  return columns.flatMap(column => {
    const [, name, item] = /^(.+)\[(\d{1,9})\]$/s.exec(column) ?? []
    const whole = { column, name: Buffer.from(column), item: undefined }
    return name === undefined ? [whole] : [{ column, name: Buffer.from(name), item: Number(item) }, whole]
  })
}

export class ExampleReader {
  private readonly example = new Fields()
  private readonly features = new Fields()
  private readonly entry = new Fields()
  private readonly list = new Fields()
  private readonly feature = new Fields()
  private readonly values = new Fields()
  /** The kind of the feature at hand, the number of its values, their places (pairs of from and to), and how many there are after each step. */
  private kind = 0
  private count = 0
  private readonly places: number[] = []
  private readonly steps: number[] = []

  /** Adds the wanted columns that an Example has to `out`. */
  read(data: Uint8Array, targets: Targets, out: Columns): void {
    this.eachEntry(data, (from, to, valueFrom, valueTo, sequence) => {
      for (const target of targets) {
        if (!isName(data, from, to, target.name)) continue
        this.gather(data, valueFrom, valueTo, sequence)
        const value = this.column(data, target, sequence)
        if (value !== undefined) out[target.column] = value
      }
    })
  }

  /** Names and types of the features of an Example. */
  schema(data: Uint8Array): ColumnLayout[] {
    const found = new Map<string, string>()
    this.eachEntry(data, (from, to, valueFrom, valueTo, sequence) => {
      this.gather(data, valueFrom, valueTo, sequence)
      const { count } = this
      const steps = sequence ? `${this.steps.length}, ` : ''
      const per = sequence ? count / Math.max(1, this.steps.length) : count
      const shape = this.kind === 1 && !sequence && count < 2 ? '' : ` [${steps}${per}]`
      found.set(Buffer.from(data.subarray(from, to)).toString(), `${KINDS[this.kind]}${shape}`)
    })
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, type]) => ({ name, type }))
  }

  /** Tells the places of name and value of each entry, of the features and of the lists of features. */
  private eachEntry(
    data: Uint8Array,
    tell: (from: number, to: number, valueFrom: number, valueTo: number, sequence: boolean) => void,
  ): void {
    const { example, features, entry } = this
    example.over(data, 0, data.length)
    while (example.next()) {
      if (example.type !== BYTES || example.number > 2) continue
      features.over(data, example.from, example.to)
      while (features.next()) {
        if (features.type !== BYTES || features.number !== 1) continue
        entry.over(data, features.from, features.to)
        let from = 0
        let to = 0
        let valueFrom = 0
        let valueTo = 0
        while (entry.next()) {
          if (entry.type !== BYTES) continue
          if (entry.number === 1) {
            from = entry.from
            to = entry.to
          } else if (entry.number === 2) {
            valueFrom = entry.from
            valueTo = entry.to
          }
        }
        tell(from, to, valueFrom, valueTo, example.number === 2)
      }
    }
  }

  /** Finds the values of a feature, or of a list of features. */
  private gather(data: Uint8Array, from: number, to: number, sequence: boolean): void {
    this.kind = 0
    this.count = 0
    this.places.length = 0
    this.steps.length = 0
    if (!sequence) {
      this.gatherOne(data, from, to)
      return
    }
    const { list } = this
    list.over(data, from, to)
    while (list.next()) {
      if (list.type !== BYTES || list.number !== 1) continue
      this.gatherOne(data, list.from, list.to)
      this.steps.push(this.count)
    }
  }

  private gatherOne(data: Uint8Array, from: number, to: number): void {
    const { feature, values, places } = this
    feature.over(data, from, to)
    while (feature.next()) {
      if (feature.type !== BYTES || feature.number > 3) continue
      // Of two kinds in one feature the last counts, as protobuf has it.
      if (feature.number !== this.kind) {
        places.length = 0
        this.count = 0
      }
      this.kind = feature.number
      values.over(data, feature.from, feature.to)
      while (values.next()) {
        if (values.number !== 1) continue
        const { from, to } = values
        places.push(from, to)
        this.count += this.kind === 1 ? 1 : this.kind === 2 ? (to - from) / 4 : varints(data, from, to)
      }
    }
  }

  private column(data: Uint8Array, { column, item }: Target, sequence: boolean): Column | undefined {
    const { kind, places, count } = this
    if (kind === 0) return undefined
    if (kind === 1) {
      if (item !== undefined)
        return item < count ? data.subarray(places[2 * item], places[2 * item + 1]) : undefined
      if (count > 1)
        throw new SeveralError(
          column,
          `feature "${column}" has ${count} values of bytes: ask for one, as "${column}[0]"`,
        )
      return count === 0 ? undefined : data.subarray(places[0], places[1])
    }
    if (item !== undefined) return undefined
    const shape = sequence ? this.stacked(column, count) : [count]
    return kind === 2 ? floats(data, places, shape, count, column) : int64s(data, places, shape, count)
  }

  /** The shape of a sequence, whose steps must have the same number of values. */
  private stacked(column: string, count: number): number[] {
    const { steps } = this
    const each = count / Math.max(1, steps.length)
    const odd = steps.findIndex((end, i) => end !== (i + 1) * each)
    if (odd < 0) return [steps.length, each]
    throw new DecodeError(
      `feature list "${column}" has steps of different lengths (step ${odd}), which are no array: ask for "record"`,
    )
  }
}

function isName(data: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  if (to - from !== name.length) return false
  for (let i = 0; i < name.length; i++) if (data[from + i] !== name[i]) return false
  return true
}

function floats(
  data: Uint8Array,
  places: readonly number[],
  shape: number[],
  count: number,
  column: string,
): ArrayColumn {
  if (!Number.isInteger(count))
    throw new DecodeError(
      `feature "${column}" has floats of ${4 * count} bytes, no multiple of 4: the record is damaged`,
    )
  if (places.length === 2)
    return { dtype: 'f32', shape, tiles: [{ data: data.subarray(places[0], places[1]) }] }
  const all = new Uint8Array(4 * count)
  let at = 0
  for (let i = 0; i < places.length; i += 2) {
    all.set(data.subarray(places[i], places[i + 1]), at)
    at += places[i + 1] - places[i]
  }
  return { dtype: 'f32', shape, tiles: [{ data: all }] }
}

/** How many varints there are: each has one byte below 128, its last. */
function varints(data: Uint8Array, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) if (data[at] < 128) count++
  return count
}

/** Up to this many integers are decoded here and copied out: an ArrayBuffer for each label would be dear. */
const FEW = 8
const few = new Int32Array(2 * FEW)
const fewBytes = new Uint8Array(few.buffer)

function int64s(data: Uint8Array, places: readonly number[], shape: number[], count: number): ArrayColumn {
  const words = count <= FEW ? few : new Int32Array(2 * count)
  let word = 0
  for (let i = 0; i < places.length; i += 2) {
    const to = places[i + 1]
    for (let at = places[i]; at < to; word += 2) {
      let [low, high] = [0, 0]
      let byte = 128
      for (let shift = 0; byte >= 128; shift += 7) {
        if (at >= to || shift >= 70)
          throw new DecodeError('the record is no tf.Example: a number that has no end')
        byte = data[at++]
        const part = byte & 127
        if (shift < 28) low |= part << shift
        else if (shift > 28) high |= part << (shift - 32)
        else {
          low |= part << 28
          high = part >>> 4
        }
      }
      words[word] = low
      words[word + 1] = high
    }
  }
  const bytes = count <= FEW ? fewBytes.slice(0, 8 * count) : new Uint8Array(words.buffer)
  return { dtype: 'i64', shape, tiles: [{ data: bytes }] }
}

/**
 * Reads the fields of a protobuf message where they lie: number and wire type, then a varint, or the place of the bytes.
 * Nothing is copied, and nothing is allocated while it walks.
 */

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

class Fields {
  /** Of the field that `next` came to. */
  number = 0
  type = 0
  /** BYTES, FIXED32, FIXED64: where its bytes begin and end. */
  from = 0
  to = 0
  /** A varint's lower and upper 32 bits. */
  low = 0
  high = 0
  bytes: Uint8Array = new Uint8Array(0)
  private at = 0
  private end = 0

  /** Begins a message that lies from `from` to `to`. */
  over(bytes: Uint8Array, from: number, to: number): this {
    this.bytes = bytes
    this.at = from
    this.end = to
    return this
  }

  /** Goes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false
    const start = this.at
    this.varint()
    if (this.high !== 0 || this.low >>> 3 === 0) throw this.fault('a field without a number', start)
    this.number = this.low >>> 3
    this.type = this.low & 7
    this.from = this.at
    if (this.type === VARINT) this.varint()
    else if (this.type === BYTES) {
      this.varint()
      if (this.high !== 0) throw this.fault('a field that is too long', start)
      this.from = this.at
      this.at += this.low >>> 0
    } else if (this.type === FIXED64) this.at += 8
    else if (this.type === FIXED32) this.at += 4
    else throw this.fault(`a field of wire type ${this.type}`, start)
    if (this.at > this.end) throw this.fault('a field that reaches over the end', start)
    this.to = this.at
    return true
  }

  /** Reads a varint of a packed list, at `at`; gives where it ends. */
  varintAt(at: number): number {
    this.at = at
    this.varint()
    return this.at
  }

  private varint(): void {
    const { bytes, end } = this
    let at = this.at
    let low = 0
    let high = 0
    for (let shift = 0; ; shift += 7) {
      if (at >= end || shift >= 70) throw this.fault('a number that has no end', this.at)
      const byte = bytes[at++]
      const part = byte & 127
      if (shift < 28) low |= part << shift
      else if (shift === 28) {
        low |= part << 28
        high = part >>> 4
      } else high |= part << (shift - 32)
      if (byte < 128) break
    }
    this.at = at
    this.low = low
    this.high = high
  }

  private fault(what: string, at: number): DecodeError {
    return new DecodeError(
      `the record is no tf.Example: ${what}, at its byte ${at}: ask for the column "record", which has its bytes as they are`,
    )
  }
}
