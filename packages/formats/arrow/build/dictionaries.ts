/**
 * The dictionaries of a file while it is indexed: their entries go into the index, one behind the other. A batch that adds to a
 * dictionary adds entries; one that replaces it begins anew behind the old ones. A unit notes where its dictionary begins and ends.
 */
import { DecodeError, inFile } from '../../../core/basics/errors.js'
import { decompressInto } from '../../../core/codec/codec.js'
import { NumberBuilder, TextBuilder } from '../../../core/source/index/columns.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { type Batch, type BatchCodec, type Message, parseBatch } from '../metadata/message.js'
import type { Field, Schema } from '../metadata/schema.js'
import { FieldView, type UnitBuffers } from '../view.js'

/** Bytes of all dictionaries of a file: they are copied into the index. */
const MOST_BYTES = 256 << 20

export interface DictionaryBuilder {
  id: number
  values: Field
  entries: TextBuilder
  /** 1 where an entry is null. */
  nulls: NumberBuilder
  /** Of each unit: the first entry of its dictionary, and the one behind the last. */
  from: NumberBuilder
  to: NumberBuilder
}

/** For each dictionary: its first entry, and the one behind its last. */
export type DictionarySpans = readonly (readonly [number, number])[]

export class Dictionaries {
  private readonly builders = new Map<number, DictionaryBuilder & { base: number }>()
  private bytes = 0

  constructor(
    private readonly file: string,
    private readonly read: ReadAt,
  ) {}

  get all(): Iterable<DictionaryBuilder> {
    return this.builders.values()
  }

  /** All dictionaries that fields of the schema have. */
  begin({ fields }: Schema): void {
    const add = ({ dictionary, children }: Field): void => {
      if (dictionary !== undefined) {
        const { id, values } = dictionary
        const numbers = { nulls: new NumberBuilder(), from: new NumberBuilder(), to: new NumberBuilder() }
        if (!this.builders.has(id))
          this.builders.set(id, { id, values, entries: new TextBuilder(), ...numbers, base: 0 })
        add(values)
      }
      children.forEach(add)
    }
    fields.forEach(add)
  }

  async add(message: Message, at: number): Promise<void> {
    const { header, bodyBytes } = message
    const id = header.i64(0)
    const data = header.table(1)
    const builder = this.builders.get(id)
    if (data === undefined || builder === undefined)
      return header.buffer.fail(`there is a dictionary ${id} that no field has, or that has no entries`)
    const { values, entries, nulls } = builder
    this.bytes += bodyBytes
    if (this.bytes > MOST_BYTES)
      throw inFile(
        this.file,
        `: its dictionaries have more than ${MOST_BYTES} bytes: write these columns without a dictionary`,
        { offset: at },
      )
    if (values.children.length > 0) return // such columns can't be read
    const batch = parseBatch(data, [values], 1, { at, bytes: bodyBytes })
    if (header.i8(2) === 0) builder.base = entries.length
    const read = await this.buffers(batch)
    try {
      const buffers = read.map(bytes => unpacked(batch.codec, bytes))
      const view = new FieldView(values, unitOf(batch, buffers))
      for (let i = 0; i < batch.rows; i++) {
        const isNull = view.isNull(i)
        entries.pushBytes(isNull ? NO_BYTES : view.entryBytes(i))
        nulls.push(isNull ? 1 : 0)
      }
    } catch (cause) {
      throw inFile(
        this.file,
        `: the dictionary at offset ${at} is damaged: ${(cause as Error).message}: write the file again`,
        { offset: at, cause },
      )
    }
  }

  /** The dictionaries as they are now: the first entry of each, and the one behind the last. */
  now(): DictionarySpans {
    return [...this.builders.values()].map(({ base, entries }) => [base, entries.length])
  }

  /** Notes for so many units which dictionaries they have. */
  note(spans: DictionarySpans, units: number): void {
    let k = 0
    for (const { from, to } of this.builders.values()) {
      const [first, end] = spans[k++]
      for (let i = 0; i < units; i++) {
        from.push(first)
        to.push(end)
      }
    }
  }

  private async buffers({ at, size }: Batch): Promise<Buffer[]> {
    const buffers: Buffer[] = []
    for (let k = 0; k < at.length; k++) {
      const into = Buffer.allocUnsafeSlow(size[k])
      await this.read(into, at[k])
      buffers.push(into)
    }
    return buffers
  }
}

const NO_BYTES = new Uint8Array(0)

function unitOf(batch: Batch, buffers: readonly Uint8Array[]): UnitBuffers {
  return {
    buffer: (_, k) => buffers[k],
    more: () => batch.more[0],
    length: () => batch.lengths[0],
    bit: () => 0,
    hasNulls: () => batch.nulls[0] !== 0 && buffers[0].length > 0,
    sliced: false,
    dictionary: () => {
      throw new DecodeError('a dictionary within a dictionary')
    },
  }
}

function unpacked(codec: BatchCodec, read: Buffer): Uint8Array {
  if (codec === 'none' || read.length === 0) return read
  const raw = read.length < 8 ? -2 : read.readInt32LE(4) * 2 ** 32 + read.readUInt32LE(0)
  if (raw === -1) return read.subarray(8)
  if (!(raw >= 0 && raw <= MOST_BYTES)) throw new DecodeError(`a buffer says that it unpacks to ${raw} bytes`)
  const into = new Uint8Array(raw)
  const written = raw === 0 ? 0 : decompressInto(codec, read.subarray(8), into)
  if (written !== raw) throw new DecodeError(`a buffer unpacks to ${written} bytes, and it says ${raw}`)
  return into
}
