/** Images and masks: pictures, with the operators that change and move their pixels. */
import { isTiled } from '../../core/basics/array.js'
import { DefinitionError } from '../../core/basics/errors.js'
import { at, unknownName, wrong } from '../../core/basics/mistakes.js'
import type { Decoder, FieldRules, Fields } from '../../core/define/kind.js'
import { dtypeOf } from '../../core/define/layout.js'
import {
  checkStages,
  normalOps,
  type OperatorFacts,
  operatorFacts,
  operatorNames,
  parseOperator,
  type Sides,
} from '../../core/define/operator.js'
import type { FieldJson, NormalOp } from '../../core/define/types.js'
import type { FieldValue } from '../../core/engine/make/program.js'
import type { Workspace } from '../../core/system/memory/workspace.js'
import { decodeImage, imageInfo } from '../decode/picture/image.js'
import {
  compileDevicePicture,
  pictureForDevice,
  redoPicture,
  staysOnCpu,
} from '../transform/device/picture.js'
import { compileImage, compileMask } from '../transform/picture/image.js'
import { bounded, refuseMap } from './compile.js'

/** The file of a picture that is gzipped. Others say in their headers how large they are. */
const FILE_BYTES = 64 * 1024 * 1024

const limit: FieldRules['limit'] = () => ({ most: FILE_BYTES })

const verifyPicture =
  (channels: 1 | 3) =>
  (value: FieldValue, work: Workspace): void => {
    if (isTiled(value)) return // pixels, which need no decoding
    const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value))
    decodeImage(bytes, imageInfo(bytes), { channels }, work)
  }

export const image: Decoder = {
  name: 'image',
  says: 'A picture: JPEG, PNG, WebP, AVIF, TIFF, GIF, BMP, PNM.',
  example: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: { size: 224 } }, 'flip'] },
  rules: {
    dtypes: ['u8', 'f16', 'bf16', 'f32', 'f64', 'u16', 'i16', 'i32', 'u32', 'i64'],
    keys: ['apply', 'dtype', 'layout', 'channels', 'follow', 'shape', 'scale', 'orientation'],
    traits: {
      columns: [
        ...['image', 'jpg', 'jpeg', 'png', 'webp', 'gif', 'bmp'],
        ...['tif', 'tiff', 'avif', 'heic', 'ppm', 'pgm'],
      ],
    },
    follows: ['image', 'mask'],
    operators,
    limit,
  },
  layout(name, fields, path) {
    const { layout = 'chw', channels = 3 } = fields[name]
    const dtype = dtypeOfPixels(fields[name], at(path, name))
    const [height, width] = sizeOf(name, fields, path)
    const shape = layout === 'chw' ? [channels, height, width] : [height, width, channels]
    return { name, dtype, shape, form: 'dense', layout }
  },
  compile(field, { layout, making }, map) {
    refuseMap(field, map)
    const onDevice = making.by === 'device' && making.kind === 'picture'
    return bounded(
      field,
      onDevice ? compileDevicePicture(field, layout, making) : compileImage(field, layout),
    )
  },
  verify: () => verifyPicture(3),
  device: {
    kind: 'picture',
    staysOnCpu,
    layout: pictureForDevice,
    redo: redoPicture,
    variety: bytes => imageInfo(bytes).jpeg?.gpu,
  },
}

