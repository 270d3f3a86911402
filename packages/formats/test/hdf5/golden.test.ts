/** Files that h5py and netCDF4 wrote, in every layout, type and filter: values, and the addresses of chunks, are those of the library. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isTiled, type StoredDtype } from '../../../core/basics/array.js'
import { toF16 } from '../../../core/basics/dtype.js'
import { IndexFile } from '../../../core/source/index/file.js'
import type { Hdf5Manifest } from '../../hdf5/hdf5-source.js'
import { tablesOf } from '../../hdf5/index-tables.js'
import { bytesOfValue, golden, goldenCopies, openHdf5, readAll } from './support.js'

const files = Object.entries(golden.files).filter(([, { rows }]) => rows !== undefined && rows > 0)
const folder = goldenCopies(...files.map(([name]) => name))

const DTYPES: Record<string, StoredDtype> = {
  bool: 'bool',
  int8: 'i8',
  int16: 'i16',
  int32: 'i32',
  int64: 'i64',
  uint8: 'u8',
  uint16: 'u16',
  uint32: 'u32',
  uint64: 'u64',
  float16: 'f16',
  float32: 'f32',
  float64: 'f64',
}

describe.each(files)('%s', (name, file) => {
  it.each(Object.entries(file.datasets))('%s', async (column, expected) => {
    const set = column.split('.')[0]
    const { source, manifest } = await openHdf5({ path: name, datasets: { [set]: expected.path } }, folder)
    const rows = (await readAll(source, [column])).map(row => row[column])
    if (expected.texts !== undefined) {
      expect(rows.map(row => Buffer.from(row as Uint8Array).toString())).toEqual(expected.texts)
      return
    }
    expect(source.count).toBe(expected.shape![0])
    const dtype = DTYPES[expected.dtype!]
    for (const row of rows) {
      if (!isTiled(row)) expect(expected.shape).toHaveLength(1)
      else expect([row.dtype, ...row.shape]).toEqual([dtype, ...expected.shape!.slice(1)])
    }
    const bytes = rows.map(row =>
      dtype === 'f16' && typeof row === 'number' ? halfBytes(row) : bytesOfValue(row, dtype),
    )
    const hash = createHash('sha256').update(Buffer.concat(bytes)).digest('hex').slice(0, 32)
    expect(hash).toBe(expected.sha256)
    if (expected.chunks !== null) expect(chunksOf(manifest as Hdf5Manifest)).toEqual(expected.chunks)
  })

  it.skipIf(file.refused === undefined)('refuses by name what it can not read', async () => {
    for (const [path, word] of Object.entries(file.refused!)) {
      const error = await openHdf5({ path: name, datasets: { x: path } }, folder).catch(e => e)
      expect(error.message).toContain(`${join(folder, name)}: dataset "/${path}" can't be read`)
      expect(error.message).toContain(word)
    }
  })
})

const halfBytes = (value: number): Uint8Array => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(toF16(value))
  return bytes
}

/** Place, address, size and mask of each chunk that was written, as h5py lists them. */
function chunksOf({ files: [{ index, datasets }] }: Hdf5Manifest): number[][] {
  const tables = tablesOf(new IndexFile(index))
  const [number] = datasets
  const [from, to] = [tables.dimStart[number], tables.dimStart[number + 1]]
  const dims = Array.from(tables.dims.subarray(from, to))
  const chunk = Array.from(tables.chunkDims.subarray(from, to))
  const sides = dims.map((n, i) => Math.ceil(n / chunk[i]))
  const found: number[][] = []
  for (let i = 0; i < sides.reduce((a, b) => a * b, 1); i++) {
    const at = tables.firstChunk[number] + i
    if (tables.chunkOffset[at] === 0) continue
    let rest = i
    const place = sides.map(() => 0)
    for (let axis = sides.length - 1; axis >= 0; axis--) {
      place[axis] = (rest % sides[axis]) * chunk[axis]
      rest = Math.floor(rest / sides[axis])
    }
    // Chunks at an edge that went through no filter have no mask in the file.
    const mask = tables.chunkMask[at] === 0xffffffff ? 0 : tables.chunkMask[at]
    found.push([...place, tables.chunkOffset[at], tables.chunkBytes[at], mask])
  }
  return found.sort(byPlace)
}

function byPlace(a: number[], b: number[]): number {
  const axis = a.findIndex((n, i) => n !== b[i])
  return axis < 0 ? 0 : a[axis] - b[axis]
}

describe('values of varying length', () => {
  it('of numbers are arrays, of bytes are bytes', async () => {
    const datasets = { lists: '/lists', pictures: '/pictures' }
    const { source } = await openHdf5({ path: 'types.h5', datasets }, folder)
    const rows = await readAll(source, ['lists', 'pictures'])
    rows.forEach(({ lists, pictures }, i) => {
      if (!isTiled(lists)) throw new Error('no array')
      const data = bytesOfValue(lists, 'i32')
      expect([...new Int32Array(data.buffer, 0, data.length / 4)]).toEqual(
        golden.files['types.h5'].lists!.lists[i],
      )
      expect(pictures).toHaveLength(9 + 2000 * i)
      expect(Buffer.from(pictures as Uint8Array).toString('latin1', 0, 9)).toBe(`picture ${i}`)
    })
  })

  it('and opaque bytes are bytes', async () => {
    const { source } = await openHdf5({ path: 'types.h5', datasets: { x: 'opaque' } }, folder)
    expect((await readAll(source, ['x'])).map(({ x }) => [...(x as Uint8Array)])).toEqual(
      [0, 1, 2, 3, 4, 5].map(i => [i, i, i, i, i]),
    )
  })
})
