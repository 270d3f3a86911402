/** The plain twin of the `picture` kernel: a parameter row and a decoded picture become a finished row, bit for bit. */

import { DTYPES, type Dtype } from '../../../../core/basics/dtype.js'
import type { Picture } from '../../../decode/picture/picture.js'
import { gaussian } from '../../../operators/gaussianBlur/blur.js'
import { applyErase } from '../../../operators/randomErasing/step.js'
import type { Filter } from '../../../operators/step.js'
import { factsOf, OP_CODES as OpCode, type Step } from '../../../operators/steps.js'
import {
  FILTER_CODES,
  Form,
  HEADER_WORDS,
  OP_WORDS,
  Word,
} from '../../../transform/device/parameter-words.js'
import * as color from './color.js'
import { elasticGrid } from './elastic.js'
import * as filters from './filter.js'
import * as frame from './frame.js'
import { type Pixels, resize } from './place.js'
import { affineGrid, fetched, type Grid, perspectiveGrid } from './warp.js'

/** How finished rows are: element type and layout, size, and what each byte of each channel becomes (values.ts). */
export interface FinishedForm {
  dtype: Dtype
  layout: 'chw' | 'hwc'
  width: number
  height: number
  lookup: Uint8Array
}

const FILTERS = Object.keys(FILTER_CODES) as Filter[]
const COLOURS: ReadonlySet<number> = new Set([
  OpCode.grayscale,
  OpCode.saturation,
  OpCode.hue,
  OpCode.permute,
])

/** `decoded` is the stored picture, RGB without gaps; what comes back are the row's bytes. */
export function makePicture(row: Uint32Array, decoded: Uint8Array, to: FinishedForm): Uint8Array {
  const out = new Uint8Array(3 * to.width * to.height * DTYPES[to.dtype].bytes)
  if (row[Word.Form] === Form.Nothing) return out
  const stored = { data: decoded, width: row[Word.StoredWidth], height: row[Word.StoredHeight] }
  let picture = frame.upright({ ...stored, channels: 3 }, row[Word.Orientation])
  const ops = Array.from({ length: row[Word.Ops] }, (_, i) => new Op(row, HEADER_WORDS + i * OP_WORDS))
  for (const op of ops) if (op.code !== OpCode.erase) picture = apply(op, picture)
  finish(picture, out, to)
  for (const op of ops) if (op.code === OpCode.erase) erase(op, out, to)
  return out
}

/** One op: its words, as whole numbers, float32 or float64. */
class Op {
  private readonly view: DataView

  constructor(row: Uint32Array, at: number) {
    this.view = new DataView(row.buffer, row.byteOffset + at * 4, OP_WORDS * 4)
  }

  get code(): number {
    return this.whole(0)
  }
  whole(i: number): number {
    return this.view.getInt32(i * 4, true)
  }
  wholes(from: number, count: number): number[] {
    return Array.from({ length: count }, (_, i) => this.whole(from + i))
  }
  real(i: number): number {
    return this.view.getFloat32(i * 4, true)
  }
  reals(from: number, count: number): Float32Array {
    return Float32Array.from({ length: count }, (_, i) => this.real(from + i))
  }
  precise(i: number): number {
    return this.view.getFloat64(i * 4, true)
  }
}

function apply(op: Op, from: Pixels): Pixels {
  switch (op.code) {
    case OpCode.place:
      return place(op, from)
    case OpCode.crop:
      return frame.crop(from, ...(op.wholes(1, 4) as [number, number, number, number]))
    case OpCode.pad: {
      const [left, top, right, bottom, mode, ...fill] = op.wholes(1, 8)
      const colour = fill as [number, number, number]
      return frame.pad(from, { left, top, right, bottom, mode, fill: colour })
    }
    case OpCode.affine: {
      const [width, height] = op.wholes(7, 2)
      const grid = affineGrid(op.reals(1, 6), { width, height })
      return fetch(grid, { width, height }, op, 9, from)
    }
    case OpCode.perspective: {
      const map = Float32Array.of(...op.reals(1, 8), 1)
      return fetch(perspectiveGrid(map), from, op, 9, from)
    }
    case OpCode.elastic: {
      const [alpha, sigma] = [op.reals(2, 2), [op.precise(4), op.precise(6)] as const]
      const step = { seed: op.whole(1) >>> 0, alpha: [alpha[0], alpha[1]] as const, sigma }
      return fetch(elasticGrid(step, from), from, op, 8, from)
    }
    case OpCode.sharpness:
      return { ...from, data: filters.sharpness(flat(from), from.data, op.real(1)) }
    case OpCode.blur: {
      const [x, y] = [gaussian(op.whole(1), op.precise(3)), gaussian(op.whole(2), op.precise(5))]
      return { ...from, data: filters.blur(flat(from), from.data, x, y) }
    }
    default: {
      const to = { ...from, data: from.data.slice() }
      if (COLOURS.has(op.code)) changeColour(op, flat(to), to.data)
      else byValue(op, to)
      return to
    }
  }
}