export const mask: Decoder = {
  name: 'mask',
  says: 'A picture of class numbers, which are never mixed.',
  example: { from: 'png', as: 'mask', follow: 'image' },
  rules: {
    dtypes: ['u8', 'u16', 'i16', 'i32', 'u32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'bool'],
    keys: ['apply', 'dtype', 'follow', 'shape', 'orientation'],
    follows: ['image', 'mask'],
    operators,
    limit,
  },
  layout(name, fields, path) {
    const dtype = dtypeOfPixels(fields[name], at(path, name))
    return { name, dtype, shape: [...sizeOf(name, fields, path)], form: 'dense' }
  },
  compile(field, _, map) {
    refuseMap(field, map)
    return bounded(field, compileMask(field))
  },
  verify: () => verifyPicture(1),
}

/** f32 where they are normalised, else bytes. */
function dtypeOfPixels(field: FieldJson, path: string): ReturnType<typeof dtypeOf> {
  const makesFloats = (op: unknown, i: number): boolean =>
    operatorFacts(parseOperator(op, at(at(path, 'apply'), i)).name).stage === 'values'
  return dtypeOf(field, path, undefined, {
    normalized: (field.apply ?? []).some(makesFloats),
    hint: field.dtype === 'i8' ? ' (its values go from 0 to 255, i8 ends at 127)' : '',
  })
}

/** The size of an image or mask: what its operators make of it, those of the followed field, or the given shape. */
function sizeOf(name: string, fields: Fields, path: string): Sides {
  const field = fields[name]
  const here = at(path, name)
  let size: Sides | undefined
  if (field.follow !== undefined) {
    size = sizeOf(field.follow, fields, path)
  } else {
    for (const [i, op] of (field.apply ?? []).entries()) {
      const { name: operator, params } = parseOperator(op, at(at(here, 'apply'), i))
      const { output } = operatorFacts(operator)
      if (output !== undefined) size = output(size, params)
    }
  }
  if (field.shape !== undefined) {
    if (field.shape.length !== 2) throw wrong(at(here, 'shape'), '[height, width]', field.shape)
    if (size !== undefined && (size[0] !== field.shape[0] || size[1] !== field.shape[1])) {
      throw new DefinitionError(
        at(here, 'shape'),
        `the operators make it [${size.join(', ')}], not [${field.shape.join(', ')}]; leave shape out`,
      )
    }
    size = [field.shape[0], field.shape[1]]
  }
  if (size === undefined) {
    throw new DefinitionError(
      here,
      'its size is not known before the images are read: add an operator that fixes it (centerCrop, randomCrop, ' +
        'randomResizedCrop, or resize to [height, width]), or give the greatest size as shape: [height, width] ' +
        '(smaller ones are filled up at the right and below)',
    )
  }
  return size
}

// ------------------------------------------------------------------ operators

function operators(name: string, fields: Fields, path: string): NormalOp[] {
  const here = at(at(path, name), 'apply')
  checkApply(fields[name], here)
  return normalOps(fields[name].apply ?? [], here).map((op, i) =>
    op.params.boxes === undefined ? op : withBoxes(op, name, fields, at(at(here, i), op.name)),
  )
}

/** An operator that looks at boxes, with their field filled in: the named one, or the only one that follows. */
function withBoxes(op: NormalOp, name: string, fields: Fields, path: string): NormalOp {
  if (op.ordinal > 0) throw new DefinitionError(path, 'can be there once: crop again with another operator')
  const fitting = Object.keys(fields).filter(
    other => fields[other].as === 'boxes' && fields[other].follow === name,
  )
  const given = op.params.boxes as string
  if (given !== '' && !fitting.includes(given)) throw unknownName(at(path, 'boxes'), 'field', given, fitting)
  if (given === '' && fitting.length !== 1) {
    const lacks = `needs a field of kind boxes that follows "${name}"`
    throw new DefinitionError(path, fitting.length === 0 ? lacks : `give boxes: one of ${fitting.join(', ')}`)
  }
  return { ...op, params: { ...op.params, boxes: given || fitting[0] } }
}

/** Operators of a field: those its kind can have, in an order that can be carried out. */
function checkApply(field: FieldJson, path: string): void {
  const fitting = operatorNames(facts => fits(facts, field))
  let last: string | undefined
  for (const [i, op] of (field.apply ?? []).entries()) {
    const { name, params, path: here } = parseOperator(op, at(path, i), fitting)
    const facts = operatorFacts(name)
    if (facts.stage === 'batch')
      throw new DefinitionError(here, 'works on whole batches: put it into batch.apply')
    if (!fits(facts, field)) {
      const why =
        field.follow !== undefined && facts.moves
          ? `moves pixels, but the field follows "${field.follow}" and moves as that does`
          : 'changes values, which would spoil a mask'
      throw new DefinitionError(here, `${why}; possible: ${fitting.join(', ') || 'none'}`)
    }
    if (field.channels === 1) checkOneChannel(params, here)
    checkStages(last, name, here)
    last = name
  }
}

/** Parameters that have a value for each channel. */
const BY_CHANNEL: readonly string[] = ['mean', 'std', 'fill', 'value']

/** An operator of an image with one channel has no values for red, green and blue. */
function checkOneChannel(params: Readonly<Record<string, unknown>>, path: string): void {
  const given = Object.entries(params).filter(
    ([key, list]) => BY_CHANNEL.includes(key) && Array.isArray(list),
  )
  if (given.every(([, list]) => (list as number[]).every((value, _, [first]) => value === first))) return
  const means = given.map(([key, list]) => {
    const sum = (list as number[]).reduce((total, value) => total + value, 0)
    return [key, Number((sum / 3).toPrecision(3))]
  })
  throw new DefinitionError(
    path,
    `has values for red, green and blue, and the image has one channel: give one, such as ${JSON.stringify(Object.fromEntries(means))}`,
  )
}

function fits({ stage, moves = false, colors = false }: OperatorFacts, field: FieldJson): boolean {
  return stage !== 'batch' && !(field.as === 'mask' && colors) && !(field.follow !== undefined && moves)
}
