/** The operators of a field of arrays: chooses by the row's random numbers, and makes views; normalises what was put. */
import type { TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { Random } from '../../../core/basics/random.js'
import type { NormalField, NormalOp } from '../../../core/define/types.js'
import type { RowContext } from '../../../core/engine/make/program.js'
import { bordered, cropped, flipped, turned } from './array-views.js'

export interface ArrayOps {
  /** Another view of the array. */
  move(array: TiledArray, context: RowContext): TiledArray
  /** Changes the elements that were put at byte `at`. */
  finish?(at: number, shape: readonly number[], context: RowContext): void
}

/** The shapes of arrays before their operators, by field, of the row that is made. */
const shapes = new WeakMap<RowContext, Map<string, readonly number[]>>()

/** undefined where a field has no operators. */
export function arrayOpsOf({ name, follow, apply, layout }: NormalField): ArrayOps | undefined {
  if (apply.length === 0 && follow === undefined) return undefined
  const moves = apply.filter(op => op.name !== 'normalize')
  const normal = apply.find(op => op.name === 'normalize')
  return {
    move(array, context) {
      if (follow !== undefined) checkLike(array, follow, moves, context)
      else remember(name, array, context)
      // The keys are the followed field's: the same choices.
      return moves.reduce((view, op) => moved(view, op, context.random(follow ?? name, op)), array)
    },
    ...(normal && {
      finish: (at, shape, { work }) => normalize(work.u8, at, shape, normal.params, layout.dtype === 'f64'),
    }),
  }
}

function remember(name: string, { shape }: TiledArray, context: RowContext): void {
  const known = shapes.get(context)
  if (known === undefined) shapes.set(context, new Map([[name, shape]]))
  else known.set(name, shape)
}

/** An array that follows another must be of its size, along the axes that move. */
function checkLike(
  { shape }: TiledArray,
  follow: string,
  moves: readonly NormalOp[],
  context: RowContext,
): void {
  const led = shapes.get(context)?.get(follow) ?? []
  const span = Math.min(Math.max(0, ...moves.map(spanOf)), Math.max(led.length, shape.length))
  const last = (list: readonly number[]): string => list.slice(list.length - span).join(', ')
  if (span === 0 || (shape.length >= span && led.length >= span && last(shape) === last(led))) return
  throw new DecodeError(
    `the array has shape [${shape.join(', ')}] and follows "${follow}" of shape [${led.join(', ')}]: they must agree in the axes that operators move`,
  )
}

/** How many of the last axes an operator looks at. */
function spanOf({ params }: NormalOp): number {
  const { size, padding, to, axes } = params as Record<string, number[] | undefined>
  if (axes !== undefined) return Math.max(...axes.map(axis => (axis < 0 ? -axis : Infinity)))
  return (size ?? padding ?? to)!.length
}

function moved(array: TiledArray, { name, params }: NormalOp, random: Random): TiledArray {
  const { shape } = array
  switch (name) {
    case 'crop':
      return crop(array, params.size as number[], params.at as string | number[], random)
    case 'flip': {
      const { axes, p } = params as { axes: number[]; p: number }
      // All are drawn, so that the choice for an axis does not depend on those before it.
      const chosen = axes.map(() => random.next() < p)
      return axes.reduce((view, axis, i) => (chosen[i] ? flipped(view, axisOf(axis, shape)) : view), array)
    }
    case 'rotate90': {
      const { axes, times } = params as { axes: number[]; times: number | 'random' }
      const [a, b] = axes.map(axis => axisOf(axis, shape))
      if (a === b) throw new DecodeError(`rotate90 needs two different axes, and has ${axes.join(' and ')}`)
      return turned(array, a, b, times === 'random' ? random.int(4) : times)
    }
    default:
      return border(array, params)
  }
}

function crop(
  array: TiledArray,
  size: readonly number[],
  place: string | readonly number[],
  random: Random,
): TiledArray {
  const { shape } = array
  const lead = leading(shape, size.length, 'crop')
  const starts = shape.map((n, i) => {
    if (i < lead) return 0
    const room = n - size[i - lead]
    if (room < 0)
      throw new DecodeError(
        `crop of [${size.join(', ')}] is larger than the array of shape [${shape.join(', ')}]: pad it first, {"pad": {"to": [${size.join(', ')}]}}`,
      )
    if (place === 'random') return random.int(room + 1)
    const start = typeof place === 'string' ? Math.floor(room / 2) : (place[i - lead] ?? 0)
    if (start > room)
      throw new DecodeError(
        `crop at ${start} of axis ${i} reaches behind the array of shape [${shape.join(', ')}]`,
      )
    return start
  })
  return cropped(array, starts, [...shape.slice(0, lead), ...size])
}

function border(array: TiledArray, params: NormalOp['params']): TiledArray {
  const { padding, to, value } = params as { padding?: number[][]; to?: number[]; value: number }
  const { shape } = array
  const lead = leading(shape, (padding ?? to)!.length, 'pad')
  const missing = (i: number): number => Math.max(0, to![i - lead] - shape[i])
  const sides = shape.map((_, i) => {
    if (i < lead) return [0, 0]
    if (padding !== undefined) return padding[i - lead]
    return [Math.floor(missing(i) / 2), Math.ceil(missing(i) / 2)]
  })
  return bordered(
    array,
    sides.map(([before]) => before),
    sides.map(([, after]) => after),
    value,
  )
}

/** How many axes stand before the last `count` ones. */
function leading(shape: readonly number[], count: number, name: string): number {
  if (count <= shape.length) return shape.length - count
  throw new DecodeError(`${name} is for ${count} axes, and the array has shape [${shape.join(', ')}]`)
}

function axisOf(axis: number, shape: readonly number[]): number {
  const own = axis < 0 ? shape.length + axis : axis
  if (own >= 0 && own < shape.length) return own
  throw new DecodeError(`there is no axis ${axis} in an array of shape [${shape.join(', ')}]`)
}

/** (x − mean) / std, each operation rounded to the field's type, as NumPy does it. */
function normalize(
  u8: Uint8Array,
  at: number,
  shape: readonly number[],
  params: NormalOp['params'],
  double: boolean,
): void {
  const { mean, std, axis } = params as { mean: number[]; std: number[]; axis: number }
  const length = shape.reduce((product, n) => product * n, 1)
  if (length === 0) return
  const many = Math.max(mean.length, std.length)
  const own = many === 1 ? 0 : axisOf(axis, shape)
  for (const list of [mean, std]) {
    if (list.length === 1 || list.length === shape[own]) continue
    throw new DecodeError(`normalize has ${list.length} values for the ${shape[own]} places of axis ${axis}`)
  }
  const inside = many === 1 ? length : shape.slice(own + 1).reduce((product, n) => product * n, 1)
  const [buffer, from] = [u8.buffer, u8.byteOffset + at]
  const values = double ? new Float64Array(buffer, from, length) : new Float32Array(buffer, from, length)
  const round = double ? (value: number): number => value : Math.fround
  for (let begin = 0, place = 0; begin < length; begin += inside, place++) {
    const less = round(mean[mean.length === 1 ? 0 : place % many])
    const by = round(std[std.length === 1 ? 0 : place % many])
    for (let i = begin; i < begin + inside; i++) values[i] = round(values[i] - less) / by
  }
}
