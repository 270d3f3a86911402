/** Files by the package `tfrecord`, whose messages are Google's protobuf, give the values that it read back. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { isTiled } from '../../../core/basics/array.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import type { Column } from '../../../core/source/source.js'
import { readRow } from '../../../core/test/source/conformance.js'

type Expected = { bytes: string[] } | { f32: string; shape: number[] } | { i64: string[]; shape: number[] }

interface Row {
  record: string
  features: Record<string, Expected | null> | null
}

const golden = join(import.meta.dirname, '../../../../test/golden/tfrecord')
const home = temporaryFolder()
const files = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Record<string, Row[]>

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** A column in the form of expected.json. */
function reported(value: Column): Expected {
  if (value instanceof Uint8Array) return { bytes: [base64(value)] }
  if (typeof value !== 'object' || !isTiled(value)) throw new Error(`a value of ${typeof value}`)
  const data = value.tiles[0].data as Uint8Array
  if (value.dtype === 'f32') return { f32: base64(data), shape: [...value.shape] }
  expect(value.dtype).toBe('i64')
  const i64 = Array.from(new BigInt64Array(Uint8Array.from(data).buffer), String)
  return { i64, shape: [...value.shape] }
}

for (const [file, rows] of Object.entries(files).filter(([, rows]) => rows.length > 0)) {
  it(`reads ${file} as protobuf does`, async () => {
    copyFileSync(join(golden, file), join(home, file))
    const source = attachSource(await openSource({ tfrecord: file }, { root: home, wanted: [] }))
    expect(source.count).toBe(rows.length)
    rows.forEach(({ record, features }, row) => {
      expect(base64(readRow(source, row, ['record']).record as Uint8Array)).toBe(record)
      if (features === null) {
        expect(source.columns).toEqual(['record'])
        return
      }
      for (const [name, value] of Object.entries(features)) {
        if (value !== null && 'bytes' in value && value.bytes.length !== 1) {
          const columns = [...value.bytes.keys(), value.bytes.length].map(i => `${name}[${i}]`)
          const sample = readRow(source, row, columns)
          expect(columns.map(column => sample[column] && reported(sample[column]))).toEqual([
            ...value.bytes.map(one => ({ bytes: [one] })),
            undefined,
          ])
          continue
        }
        const sample = readRow(source, row, [name])
        expect(name in sample ? reported(sample[name]) : null, `${name} of row ${row}`).toEqual(value)
      }
      // All at once give what each gives alone, and none that was not asked for.
      const single = Object.keys(features).filter(name => !(features[name] && 'bytes' in features[name]))
      const all = readRow(source, row, [...single, 'no such feature'])
      for (const name of Object.keys(all)) expect(reported(all[name])).toEqual(features[name])
    })
  })
}

it('names the features of the first records, with their types', async () => {
  const open = async (file: string) =>
    attachSource(await openSource({ tfrecord: file }, { root: home, wanted: [] }))
  const plain = await open('plain.tfrecord')
  expect([...plain.columns].sort()).toEqual([
    'box',
    'image',
    'label',
    'name',
    'none',
    'odd',
    'record',
    'tags',
    'tokens',
    'wide',
  ])
  const types = Object.fromEntries((plain.layout?.()?.schema ?? []).map(({ name, type }) => [name, type]))
  expect(types).toMatchObject({
    image: 'bytes',
    label: 'int64 [1]',
    box: 'float [4]',
    tokens: 'int64 [n]',
    record: 'bytes',
  })
  const sequence = await open('sequence.tfrecord')
  expect(sequence.columns).toEqual(expect.arrayContaining(['id', 'title', 'frames', 'xy', 'steps']))
})
