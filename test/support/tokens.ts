/** Token files for tests, written by plain loops, and a look at the rows that a source makes of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TokensJson } from '../../packages/core/define/token-types.js'
import type { SourceJson } from '../../packages/core/define/types.js'
import { attachSource, openSource } from '../../packages/core/source/registry.js'
import { RowReader } from '../../packages/core/source/row-reader.js'
import type { ArrayColumn, OpenContext, Source } from '../../packages/core/source/source.js'
import { Reader } from '../../packages/core/store/reader.js'
import { Stores } from '../../packages/core/store/stores.js'

/** Documents of these lengths, whose tokens tell where they lie: all are different, from `first` on. */
export function documentsOf(lengths: readonly number[], first = 1): number[][] {
  let next = first
  return lengths.map(length => Array.from({ length }, () => next++))
}

/** A file without a header: u16. */
export function writeNanogpt(folder: string, name: string, documents: readonly number[][]): void {
  writeFileSync(join(folder, name), new Uint8Array(Uint16Array.from(documents.flat()).buffer))
}

/** Megatron-LM's two files, u16 or i32. */
export function writeMegatron(
  folder: string,
  name: string,
  documents: readonly number[][],
  dtype: 'u16' | 'i32' = 'u16',
): void {
  const Type = dtype === 'u16' ? Uint16Array : Int32Array
  writeFileSync(join(folder, `${name}.bin`), new Uint8Array(Type.from(documents.flat()).buffer))
  const count = documents.length
  const index = Buffer.alloc(34 + 12 * count + 8 * (count + 1))
  index.write('MMIDIDX\0\0', 'latin1')
  index.writeBigUInt64LE(1n, 9)
  index.writeUInt8(dtype === 'u16' ? 8 : 4, 17)
  index.writeBigUInt64LE(BigInt(count), 18)
  index.writeBigUInt64LE(BigInt(count + 1), 26)
  let pointer = 0
  documents.forEach((document, i) => {
    index.writeInt32LE(document.length, 34 + 4 * i)
    index.writeBigInt64LE(BigInt(pointer), 34 + 4 * count + 8 * i)
    pointer += document.length * Type.BYTES_PER_ELEMENT
  })
  for (let i = 0; i <= count; i++) index.writeBigInt64LE(BigInt(i), 34 + 12 * count + 8 * i)
  writeFileSync(join(folder, `${name}.idx`), index)
}

/** A row's columns as lists of numbers. */
export type RowValues = Record<string, number[]>

export class TokenReader {
  readonly notices: string[] = []
  private readonly reader: RowReader

  constructor(readonly source: Source) {
    this.reader = new RowReader(source, new Reader(new Stores()))
  }

  row(row: number, columns: readonly string[], epoch = 0): RowValues {
    const read = this.reader.read(row, columns, epoch)
    if (read instanceof Promise) throw new Error('local files are read at once')
    return Object.fromEntries(
      Object.entries(read.sample).map(([name, value]) => [
        name,
        typeof value === 'number' ? [value] : numbersIn(value as ArrayColumn),
      ]),
    )
  }

  rows(columns: readonly string[], epoch = 0): RowValues[] {
    return Array.from({ length: this.source.count }, (_, row) => this.row(row, columns, epoch))
  }
}

/** Opens token files as a feed does; `more` are options of the source. */
export async function openRows(
  root: string,
  json: TokensJson | SourceJson,
  wanted: readonly string[] = ['input', 'target'],
  more: Partial<OpenContext> = {},
): Promise<TokenReader> {
  const source = ('path' in json ? { tokens: json } : json) as SourceJson
  const notices: string[] = []
  const manifest = await openSource(source, {
    root,
    wanted: [...wanted],
    notice: text => notices.push(text),
    ...more,
  })
  const reader = new TokenReader(attachSource(structuredClone(manifest)))
  reader.notices.push(...notices)
  return reader
}

function numbersIn({ dtype, shape, tiles }: ArrayColumn): number[] {
  const out: number[] = []
  for (const { data, at = [0] } of tiles) {
    const bytes = data as Uint8Array
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const read: Record<string, [number, (at: number) => number]> = {
      u8: [1, i => view.getUint8(i)],
      bool: [1, i => view.getUint8(i)],
      u16: [2, i => view.getUint16(i, true)],
      i32: [4, i => view.getInt32(i, true)],
      u32: [4, i => view.getUint32(i, true)],
      i64: [8, i => Number(view.getBigInt64(i, true))],
    }
    const [size, number] = read[dtype]
    for (let i = 0; i * size < bytes.length; i++) out[at[0] + i] = number(i * size)
  }
  if (out.length !== shape[0]) throw new Error(`${out.length} elements, and the shape is ${shape}`)
  return out
}
