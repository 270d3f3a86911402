/** Files with arrays give what NumPy and safetensors put into them: as samples, and row by row. */
import { closeSync, cpSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import { countOf, isTiled } from '../../../core/basics/array.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { numbersOf, plainArray } from '../../../core/basics/plain-array.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader, readUnread } from '../../../core/source/row-reader.js'
import type { Column, Manifest, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms } from '../../../core/test/source/conformance.js'
import { verify } from '../../../tools/prepare/verify/verify.js'
import type { ArrayFilesJson } from '../../arrays/manifest.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrays')
const { files } = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
  files: Record<string, Record<string, { shape: number[]; values: (number | string)[] }>>
}
const folder = temporaryFolder()

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(folder, 'cache')
  addStore('slow', {
    attach: () => retried(new SlowStore({ folder: golden, latency: 1, errors: 0.05 }), 100),
  })
})

const jsonOf = (name: string, about: ArrayFilesJson): SourceJson =>
  ({ [name.slice(name.lastIndexOf('.') + 1)]: about }) as unknown as SourceJson

const open = (json: SourceJson, wanted: string[] = []): Promise<Manifest> =>
  openSource(json, { root: golden, wanted })

/** All values of a column, as numbers; those of 64 bits as text. */
function valuesOf(value: Column): { shape: readonly number[]; values: (number | string)[] } {
  if (typeof value === 'string') return { shape: [], values: [value] }
  if (value instanceof Uint8Array) return { shape: [], values: [Buffer.from(value).toString()] }
  if (!isTiled(value)) throw new Error('an array was expected')
  const plain = plainArray(value)
  const { data } = plain
  if (plain.dtype === 'i64' || plain.dtype === 'u64') {
    const view = new DataView(data.buffer, data.byteOffset)
    const read = plain.dtype === 'i64' ? 'getBigInt64' : 'getBigUint64'
    const values = Array.from({ length: countOf(plain.shape) }, (_, i) => String(view[read](8 * i, true)))
    return { shape: plain.shape, values }
  }
  return { shape: plain.shape, values: [...numbersOf(plain)] }
}

async function rowsOf(source: Source, columns = source.columns): Promise<Record<string, unknown>[]> {
  using stores = new Stores()
  const reader = new RowReader(source, new Reader(stores))
  const rows: Record<string, unknown>[] = []
  for (let row = 0; row < source.count; row++) {
    const { sample } = await reader.read(row, columns)
    const values = Object.entries(sample).map(([name, value]) => [name, valuesOf(value)])
    rows.push(Object.fromEntries(values))
  }
  return rows
}

const isText = ({ values }: { values: (number | string)[] }): boolean =>
  typeof values[0] === 'string' && !/^-?\d+$/.test(values.find(value => value !== '') as string)

describe.each(Object.keys(files))('%s', name => {
  const expected = files[name]

  it('as one sample has the columns that were put into it', async () => {
    const source = attachSource(await open(jsonOf(name, name)))
    const columns = Object.keys(expected).filter(column => !isText(expected[column]))
    const [row] = await rowsOf(source, columns)
    expect(row).toEqual(Object.fromEntries(columns.map(column => [column, expected[column]])))
    expect(source.columns).toEqual(expect.arrayContaining(Object.keys(expected)))
  })

  it.skipIf(['scalar.npy', 'empty.npy'].includes(name))('has its first axis as rows', async () => {
    const source = attachSource(await open(jsonOf(name, { path: name, rows: 'axis' })))
    const columns = Object.keys(expected).filter(column => expected[column].shape[0] === source.count)
    expect([...source.columns].sort()).toEqual(columns.sort())
    const rows = await rowsOf(source)
    rows.forEach((row, i) => {
      for (const column of columns) {
        const { shape, values } = expected[column]
        const each = values.length / source.count
        expect(row[column], column).toEqual({
          shape: shape.slice(1),
          values: values.slice(i * each, (i + 1) * each),
        })
      }
      expect(source.id(i)).toBe(`${name}:${i}`)
    })
    const far = attachSource(await open(jsonOf(name, { path: `slow://${name}`, rows: 'axis' })))
    expect(await rowsOf(far)).toEqual(rows)
  })
})

describe('.npy files with a name for their column', () => {
  const [name] = Object.keys(files).filter(
    file => file.endsWith('.npy') && files[file].data?.shape.length > 1,
  )
  const [first, second] = ['data', 'label'].map(column => ({
    npy: { path: name, rows: 'axis' as const, column },
  }))

  it('stand side by side in a zip, each under its own', async () => {
    const wanted = ['data', 'label']
    const source = attachSource(structuredClone(await open({ zip: [first, second] }, wanted)))
    for (const row of await rowsOf(source, wanted)) expect(row.label).toEqual(row.data)
    expect(source.layout!()!.schema.map(column => column.name)).toEqual(wanted)
    await expect(open({ zip: [first, first] }, wanted)).rejects.toThrow('"rename": {"data": NAME}')
  })

  it('have the order that they had without it', async () => {
    const plain = await open({ npy: { path: name, rows: 'axis' } })
    expect((await open(second)).fingerprint).toEqual(plain.fingerprint)
  })

  it('are no records, whose fields have names', async () => {
    await expect(open({ npy: { path: 'records.npy', column: 'x' } })).rejects.toThrow('leave "column" out')
  })
})

