/** `missing`: what stands for a value that a sample lacks, and what happens where nothing does. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AnyBatch, engine, type FeedJson, feedModule, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import { bytes, category, float, int, npy, points, text } from '../../../all/index.js'
import { contentHash } from '../../define/hash.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { FieldJson } from '../../define/types.js'

const root = temporaryFolder()
/** Every second sample has nothing but its key. */
const members = {
  cls: '7',
  name: 'dog',
  score: '0.5',
  txt: 'hello',
  bin: 'ab',
  vec: '\x01\x02',
  pts: '[[1, 2]]',
}
writeFileSync(
  join(root, 'half.tar'),
  tarFile(
    [0, 1, 2, 3].flatMap(i => [
      { name: `${i}.key`, data: `${i}` },
      ...(i % 2 === 0 ? Object.entries(members).map(([name, data]) => ({ name: `${i}.${name}`, data })) : []),
    ]),
  ),
)

const FIELDS: Record<string, FieldJson> = {
  label: { from: 'cls', as: 'int', missing: -1 },
  kind: { from: 'name', as: 'class', classes: ['cat', 'dog'], missing: -100 },
  score: { from: 'score', as: 'float', missing: 'nan' },
  half: { from: 'score', as: 'float', dtype: 'f16', missing: '-inf' },
  text: { from: 'txt', as: 'text', missing: 'none' },
  json: { from: 'cls', as: 'json', missing: 'null' },
  raw: { from: 'bin', as: 'bytes', missing: '' },
  vector: { from: 'vec', as: 'npy', dtype: 'u8', shape: [2], missing: 255 },
  some: { from: 'vec', as: 'npy', dtype: 'u8', shape: [4], ragged: {}, missing: [] },
  padded: { from: 'vec', as: 'npy', dtype: 'u8', shape: [4], pad: { to: 4, value: 9 }, missing: [] },
  points: { from: 'pts', as: 'points', missing: [] },
}

const feed = (fields: Record<string, FieldJson>, rest: Partial<FeedJson> = {}): FeedJson => ({
  source: { tar: 'half.tar' },
  fields,
  batch: { size: 4, last: 'keep' },
  ...rest,
})

async function first(
  json: Parameters<typeof using>[0],
): Promise<AnyBatch & { read: (name: string) => unknown }> {
  return using(json, { root, workers: 1 }, async loader => {
    for await (const batch of loader) {
      const fields = Object.fromEntries(Object.keys(FIELDS).map(name => [name, structuredClone(batch[name])]))
      return fields as never
    }
    throw new Error('no batch')
  })
}

describe.each(['csv', 'jsonl'])('in a list of files (%s)', kind => {
  writeFileSync(join(root, 'a.bin'), 'x')
  const list = `list.${kind}`
  const lines = {
    csv: 'path,cls,txt\na.bin,7,hello\na.bin,,\n',
    jsonl: '{"path": "a.bin", "cls": 7, "txt": "hello"}\n{"path": "a.bin", "cls": null, "txt": null}\n',
  }
  writeFileSync(join(root, list), lines[kind as 'csv'])
  const whole = { files: { list } }
  const { label, text } = FIELDS

  test.each([
    ['the list', whole],
    ['a part of it', { subset: { source: whole, range: [0, 2] } }],
    ['it and others', { concat: [whole, { tar: 'half.tar' }] }],
  ])('an empty cell is missing: %s', async (_, source) => {
    const batch = await first(feed({ label, text }, { source, batch: { size: 2, last: 'drop' } } as object))
    expect(batch.label).toEqual(BigInt64Array.of(7n, -1n))
    expect(batch.text).toEqual(['hello', 'none'])
  })

  test('without `missing`, it is an empty text', async () => {
    const plain = { text: { from: 'txt', as: 'text' } } as const
    const batch = await first(feed(plain, { source: whole } as object))
    expect(batch.text).toEqual(['hello', ''])
  })
})

test('every kind of field that is no picture has what stands for it', async () => {
  const batch = await first(feed(FIELDS))
  expect(batch.label).toEqual(BigInt64Array.of(7n, -1n, 7n, -1n))
  expect(batch.kind).toEqual(BigInt64Array.of(1n, -100n, 1n, -100n))
  expect(batch.score).toEqual(Float32Array.of(0.5, NaN, 0.5, NaN))
  expect(batch.half).toEqual(Uint16Array.of(0x3800, 0xfc00, 0x3800, 0xfc00))
  expect(batch.text).toEqual(['hello', 'none', 'hello', 'none'])
  expect(batch.json).toEqual(['7', 'null', '7', 'null'])
  expect(batch.vector).toEqual(Uint8Array.of(1, 2, 255, 255, 1, 2, 255, 255))
  const empty = Int32Array.of(0, 2, 2, 4, 4)
  expect(batch.raw).toEqual({ values: Uint8Array.of(97, 98, 97, 98), offsets: empty })
  expect(batch.some).toEqual({ values: Uint8Array.of(1, 2, 1, 2), offsets: empty })
  expect(batch.padded).toEqual(Uint8Array.of(1, 2, 9, 9, 9, 9, 9, 9, 1, 2, 9, 9, 9, 9, 9, 9))
  expect(batch.points).toEqual({ values: Float32Array.of(1, 2, 1, 2), offsets: Int32Array.of(0, 1, 1, 2, 2) })
})

