/** The golden HDF5 files, and rows of a source as bytes. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { bytesOfStored, isTiled, type StoredDtype } from '../../../core/basics/array.js'
import { SourceError } from '../../../core/basics/errors.js'
import { plainArray } from '../../../core/basics/plain-array.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Column, Manifest, OpenContext, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import type { Hdf5Json } from '../../hdf5/open.js'

export const GOLDEN = join(import.meta.dirname, '../../../../test/golden/hdf5')

export interface GoldenDataset {
  path: string
  dtype?: string
  shape?: number[]
  sha256?: string
  texts?: string[]
  chunks: number[][] | null
  offset?: number | null
}

export interface GoldenFile {
  rows?: number
  datasets: Record<string, GoldenDataset>
  refused?: Record<string, string>
  lists?: Record<string, number[][]>
}

export const golden = JSON.parse(readFileSync(join(GOLDEN, 'index.json'), 'utf8')) as {
  files: Record<string, GoldenFile>
}

/** A folder with copies of golden files: indexes are written beside the data. */
export function goldenCopies(...names: string[]): string {
  const folder = temporaryFolder()
  for (const name of names) cpSync(join(GOLDEN, name), join(folder, name))
  return folder
}

export async function openHdf5(
  json: string | string[] | Hdf5Json,
  root: string,
  context: Partial<OpenContext> = {},
): Promise<{ source: Source; manifest: Manifest }> {
  const manifest = await openSource({ hdf5: json }, { root, wanted: [], ...context })
  return { source: attachSource(structuredClone(manifest)), manifest }
}

/** The error for files that can't be opened. */
export async function failure(json: string | string[] | Hdf5Json, root: string): Promise<SourceError> {
  const error = await openHdf5(json, root).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error
}

/** The columns of all rows, read as the engine does; arrays that are not read yet are. */
export async function readAll(source: Source, columns: readonly string[]): Promise<Record<string, Column>[]> {
  using stores = new Stores()
  const reader = new Reader(stores)
  const rows = new RowReader(source, reader)
  const out: Record<string, Column>[] = []
  for (let row = 0; row < source.count; row++) {
    const { sample } = await rows.read(row, columns)
    const kept: Record<string, Column> = {}
    for (const [name, value] of Object.entries(sample)) kept[name] = await landed(value, reader)
    out.push(kept)
  }
  return out
}

async function landed(value: Column, reader: Reader): Promise<Column> {
  if (value instanceof Uint8Array) return value.slice()
  if (!isTiled(value)) return value
  const tiles = []
  for (const tile of value.tiles) {
    const { data } = tile
    if (data instanceof Uint8Array) tiles.push({ ...tile, data: data.slice() })
    else {
      const into = new Uint8Array(data.length)
      await reader.readInto(data, into)
      tiles.push({ ...tile, data: into })
    }
  }
  return { ...value, tiles }
}

/** A value as little-endian bytes in C order. */
export function bytesOfValue(value: Column, dtype: StoredDtype): Uint8Array {
  if (isTiled(value)) return plainArray(value).data.slice()
  const bytes = Buffer.alloc(bytesOfStored(dtype))
  if (typeof value === 'bigint') bytes.writeBigInt64LE(BigInt.asIntN(64, value))
  else if (dtype === 'f64') bytes.writeDoubleLE(value as number)
  else if (dtype === 'f32') bytes.writeFloatLE(value as number)
  else bytes.writeIntLE(value as number, 0, bytes.length)
  return bytes
}