it('members that are no arrays are bytes', async () => {
  const source = attachSource(await open({ npz: 'streamed.npz' }))
  expect((await rowsOf(source, ['note.txt']))[0]).toEqual({
    'note.txt': { shape: [], values: ['no array'] },
  })
})

it.each([
  ['objects.npy', 'pickled Python objects, which are never loaded'],
  ['complex.npy', 'elements of type "<c8"'],
])('%s is refused by name', async (name, why) => {
  await expect(open({ npy: name })).rejects.toThrow(why)
})

it('a column that can not be fed is refused where a field asks for it, and the others can be read', async () => {
  await expect(open({ safetensors: 'bf16.safetensors' }, ['q'])).rejects.toThrow('tensor of type F8_E4M3')
  expect(attachSource(await open({ safetensors: 'bf16.safetensors' }, ['b'])).columns).toEqual(['b'])
})

it('arrays of another first axis are left out, with a notice, and refused where a field asks for them', async () => {
  const json: SourceJson = { npz: { path: 'stored.npz', rows: 'axis' } }
  const notices: string[] = []
  await openSource(json, { root: golden, wanted: ['x'], notice: text => notices.push(text) })
  expect(notices.join()).toContain('"classes", "seed" are left out')
  await expect(open(json, ['classes'])).rejects.toThrow(
    'its first axis is not as long as that of the other arrays',
  )
})

it('tells its layout, and what is slow about it', async () => {
  const layout = async (name: string) => attachSource(await open({ npz: name })).layout?.()
  expect(await layout('stored.npz')).toMatchObject({
    codecs: [],
    schema: expect.arrayContaining([
      { name: 'x', type: 'u8 [6, 4, 3]' },
      { name: 'f', type: 'f32 (Fortran order) [6, 5]' },
    ]),
  })
  expect((await layout('deflated.npz'))?.slow).toContain('savez instead of savez_compressed')
  const both = (await layout('{deflated,stored}.npz'))?.slow
  expect(both).toMatch(/^\w+ \(in some files\), .* deflated/)
})

/** An .npy file of zeros, sparse: `rows` rows of a mebibyte, the last of which is all ones. */
function sparse(path: string, rows: number): void {
  const text = `${`{'descr': '|u1', 'fortran_order': False, 'shape': (${rows}, ${1 << 20}), }`.padEnd(117)}\n`
  const head = Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
    Buffer.from([118, 0]),
    Buffer.from(text),
  ])
  writeFileSync(path, head)
  truncateSync(path, head.length + rows * (1 << 20))
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(1 << 20, 1), 0, 1 << 20, head.length + (rows - 1) * (1 << 20))
  closeSync(file)
}

it('rows lie beyond 4 GiB, and large ones are left for the slot', async () => {
  const path = join(folder, 'large.npy')
  sparse(path, 5000)
  const source = attachSource(await open({ npy: { path, rows: 'axis' } }))
  const value = source.sample(4999, 0, ['data'], { ranges: [], units: [] }).data
  if (!isTiled(value)) throw new Error('an array was expected')
  expect(value.tiles[0].data).toMatchObject({ file: path, offset: 128 + 4999 * 2 ** 20, length: 2 ** 20 })
  using stores = new Stores()
  expect(await readUnread({ value }, new Reader(stores))).toBe(2 ** 20)
})