test('without it, the sample is bad', async () => {
  await expect(first(feed({ label: { from: 'cls', as: 'int' } }))).rejects.toThrow(
    'has no column "cls"; it has key',
  )
})

test('a column that no sample has stays a mistake', async () => {
  const synthetic = { synthetic: { count: 4, tensors: { shape: [1] } } }
  const fields = { label: { from: 'cls', as: 'int' as const, missing: -1 } }
  await expect(first(feed(fields, { source: synthetic }))).rejects.toThrow(
    /has no column "cls"; it has .*No sample of the source has it, so "missing" does not help/,
  )
})

test('null, of a function over the sample, is absence', async () => {
  const json = await feedModule(
    root,
    'nulls.mjs',
    `export default feed({
      source: { tar: 'half.tar' },
      fields: { label: { from: 'cls', as: 'int', missing: -1 } },
      map: sample => ({ cls: sample.cls === undefined ? 3 : null }),
      batch: 4,
    })`,
  )
  expect((await first(json)).label).toEqual(BigInt64Array.of(-1n, 3n, -1n, 3n))
})

test('without it, null is a bad sample, and the message says so', async () => {
  const json = await feedModule(
    root,
    'null.mjs',
    `export default feed({
      source: { tar: 'half.tar' },
      fields: { label: { from: 'cls', as: 'int' } },
      map: () => ({ cls: null }),
      batch: 4,
    })`,
  )
  await expect(first(json)).rejects.toThrow('column "cls" of the sample is null (None)')
})

test('it is part of the content hash only where it is given', () => {
  const hash = (field: FieldJson) => contentHash(normalizeFeed(feed({ label: field }), '/'))
  const field: FieldJson = { from: 'cls', as: 'int' }
  expect(Object.hasOwn(normalizeFeed(feed({ label: field }), '/').fields[0], 'missing')).toBe(false)
  expect(hash({ ...field, missing: 0 })).not.toBe(hash(field))
  expect(hash({ ...field, missing: 0 })).not.toBe(hash({ ...field, missing: 1 }))
})

describe('what the field can not hold is a mistake', () => {
  const refused: [FieldJson, string][] = [
    [{ from: 'x', as: 'int', dtype: 'u8', missing: -1 }, 'a whole number from 0 to 255, for u8, found -1'],
    [{ from: 'x', as: 'int', missing: 0.5 }, 'for i64, found 0.5'],
    [{ from: 'x', as: 'int', missing: 'nan' }, 'for i64, found "nan"'],
    [{ from: 'x', as: 'int', dtype: 'bool', missing: 2 }, 'from 0 to 1, for bool'],
    [{ from: 'x', as: 'float', missing: 'none' }, '"nan", "inf" or "-inf", for f32, found "none"'],
    [{ from: 'x', as: 'float', missing: [] }, 'for f32, found []'],
    [{ from: 'x', as: 'text', missing: 3 }, 'a text, found 3'],
    [{ from: 'x', as: 'json', missing: '{' }, 'the text of a JSON value, such as "null"'],
    [
      { from: 'x', as: 'bytes', ragged: { max: 2 }, missing: 'abc' },
      'has 3 bytes, more than the greatest length of 2',
    ],
    [{ from: 'x', as: 'boxes', missing: 0 }, '[], a row without elements, found 0'],
    [
      { from: 'x', as: 'npy', dtype: 'i32', shape: [3], ragged: {}, missing: 0 },
      '[], a row without elements, found 0',
    ],
    [{ from: 'x', as: 'npy', dtype: 'i32', shape: [3], missing: [] }, 'for i32, found []'],
    [{ from: 'x', as: 'image', shape: [2, 2], missing: 0 }, 'missing: means nothing for image'],
    [{ from: 'x', as: 'int', missing: null as never }, 'a number, "nan", "inf", "-inf", a text, or []'],
  ]
  test.each(refused)('%j', (field, message) => {
    expect(() => normalizeFeed(feed({ x: field }), '/')).toThrow(message)
  })

  test('a label that is mixed is one of the classes', () => {
    const json = {
      source: { tar: 'half.tar' },
      fields: {
        image: { from: 'jpg', as: 'image', shape: [8, 8], dtype: 'f32' },
        kind: { from: 'name', as: 'class', classes: ['cat', 'dog'], missing: -100 },
      },
      batch: { size: 4, apply: [{ mixup: { classes: 2, field: 'image', label: 'kind' } }] },
    }
    expect(() => normalizeFeed(json, '/')).toThrow('fields.kind.missing: expected a class, 0 to 1')
  })
})

test('builders write it', () => {
  expect(int('x').missing(-1).json.missing).toBe(-1)
  expect(float('x').missing(NaN).json.missing).toBe('nan')
  expect(float('x').missing(-Infinity).json.missing).toBe('-inf')
  expect(category('x', ['a']).missing(0).json.missing).toBe(0)
  expect(text('x').missing('').json.missing).toBe('')
  expect(bytes('x').missing('').json.missing).toBe('')
  expect(points('x').missing().json.missing).toEqual([])
  const array = npy('x', { shape: [2], dtype: 'f32' })
  expect(array.missing(NaN).json.missing).toBe('nan')
  expect(array.ragged().missing([]).json.missing).toEqual([])
  expect(engine.int('x').missing(5).json).toEqual({ from: 'x', as: 'int', missing: 5 })
})