/** A picture of size `to` by way of a grid; the op's words from `at` on say how its pixels are fetched. */
function fetch(grid: Grid, to: Pick<Pixels, 'width' | 'height'>, op: Op, at: number, from: Pixels): Pixels {
  const { width, height } = to
  const how = { filter: FILTERS[op.whole(at)], filled: op.whole(at + 1) !== 0, fill: op.reals(at + 2, 3) }
  return { data: fetched(grid, { width, height }, how, flat(from), from.data), width, height, channels: 3 }
}

function flat({ width, height, channels }: Pixels): Picture {
  return { at: 0, width, height, channels, stride: width * channels }
}

function place(op: Op, from: Pixels): Pixels {
  const [x, y, width, height] = op.wholes(1, 4)
  const [window, flips] = [op.wholes(7, 4) as [number, number, number, number], op.whole(13)]
  const size = {
    width: op.whole(5),
    height: op.whole(6),
    filter: FILTERS[op.whole(11)],
    antialias: op.whole(12) !== 0,
  }
  const resized = resize(frame.crop(from, x, y, width, height), size)
  const mirror = { horizontal: (flips & 1) !== 0, vertical: (flips & 2) !== 0 }
  return frame.mirrored(frame.crop(resized, ...window), mirror)
}

function changeColour(op: Op, picture: Picture, u8: Uint8Array): void {
  if (op.code === OpCode.grayscale) color.grayscale(picture, u8)
  else if (op.code === OpCode.saturation) color.saturation(picture, u8, op.real(1), op.real(2))
  else if (op.code === OpCode.permute) color.permute(picture, u8, op.wholes(1, 3))
  else color.hue(picture, u8, op.real(1))
}

/** Each byte as the step's own facts have it, by the op's words. */
function byValue(op: Op, picture: Pixels): void {
  const [name] = Object.entries(OpCode).find(([, code]) => code === op.code) ?? []
  const { table: facts } = factsOf({ do: name } as Step)
  if (facts === undefined) throw new Error(`no op has the code ${op.code}`)
  const numbers = facts.whole ? op.wholes(1, 4) : [...op.reals(1, 4)]
  const { data } = picture
  const mean = color.luminanceSum(flat(picture), data.slice()) / (picture.width * picture.height)
  const counts = color.histogram(flat(picture), data)
  const values = [0, 1, 2].map(c => facts.value(numbers, mean, counts.subarray(c * 256, (c + 1) * 256)))
  if (facts.looksAt === 'place') for (const [i, x] of data.entries()) data[i] = values[0](x, i)
  else {
    const tables = values.map(value => Uint8Array.from({ length: 256 }, (_, x) => value(x, 0)))
    color.tables(flat(picture), data, tables)
  }
}

/** Every byte as its element, at its place; what the picture does not reach stays zero. */
function finish(
  picture: Pixels,
  out: Uint8Array,
  { dtype, layout, width, height, lookup }: FinishedForm,
): void {
  const { bytes } = DTYPES[dtype]
  for (let y = 0; y < picture.height; y++)
    for (let x = 0; x < picture.width; x++)
      for (let c = 0; c < 3; c++) {
        const value = c * 256 + picture.data[(y * picture.width + x) * 3 + c]
        const element = layout === 'chw' ? (c * height + y) * width + x : (y * width + x) * 3 + c
        out.set(lookup.subarray(value * bytes, (value + 1) * bytes), element * bytes)
      }
}

function erase(op: Op, out: Uint8Array, { dtype, layout, width, height }: FinishedForm): void {
  const [x, y, boxWidth, boxHeight, random, seed] = op.wholes(1, 6)
  const value = random ? ('random' as const) : [op.precise(7), op.precise(9), op.precise(11)]
  const step = { do: 'erase' as const, x, y, width: boxWidth, height: boxHeight, value, seed: seed >>> 0 }
  applyErase(step, 0, layout, dtype, width, height, { buffer: out.buffer })
}
