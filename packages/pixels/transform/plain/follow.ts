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

import { DTYPES } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { NormalField } from '../../../core/define/types.js'
import type { FieldValue, Placed, RowContext, VaryingProgram } from '../../../core/engine/make/program.js'
import type { Rows } from '../../decode/array/rows.js'
import { decodeBoxes, decodePoints } from '../../decode/array/rows.js'
import type { CropStep } from '../../operators/crop/step.js'
import { hasMiddle } from '../../operators/iouCrop/operator.js'
import type { Motion, Size, Thing } from '../../operators/step.js'
import { type Chosen, chosenBy, factsOf, sizeAfter } from '../../operators/steps.js'
import { arrayOf, encoder } from './encode.js'

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

/** A motion, and the canvas on which it ends. */
interface Move extends Size {
  motion: Motion
  /** Boxes whose middle lies outside of it are dropped. */
  part?: CropStep | undefined
}

/** The motions of all steps that have one. */
function movesOf({ width, height, steps }: Chosen, thing: Thing): Move[] {
  let size: Size = { width, height }
  return steps.flatMap(step => {
    const motion = factsOf(step).motion?.(step, size, thing)
    size = sizeAfter(step, size)
    const part = step.do === 'crop' && step.centred ? step : undefined
    return motion === undefined ? [] : [{ ...size, motion, part }]
  })
}

export function followBoxes(boxes: Rows, chosen: Chosen, minArea: number): Rows {
  const moves = movesOf(chosen, 'box')
  const follow = (box: Float64Array): boolean => {
    clip(box, chosen)
    for (const move of moves) {
      if (move.part !== undefined && !hasMiddle(box, move.part)) return false
      moveBox(box, move.motion)
      clip(box, move)
    }
    const [x1, y1, x2, y2] = box
    return x2 > x1 && y2 > y1 && (x2 - x1) * (y2 - y1) >= minArea
  }
  return changed(boxes, follow)
}

/** A moved box is the one around its moved corners. */
function moveBox(box: Float64Array, move: Motion): void {
  const [x1, y1, x2, y2] = box
  const corners = [move(x1, y1), move(x2, y1), move(x2, y2), move(x1, y2)]
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)]
  box[0] = Math.min(...xs)
  box[1] = Math.min(...ys)
  box[2] = Math.max(...xs)
  box[3] = Math.max(...ys)
}

function clip(box: Float64Array, { width, height }: Size): void {
  for (let i = 0; i < 4; i++) box[i] = Math.min(Math.max(box[i], 0), i % 2 === 0 ? width : height)
}

export function followPoints(points: Rows, chosen: Chosen): Rows {
  const moves = movesOf(chosen, 'point')
  const follow = (point: Float64Array): boolean => {
    if (!inside(point, chosen)) return false
    for (const move of moves) {
      ;[point[0], point[1]] = move.motion(point[0], point[1])
      if (!inside(point, move)) return false
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
  decode: (value: FieldValue) => Rows,
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
      const chosen = field.follow === undefined ? undefined : chosenBy(field, field.follow, context)
      return write(follow(rows, chosen), field, context)
    },
  }
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
