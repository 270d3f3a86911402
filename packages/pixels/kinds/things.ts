/** Boxes and points: rows of a few numbers, which move with the image that they follow. */
import { at, wrong } from '../../core/basics/mistakes.js'
import type { Decoder, FieldRules } from '../../core/define/kind.js'
import { dtypeOf, varyingLayout } from '../../core/define/layout.js'
import type { FieldJson } from '../../core/define/types.js'
import { decodeBoxes, decodePoints } from '../decode/array/rows.js'
import { compileBoxes, compilePoints } from '../transform/plain/follow.js'
import { missingBytes } from '../transform/plain/missing.js'
import { bounded, refuseMap } from './compile.js'

/** Boxes or points of one image, where a definition does not say. */
const MAX_THINGS = 100
/** Bytes of one of them, and of all where fewer are kept than there are. */
const THING_BYTES = 256
const LEAST_BYTES = 1024 * 1024

const rules = {
  dtypes: ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64'],
  follows: ['image', 'mask'],
  limit: ({ layout }) => ({
    most: Math.max(LEAST_BYTES, (layout.max ?? 1) * THING_BYTES),
    mend: 'raise "shape"',
  }),
} satisfies Partial<FieldRules>

/** How they lie in a batch: `possible` are the numbers that one of them may have. */
const layoutBy =
  (...possible: number[]): Decoder['layout'] =>
  (name, fields, path) => {
    const here = at(path, name)
    const dtype = dtypeOf(fields[name], here)
    return varyingLayout(name, fields[name], here, {
      dtype,
      shape: [widthOf(fields[name], here, possible)],
      usual: MAX_THINGS,
    })
  }

function widthOf({ shape }: FieldJson, path: string, possible: readonly number[]): number {
  if (shape === undefined || shape.length === 0) return possible[0]
  if (shape.length === 2 && possible.includes(shape[1])) return shape[1]
  throw wrong(at(path, 'shape'), possible.map(n => `[n, ${n}]`).join(' or '), shape)
}

export const boxes: Decoder = {
  name: 'boxes',
  says: 'Boxes [x1, y1, x2, y2] in a picture, each with or without a label.',
  example: { from: 'json', as: 'boxes', follow: 'image' },
  rules: { ...rules, keys: ['dtype', 'follow', 'shape', 'ragged', 'pad', 'minArea', 'missing'] },
  layout: layoutBy(4, 5),
  compile(field, _, map) {
    refuseMap(field, map)
    return bounded(field, compileBoxes(field), missingBytes(field))
  },
  verify: () => decodeBoxes,
}

export const points: Decoder = {
  name: 'points',
  says: 'Points [x, y] in a picture.',
  example: { from: 'json', as: 'points', follow: 'image' },
  rules: { ...rules, keys: ['dtype', 'follow', 'shape', 'ragged', 'pad', 'missing'] },
  layout: layoutBy(2),
  compile(field, _, map) {
    refuseMap(field, map)
    return bounded(field, compilePoints(field), missingBytes(field))
  },
  verify: () => decodePoints,
}
