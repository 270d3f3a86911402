/**
 * Images and masks, from encoded bytes to pixels in the slot: choose the steps from the picture's size, note them
 * for followers, carry them out on a canvas, and write the result in the field's dtype and layout.
 */

import { isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { SlotField } from '../../../core/define/making.js'
import type { NormalField } from '../../../core/define/types.js'
import type { DenseProgram, FieldValue, RowContext } from '../../../core/engine/make/program.js'
import { chooseSteps } from '../../operators/choose.js'
import type { CropStep } from '../../operators/crop/step.js'
import { applyErase } from '../../operators/randomErasing/step.js'
import { chosenBy, moves, type Step } from '../../operators/steps.js'
import { compileValues, type Statistics, type Values } from '../place/values.js'
import { Canvas } from './canvas.js'
import { type OpenedPicture, openPicture } from './open-picture.js'

/** The greatest picture that a row has room for. */
interface Room {
  width: number
  height: number
  channels: 1 | 3
  layout: 'chw' | 'hwc'
}

/** `inSlot`: where its channels lie may be another than the definition says. */
export function compileImage(field: NormalField, inSlot: SlotField = field.layout): DenseProgram {
  const { shape, layout = 'chw' } = inSlot
  const [height, width] = layout === 'chw' ? shape.slice(1) : shape
  const channels = isOneChannel(inSlot) ? 1 : 3
  const normalize = field.apply.find(op => op.name === 'normalize')?.params
  const values = compileValues(field.layout.dtype, channels, normalize as unknown as Statistics | undefined)
  const room: Room = { width, height, channels, layout }
  return {
    form: 'dense',
    run: (value, at, context) => run(field, room, values, value, at, context, step => step),
  }
}

/** Whether images have one channel in place of three. */
export function isOneChannel({ shape, layout }: Pick<SlotField, 'shape' | 'layout'>): boolean {
  return shape[layout === 'hwc' ? 2 : 0] === 1
}

/** Masks hold class numbers: never mixed, never scaled, and 0 wherever there is nothing. */
export function compileMask(field: NormalField): DenseProgram {
  const [height, width] = field.layout.shape
  const values = compileValues(field.layout.dtype, 1, 'plain')
  const room: Room = { width, height, channels: 1, layout: 'hwc' }
  return {
    form: 'dense',
    run: (value, at, context) => run(field, room, values, value, at, context, asMask),
  }
}

function asMask(step: Step): Step {
  if (!('filter' in step || 'fill' in step)) return step
  const filter = 'filter' in step && { filter: 'nearest' as const }
  return { ...step, ...filter, ...('fill' in step && { fill: [0] }) }
}

function run(
  field: NormalField,
  room: Room,
  values: Values,
  value: FieldValue,
  at: number,
  context: RowContext,
  adapt: (step: Step) => Step,
): void {
  const { work } = context
  const mark = work.mark()
  const wanted = field.as === 'image' && room.channels === 1 ? 'luma' : room.channels
  const source = openPicture(bytesOf(value), wanted, field)
  const steps = choosePicture(field, source, context)
  const canvas = new Canvas(source, work)
  for (const step of steps) {
    if (step.do === 'normalize' || step.do === 'erase') continue // in `values`; in the slot
    canvas.apply(adapt(step))
  }
  const { width, height } = canvas
  checkSize(width, height, room)
  if (width < room.width || height < room.height) {
    work.u8.fill(0, at, at + room.width * room.height * room.channels * values.entry)
  }
  canvas.place({ at, layout: room.layout, values, width: room.width, height: room.height })
  for (const step of steps) {
    if (step.do !== 'erase') continue
    const { dtype } = field.layout
    applyErase(step, at, room.layout, dtype, room.width, room.height, work.memory, room.channels)
  }
  work.release(mark)
}

/** The bytes of a picture, or its pixels as an array. */
export function bytesOf(value: FieldValue): Uint8Array | TiledArray {
  if (value instanceof Uint8Array || isTiled(value)) return value
  const found = JSON.stringify(typeof value === 'bigint' ? String(value) : value)
  const named = typeof value === 'string' && /\.\w{3,4}$/.test(value)
  const hint = named
    ? 'files that a table names are read by {"files": {"list": "train.csv", "path": COLUMN}}'
    : 'check "from"'
  throw new DecodeError(`expected the bytes of a picture, found ${found}: ${hint}`)
}

/** A finished picture must fit the room that its row has. */
export function checkSize(width: number, height: number, room: { width: number; height: number }): void {
  if (width <= room.width && height <= room.height) return
  throw new DecodeError(
    `picture is ${width}×${height} after all steps, more than the field's ${room.width}×${room.height}: ` +
      'raise "shape", or add a crop or resize that fixes the size',
  )
}

/** A row that is made again without its sample has the crop that was chosen with a look at its boxes, null for none. */
export interface PictureContext extends RowContext {
  readonly recalled?: CropStep | null
}

/** The steps of this row, noted for followers: the followed field's geometry, if it follows one, then those of its own operators. */
export function choosePicture(
  field: NormalField,
  source: OpenedPicture,
  context: PictureContext,
): readonly Step[] {
  const { width, height } = source
  const followed = field.follow === undefined ? [] : movesOf(field, field.follow, source, context)
  const own = chooseSteps(
    field.apply,
    { width, height },
    op => context.random(field.follow ?? field.name, op),
    context,
  )
  const steps = followed.length === 0 ? own : [...followed, ...own]
  context.chosen.set(field.name, { width, height, steps })
  return steps
}

function movesOf(field: NormalField, follow: string, source: OpenedPicture, context: RowContext): Step[] {
  const followed = chosenBy(field, follow, context)
  if (followed.width !== source.width || followed.height !== source.height) {
    throw new DecodeError(
      `picture is ${source.width}×${source.height}, but "${follow}", which it follows, is ` +
        `${followed.width}×${followed.height}: they must be of one size`,
    )
  }
  return followed.steps.filter(moves)
}
