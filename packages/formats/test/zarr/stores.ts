/** The golden Zarr stores, and rows of a source as bytes that can be compared with what zarr-python read. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { landed, plainArray } from '../../../core/basics/plain-array.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Column, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import type { ZarrJson } from '../../zarr/open.js'

export interface GoldenColumn {
  dtype?: string
  shape: number[]
  hex?: string
  texts?: string[]
}

export interface GoldenStore {
  name: string
  files: Record<string, string>
  columns: Record<string, GoldenColumn>
  source?: Omit<Extract<ZarrJson, { path: unknown }>, 'path'>
}

const file = join(import.meta.dirname, '../../../../test/golden/zarr/stores.json')
export const GOLDEN: readonly GoldenStore[] = JSON.parse(readFileSync(file, 'utf8')).stores

export function golden(name: string): GoldenStore {
  const store = GOLDEN.find(one => one.name === name)
  if (store === undefined) throw new Error(`no golden store "${name}"`)
  return store
}

/** Writes a golden store below a folder. */
export function writeStore({ files }: GoldenStore, folder: string): void {
  for (const [path, base64] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), Buffer.from(base64, 'base64'))
  }
}

export async function openZarr(zarr: ZarrJson, root = '/'): Promise<Source> {
  return attachSource(await openSource({ zarr } as SourceJson, { root, wanted: [] }))
}

/** Reads all rows of a source: of each column its values, one behind the other. */
export async function readAll(source: Source): Promise<Record<string, GoldenColumn>> {
  using stores = new Stores()
  const reader = new Reader(stores)
  const rows = new RowReader(source, reader)
  const read: Record<string, { hex: string[]; texts: string[]; dtype?: string; shape: readonly number[] }> =
    {}
  for (let row = 0; row < source.count; row++) {
    const { sample } = await rows.read(row, source.columns)
    for (const [name, value] of Object.entries(sample)) {
      read[name] ??= { hex: [], texts: [], shape: [] }
      const column = read[name]
      if (typeof value === 'string') column.texts.push(value)
      else if (value instanceof Uint8Array) column.texts.push(Buffer.from(value).toString())
      else {
        const { dtype, shape, data } = await whole(value, reader)
        Object.assign(column, { dtype, shape })
        column.hex.push(Buffer.from(data).toString('hex'))
      }
    }
  }
  return Object.fromEntries(
    Object.entries(read).map(([name, { hex, texts, dtype, shape }]) => {
      const all = [source.count, ...shape]
      return [name, dtype === undefined ? { shape: all, texts } : { dtype, shape: all, hex: hex.join('') }]
    }),
  )
}

async function whole(value: Column, reader: Reader) {
  if (typeof value !== 'object' || value instanceof Uint8Array) throw new Error(`no array: ${value}`)
  return plainArray(await landed(value, (range, into) => reader.readInto(range as never, into)))
}
