/**
 * Boxes and points follow an image: what moved its pixels moves them. Boxes are [x1, y1, x2, y2, …] with edges
 * between pixels, points [x, y, …] with whole numbers at pixels' middles, both as in torchvision; what stands
 * after the coordinates (a label) stays with its row.
 *
 * What leaves the canvas is gone, even if a later step moved it back, since its pixels are gone. Boxes are clipped
 * to the canvas after each step, and dropped in the end when nothing, or less than `minArea`, is left of them.
 * Points are dropped when no pixel of the canvas is nearest to them: torchvision would keep them, for the user to
 * clamp.
 */
import { decodeBoxes } from '../decode/boxes.js'
import { decodePoints } from '../decode/points.js'
import type { Rows } from '../decode/rows.js'
import { DTYPES } from '../define/dtype.js'
import type { NormalField } from '../define/types.js'
import { DecodeError, MillraceError } from '../errors.js'
import { type Size, sizeAfter } from './choose.js'
import { arrayOf, encoder } from './encode.js'
import type { Chosen, Placed, RowContext, VaryingProgram } from './field.js'
import type { Step } from './steps.js'

/** x' = a·x + b·y + c, y' = d·x + e·y + f. */
type Motion = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

/** How coordinates move with the pixels; undefined where they don't. `far` is the coordinate that mirrors 0. */
function motion(step: Step, size: Size, far: Size): Motion | undefined {
  switch (step.do) {
    case 'crop':
      return [1, 0, -step.x, 0, 1, -step.y]
    case 'pad':
      return [1, 0, step.left, 0, 1, step.top]
    case 'resize':
      return [step.width / size.width, 0, 0, 0, step.height / size.height, 0]
    case 'flip':
      return step.axis === 'horizontal' ? [-1, 0, far.width, 0, 1, 0] : [1, 0, 0, 0, -1, far.height]
    case 'affine':
      return inverted(step.matrix, size, step)
    default:
      return undefined
  }
}

/** A step's matrix leads from output to input, each relative to its centre; this is the way back, from the corners. */
function inverted([a, b, c, d, e, f]: readonly number[], from: Size, to: Size): Motion {
  const det = a * e - b * d
  const [ia, ib, id, ie] = [e / det, -b / det, -d / det, a / det]
  const [x, y] = [from.width / 2 + c, from.height / 2 + f] // what comes to lie in the middle
  return [ia, ib, to.width / 2 - ia * x - ib * y, id, ie, to.height / 2 - id * x - ie * y]
}

/** The rows for which `keep` holds once it has changed them in place. */
function changed(rows: Rows, keep: (row: Float64Array) => boolean): Rows {
  const { columns } = rows
  const values = rows.values.slice()
  let count = 0
  for (let i = 0; i < rows.count; i++) {
    const row = values.subarray(i * columns, (i + 1) * columns)
    if (keep(row)) values.copyWithin(count++ * columns, i * columns, (i + 1) * columns)
  }
  return { count, columns, values: values.subarray(0, count * columns) }
}

export function followBoxes(boxes: Rows, { width, height, steps }: Chosen, minArea: number): Rows {
  const follow = (box: Float64Array): boolean => {
    let size: Size = { width, height }
    clip(box, size)
    for (const step of steps) {
      const move = motion(step, size, size)
      size = sizeAfter(step, size)
      if (move === undefined) continue
      moveBox(box, move)
      clip(box, size)
    }
    const [x1, y1, x2, y2] = box
    return x2 > x1 && y2 > y1 && (x2 - x1) * (y2 - y1) >= minArea
  }
  return changed(boxes, follow)
}

/** A moved box is the one around its moved corners. */
function moveBox(box: Float64Array, [a, b, c, d, e, f]: Motion): void {
  const [x1, y1, x2, y2] = box
  box[0] = c + Math.min(a * x1, a * x2) + Math.min(b * y1, b * y2)
  box[1] = f + Math.min(d * x1, d * x2) + Math.min(e * y1, e * y2)
  box[2] = c + Math.max(a * x1, a * x2) + Math.max(b * y1, b * y2)
  box[3] = f + Math.max(d * x1, d * x2) + Math.max(e * y1, e * y2)
}

function clip(box: Float64Array, { width, height }: Size): void {
  for (let i = 0; i < 4; i++) box[i] = Math.min(Math.max(box[i], 0), i % 2 === 0 ? width : height)
}

export function followPoints(points: Rows, { width, height, steps }: Chosen): Rows {
  const follow = (point: Float64Array): boolean => {
    let size: Size = { width, height }
    if (!inside(point, size)) return false
    for (const step of steps) {
      const move = motion(step, size, { width: size.width - 1, height: size.height - 1 })
      size = sizeAfter(step, size)
      if (move === undefined) continue
      const [x, y] = point
      point[0] = move[0] * x + move[1] * y + move[2]
      point[1] = move[3] * x + move[4] * y + move[5]
      if (!inside(point, size)) return false
    }
    return true
  }
  return changed(points, follow)
}

/** Whether the nearest pixel is one of the canvas. */
function inside([x, y]: Float64Array, { width, height }: Size): boolean {
  return x >= -0.5 && x < width - 0.5 && y >= -0.5 && y < height - 0.5
}

export function compileBoxes(field: NormalField): VaryingProgram {
  const bigEnough = ([x1, y1, x2, y2]: Float64Array) => (x2 - x1) * (y2 - y1) >= field.minArea
  return compileRows(field, decodeBoxes, (rows, chosen) =>
    chosen === undefined ? changed(rows, bigEnough) : followBoxes(rows, chosen, field.minArea),
  )
}

export function compilePoints(field: NormalField): VaryingProgram {
  return compileRows(field, decodePoints, (rows, chosen) =>
    chosen === undefined ? rows : followPoints(rows, chosen),
  )
}

function compileRows(
  field: NormalField,
  decode: (value: Uint8Array | number | string) => Rows,
  follow: (rows: Rows, chosen: Chosen | undefined) => Rows,
): VaryingProgram {
  return {
    form: 'varying',
    run: (value, context) => {
      const rows = decode(value)
      const [columns] = field.layout.shape
      if (rows.count > 0 && rows.columns < columns) {
        throw new DecodeError(
          `field "${field.name}" has ${columns} numbers a row, but here are only ${rows.columns}: ` +
            `give it shape [n, ${rows.columns}], or add the missing labels to the data`,
        )
      }
      return write(follow(rows, chosenBy(field, context)), field, context)
    },
  }
}

function chosenBy(field: NormalField, context: RowContext): Chosen | undefined {
  if (field.follow === undefined) return undefined
  const chosen = context.chosen.get(field.follow)
  if (chosen !== undefined) return chosen
  throw new MillraceError(`field "${field.name}" is made before "${field.follow}", which it follows`)
}

/** Leaves the rows in the workspace, in the field's dtype; columns beyond the field's own are left out. */
function write(rows: Rows, { layout }: NormalField, { work }: RowContext): Placed {
  const [columns] = layout.shape
  const length = rows.count
  const at = work.take(length * columns * DTYPES[layout.dtype].bytes)
  const out = arrayOf(layout.dtype, work.memory.buffer, at, length * columns)
  const encode = encoder(layout.dtype)
  for (let i = 0; i < length; i++)
    for (let c = 0; c < columns; c++) out[i * columns + c] = encode(rows.values[i * rows.columns + c])
  return { at, length }
}