describe('damage', () => {
  const damaged = (name: string, change: (bytes: Buffer) => Buffer): string => {
    const path = join(folder, `damaged-${Math.random()}-${name}`)
    writeFileSync(path, change(readFileSync(join(golden, name))))
    return path
  }

  it.each([
    ['u1.npy', 140, 'needs 30 bytes, but there are 12: it is cut off'],
    ['stored.npz', 1000, 'is no zip archive, or its end is missing'],
    ['tensors.safetensors', 200, 'does not fit into a file of 200'],
  ])('%s that is cut off names the file, and the offset', async (name, length, why) => {
    const path = damaged(name, bytes => bytes.subarray(0, length))
    const error = await open(jsonOf(name, path)).catch(error => error as SourceError)
    expect(error).toBeInstanceOf(SourceError)
    expect((error as SourceError).message).toContain(basename(path))
    expect((error as SourceError).message).toContain(why)
    expect((error as SourceError).offset).toBeGreaterThanOrEqual(0)
  })

  it('a deflated array with a wrong checksum is a bad sample', async () => {
    const path = damaged('deflated.npz', bytes => {
      const directory = bytes.indexOf(Buffer.from('PK\x01\x02'))
      bytes[directory + 16] ^= 1
      return bytes
    })
    const source = attachSource(await open({ npz: path }))
    const failure = await rowsOf(source, ['x']).catch(error => error as Error)
    expect(failure).toBeInstanceOf(DecodeError)
    expect((failure as Error).message).toContain('another checksum (CRC-32) than the archive says')
  })

  it('a deflated array that no field could take is not unpacked', async () => {
    const path = join(folder, 'bomb.npz')
    const header = `{'descr': '|u1', 'fortran_order': False, 'shape': (${128 << 20},), }`.padEnd(117)
    const npy = Buffer.concat([
      Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
      Buffer.from(`${header}\n`),
    ])
    writeFileSync(path, zipOf('x.npy', Buffer.concat([npy, Buffer.alloc(128 << 20)])))
    const manifest = await openSource({ npz: path }, { root: folder, wanted: ['x'], most: { x: 4096 } })
    const failure = await rowsOf(attachSource(manifest), ['x']).catch(error => error as Error)
    expect(failure).toBeInstanceOf(DecodeError)
    expect((failure as Error).message).toBe(
      'column "x" unpacks to 134217728 bytes, and its field takes 4096 at most: raise its "shape", or leave the file out',
    )
  })

  it('a stored array with a wrong checksum is a bad sample, where it is read as a whole', async () => {
    const path = damaged('stored.npz', bytes => {
      bytes[bytes.indexOf('names.npy') - 31] ^= 1 // the last byte of "f", which is in Fortran's order
      return bytes
    })
    for (const rows of ['files', 'axis'] as const) {
      const source = attachSource(await open({ npz: { path, rows } }))
      await expect(rowsOf(source, ['f'])).rejects.toThrow(
        /the member at offset \d+ has another checksum \(CRC-32\) than the archive says/,
      )
      expect(await rowsOf(source, ['x'])).not.toEqual([])
    }
  })

  it('verify compares the checksums of all stored arrays', async () => {
    const path = damaged('stored.npz', bytes => {
      bytes[bytes.indexOf('PK\x01\x02') - 1] ^= 1
      return bytes
    })
    const verifying = (file: string) => verify({ npz: file }, { root: golden, workers: 0 })
    expect((await verifying('stored.npz')).bad).toEqual([])
    const error = await verifying(path).catch(error => error as SourceError)
    expect(error).toBeInstanceOf(SourceError)
    expect((error as Error).message).toMatch(/at byte \d+: zip member ".*" has another checksum \(CRC-32\)/)
  })

  it('a file that was changed is indexed anew, with a notice', async () => {
    const path = join(folder, 'changing.npz')
    cpSync(join(golden, 'one-row.npz'), path)
    await open({ npz: path })
    writeFileSync(path, readFileSync(join(golden, 'zip64.npz')))
    const notices: string[] = []
    const manifest = await openSource(
      { npz: { path, rows: 'axis' } },
      { root: folder, wanted: [], notice: text => notices.push(text) },
    )
    expect(manifest.fingerprint.count).toBe(6)
    expect(notices.join()).toContain('files were changed after it was made')
  })
})

const copy =
  (...names: string[]) =>
  (root: string): void => {
    for (const name of names) cpSync(join(golden, name), join(root, name))
  }

for (const [name, file, column] of [
  ['npy', 'i2.npy', 'data'],
  ['npz', 'stored.npz', 'x'],
  ['npz', 'deflated.npz', 'x'],
  ['safetensors', 'tensors.safetensors', 'x'],
]) {
  for (const rows of ['files', 'axis'] as const) {
    const { shape } = files[file][column]
    conforms({
      name: `${file}, ${rows}`,
      json: { [name]: { path: `*.${name}`, rows } } as unknown as SourceJson,
      wanted: [column],
      write: copy(file),
      change: root => cpSync(join(golden, file), join(root, `more.${name}`)),
      count: rows === 'files' ? 1 : shape[0],
      first: { [column]: '[object Object]' },
    })
  }
}

/** A zip archive of one deflated member, without its checksum. */
function zipOf(name: string, bytes: Buffer): Buffer {
  const data = deflateRawSync(bytes, { level: 1 })
  const about = Buffer.alloc(26)
  about.writeUInt16LE(20)
  about.writeUInt16LE(8, 4)
  about.writeUInt32LE(data.length, 14)
  about.writeUInt32LE(bytes.length, 18)
  about.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), about, Buffer.from(name), data])
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), about, Buffer.alloc(14), Buffer.from(name)])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length, 12)
  end.writeUInt32LE(local.length, 16)
  return Buffer.concat([local, entry, end])
}
