/** What mixup and cutmix mix: an image and its label, which becomes a row of class shares. */
import { DefinitionError } from '../errors.js'
import { isFloat } from './kinds.js'
import { layoutOf } from './layout.js'
import { normalOps } from './operators.js'
import { at, unknownName } from './schema.js'
import type { FieldJson, FieldLayout, NormalOp, OpJson } from './types.js'

type Fields = Readonly<Record<string, FieldJson>>

/** The operators of a batch in normal form, with `field` and `label` filled in and checked against the fields. */
export function mixings(apply: readonly OpJson[], fields: Fields, path: string): NormalOp[] {
  const ops = normalOps(apply, path)
  const classesOf = new Map<string, number>()
  for (const [i, op] of ops.entries()) {
    const here = at(at(path, i), op.name)
    const field = pick('field', op.params.field as string, fields, isImage, here)
    const label = pick('label', op.params.label as string, fields, isLabel, here)
    const { dtype } = layoutOf(field, fields)
    if (op.name === 'mixup' && (!isFloat(dtype) || dtype === 'f64')) {
      throw new DefinitionError(
        here,
        `"${field}" must be of a floating type (f32, f16 or bf16): normalize it, or give it dtype f32`,
      )
    }
    const classes = op.params.classes as number
    if ((classesOf.get(label) ?? classes) !== classes) {
      throw new DefinitionError(at(here, 'classes'), `"${label}" already has ${classesOf.get(label)} classes`)
    }
    classesOf.set(label, classes)
    op.params = { ...op.params, field, label }
  }
  return ops
}

/** The layout of a mixed label: a share for each class. */
export function mixedLayout(layout: FieldLayout, ops: readonly NormalOp[]): FieldLayout {
  const op = ops.find(({ params }) => params.label === layout.name)
  return op === undefined ? layout : { ...layout, dtype: 'f32', shape: [op.params.classes as number] }
}

const isImage = (field: FieldJson): boolean => field.as === 'image'
const isLabel = (field: FieldJson): boolean => field.as === 'int' || field.as === 'class'

/** The named field, or, with no name, the only one that fits. */
function pick(
  key: 'field' | 'label',
  name: string,
  fields: Fields,
  fits: (field: FieldJson) => boolean,
  path: string,
): string {
  const fitting = Object.keys(fields).filter(candidate => fits(fields[candidate]))
  const what = key === 'field' ? 'image' : 'int or class'
  if (name !== '') {
    if (!Object.hasOwn(fields, name)) throw unknownName(at(path, key), 'field', name, fitting)
    if (!fits(fields[name])) {
      throw new DefinitionError(
        at(path, key),
        `expected a field of kind ${what}, and "${name}" is ${fields[name].as}`,
      )
    }
    return name
  }
  if (fitting.length === 1) return fitting[0]
  throw new DefinitionError(
    path,
    fitting.length === 0 ? `needs a field of kind ${what}` : `give ${key}: one of ${fitting.join(', ')}`,
  )
}
