/** Mixup and cutmix over a closed slot: an image and its label, which becomes a row of class shares. */
import { DefinitionError } from '../../../core/basics/errors.js'
import { at, unknownName } from '../../../core/basics/mistakes.js'
import { Header } from '../../../core/batch/slot.js'
import { decoderOf, type Fields } from '../../../core/define/kind.js'
import { isFloat, layoutOf } from '../../../core/define/layout.js'
import type { BatchEffect } from '../../../core/define/operator.js'
import type { FieldJson } from '../../../core/define/types.js'
import { mixWords, pictureOf, writeMix } from '../../transform/device/parameter-row.js'
import { chooseMix, mixRows, spareBytes } from './mix.js'

export const mixing: BatchEffect = {
  bind(op, fields, path, before) {
    const field = pickImage(op.params.field as string, fields, path)
    const label = pick('label', 'int or class', op.params.label as string, fields, isLabel, path)
    const { dtype } = layoutOf(field, fields)
    if (op.name === 'mixup' && (!isFloat(dtype) || dtype === 'f64')) {
      throw new DefinitionError(
        path,
        `"${field}" must be of a floating type (f32, f16 or bf16): normalize it, or give it dtype f32`,
      )
    }
    const { classes } = op.params
    const known = before.find(({ params }) => params.label === label)?.params.classes ?? classes
    if (known !== classes)
      throw new DefinitionError(at(path, 'classes'), `"${label}" already has ${known} classes`)
    return { ...op.params, field, label }
  },
  layout: (layout, { params }) =>
    params.label === layout.name ? { ...layout, dtype: 'f32', shape: [params.classes as number] } : layout,
  /** Images that are finished on the device are mixed there: here it is only noted how. */
  run(op, { layout, slot, work, random }) {
    const image = layout.fields.find(field => field.name === op.params.field)!
    const label = layout.fields.find(field => field.name === op.params.label)!
    const classes = label.shape[0]
    const device = image.device === undefined ? undefined : pictureOf(image)
    const { dtype, layout: order = 'chw', shape } = device ?? image
    const chosen = chooseMix(op, { layout: order, shape }, random)
    if (chosen === undefined) return undefined
    work.reset()
    const count = slot.words[Header.Count]
    const rowBytes = device === undefined ? image.unitBytes : 0
    if (device !== undefined)
      writeMix(work.memory, slot.at + image.at, image.unitBytes, count, mixWords(chosen))
    mixRows(chosen, {
      memory: work.memory,
      count,
      imageAt: slot.at + image.at,
      rowBytes,
      dtype,
      layout: order,
      shape,
      labelAt: slot.at + label.at,
      classes,
      spareAt: work.take(spareBytes(rowBytes, classes)),
    })
    return undefined
  },
}

const isLabel = (field: FieldJson): boolean => decoderOf(field).rules.traits?.label === true

/** The named image, or, with no name, the only one. */
export function pickImage(name: string, fields: Fields, path: string): string {
  return pick('field', 'image', name, fields, ({ as }) => as === 'image', path)
}

/** The named field, or, with no name, the only one that fits. */
function pick(
  key: 'field' | 'label',
  kind: string,
  name: string,
  fields: Fields,
  fits: (field: FieldJson) => boolean,
  path: string,
): string {
  const fitting = Object.keys(fields).filter(candidate => fits(fields[candidate]))
  if (name !== '') {
    if (!Object.hasOwn(fields, name)) throw unknownName(at(path, key), 'field', name, fitting)
    if (fits(fields[name])) return name
    throw new DefinitionError(
      at(path, key),
      `expected a field of kind ${kind}, and "${name}" is ${fields[name].as}`,
    )
  }
  if (fitting.length === 1) return fitting[0]
  throw new DefinitionError(
    path,
    fitting.length === 0 ? `needs a field of kind ${kind}` : `give ${key}: one of ${fitting.join(', ')}`,
  )
}
