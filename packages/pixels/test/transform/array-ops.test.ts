/** Operators of arrays give what NumPy gives, bit for bit; random ones choose the same for an array and what follows it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bytesOfStored, countOf, type StoredDtype, type TiledArray } from '../../../core/basics/array.js'
import type { Dtype } from '../../../core/basics/dtype.js'
import { DefinitionError } from '../../../core/basics/errors.js'
import { npyElement } from '../../../core/basics/npy/element.js'
import { operatorKey, Random } from '../../../core/basics/random.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FieldJson, NormalField, OpJson } from '../../../core/define/types.js'
import type { DenseProgram, RowContext } from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { compileField } from './compile-field.js'

interface Stored {
  dtype: string
  shape: number[]
  data: string
}
const { cases } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../test/golden/array-ops/cases.json'), 'utf8'),
) as { cases: { name: string; array: Stored; apply: OpJson[]; result: Stored }[] }

const fieldsOf = (fields: Record<string, FieldJson>): NormalField[] =>
  normalizeFeed({ source: { tar: 'a.tar' }, fields, batch: 2 }, '/').fields

const rowAt = (position: number): RowContext => {
  const random = new Random()
  return {
    work: Workspace.alone(1 << 20),
    position,
    chosen: new Map(),
    random: (field, op) => random.key(7, 0, position, operatorKey(field, op.name, op.ordinal)),
    read: ({ file, offset, length }, into) => into.set(files.get(file)!.subarray(offset, offset + length)),
  }
}
const files = new Map<string, Uint8Array>()

/** What a field's program puts into its row. */
function put(field: NormalField, array: TiledArray, context: RowContext): Uint8Array {
  const { dtype, shape } = field.layout
  const bytes = countOf(shape) * bytesOfStored(dtype)
  const at = context.work.take(bytes)
  const pending = (compileField(field) as DenseProgram).run(array, at, context)
  expect(pending).toBeUndefined()
  return context.work.u8.slice(at, at + bytes)
}

/** An array in several tiles, which lie in different strides: those of a chunked file. */
function inTiles(dtype: StoredDtype, shape: number[], data: Uint8Array): TiledArray {
  const row = data.length / shape[0]
  const tiles = Array.from({ length: shape[0] }, (_, i) => ({
    data: data.subarray(i * row, (i + 1) * row),
    at: shape.map((_n, axis) => (axis === 0 ? i : 0)),
    shape: [1, ...shape.slice(1)],
  }))
  return { dtype, shape, tiles }
}

describe.each(cases)('$name', ({ array, apply, result }) => {
  const { dtype, bigEndian } = npyElement(array.dtype)
  const data = new Uint8Array(Buffer.from(array.data, 'base64'))
  const json: FieldJson = { from: 'x', as: 'npy', dtype: dtype as Dtype, shape: result.shape, apply }
  const [field] = fieldsOf({ x: json })
  const expected = new Uint8Array(Buffer.from(result.data, 'base64'))

  it('is as NumPy has it', () => {
    const tile = { data, ...(bigEndian && { bigEndian }) }
    expect(put(field, { dtype: dtype!, shape: array.shape, tiles: [tile] }, rowAt(0))).toEqual(expected)
  })

  it('also of an array that is not read yet', () => {
    files.set('f', Buffer.concat([Buffer.alloc(5), data]))
    const tile = { data: { file: 'f', offset: 5, length: data.length }, ...(bigEndian && { bigEndian }) }
    expect(put(field, { dtype: dtype!, shape: array.shape, tiles: [tile] }, rowAt(0))).toEqual(expected)
  })

  it.skipIf(bigEndian)('also of an array in several pieces', () => {
    expect(put(field, inTiles(dtype!, array.shape, data), rowAt(0))).toEqual(expected)
  })
})

const counting = (shape: number[]): TiledArray => ({
  dtype: 'u8',
  shape,
  tiles: [{ data: Uint8Array.from({ length: countOf(shape) }, (_, i) => i % 251) }],
})

describe('random choices', () => {
  const apply: OpJson[] = [
    { crop: { size: [3, 3], at: 'random' } },
    { flip: { axes: [-1, -2] } },
    { rotate90: {} },
  ]
  const [volume, mask] = fieldsOf({
    mask: { from: 'y', as: 'npy', dtype: 'u8', shape: [3, 3], follow: 'volume' },
    volume: { from: 'x', as: 'npy', dtype: 'u8', shape: [2, 3, 3], apply },
  })

  it('are the same for an array and the mask that follows it, and differ from row to row', () => {
    const seen = new Set<string>()
    for (let position = 0; position < 50; position++) {
      const context = rowAt(position)
      const made = put(volume, counting([2, 8, 9]), context)
      expect([...put(mask, counting([8, 9]), context)]).toEqual([...made.subarray(0, 9)])
      seen.add(made.join())
    }
    expect(seen.size).toBeGreaterThan(35)
  })

  it('need a mask of the same size', () => {
    const context = rowAt(1)
    put(volume, counting([2, 8, 9]), context)
    expect(() => put(mask, counting([9, 9]), context)).toThrow(/must agree in the axes that operators move/)
  })
})

it('a crop of an unread array reads only the stretch that it needs', () => {
  const [field] = fieldsOf({
    x: { from: 'x', as: 'npy', dtype: 'u8', shape: [2, 4], apply: [{ crop: [2, 4] }] },
  })
  const read: number[][] = []
  const context = {
    ...rowAt(0),
    read: ({ offset, length }: { offset: number; length: number }) => void read.push([offset, length]),
  }
  put(
    field,
    { dtype: 'u8', shape: [10, 4], tiles: [{ data: { file: 'f', offset: 100, length: 40 } }] },
    context,
  )
  expect(read).toEqual([[116, 8]])
})

it.each<[OpJson[], Partial<FieldJson>, RegExp]>([
  [[{ crop: [9, 9] }], {}, /larger than the array of shape \[4, 4\]: pad it first/],
  [[{ flip: { axes: [2], p: 1 } }], {}, /no axis 2 in an array of shape \[4, 4\]/],
  [[{ pad: { padding: [1], value: 300 } }], {}, /u8, which does not hold the 300 of pad/],
  [
    [{ crop: [2, 2] }],
    {},
    /the array has shape \[2, 2\], the field \[4, 4\]: operators such as .crop. and .pad./,
  ],
])('%j says what is wrong with a sample', (apply, more, why) => {
  const [field] = fieldsOf({ x: { from: 'x', as: 'npy', dtype: 'u8', shape: [4, 4], apply, ...more } })
  expect(() => put(field, counting([4, 4]), rowAt(0))).toThrow(why)
})

it.each<[Record<string, Partial<FieldJson>>, RegExp]>([
  [{ x: { apply: [{ crops: [2] }] } }, /did you mean "crop"/],
  [{ x: { apply: [{ normalize: { mean: 0, std: 1 } }] } }, /makes f32 or f64, and the field is u8/],
  [{ x: { dtype: 'f32', apply: [{ normalize: { mean: 0, std: 1 } }, { crop: [2] }] } }, /comes last/],
  [{ x: {}, y: { follow: 'x', apply: [{ crop: [2] }] } }, /moves as that does/],
  [{ x: { apply: [{ pad: {} }] } }, /padding/],
])('%j is refused', (fields, why) => {
  const all = Object.entries(fields).map(([name, json]) => [
    name,
    { from: name, as: 'npy', dtype: 'u8', shape: [4], ...json },
  ])
  const make = (): unknown => fieldsOf(Object.fromEntries(all) as Record<string, FieldJson>)
  expect(make).toThrow(DefinitionError)
  expect(make).toThrow(why)
})
