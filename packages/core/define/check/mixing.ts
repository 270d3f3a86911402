/**
 * What operators of a batch mix: mixup and cutmix an image and its label, which becomes a row of class shares; mosaic an
 * image and what follows it.
 */
import type { Dtype } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName } from '../../basics/mistakes.js'
import { layoutOf } from '../layout.js'
import { normalOps } from '../operator.js'
import type { FieldJson, FieldLayout, NormalOp, OpJson } from '../types.js'
import { isFloat } from './kinds.js'

type Fields = Readonly<Record<string, FieldJson>>

/** The operators of a batch in normal form, with `field` and `label` filled in and checked against the fields. */
export function mixings(apply: readonly OpJson[], fields: Fields, path: string): NormalOp[] {
  const ops = normalOps(apply, path)
  const classesOf = new Map<string, number>()
  for (const [i, op] of ops.entries()) {
    const here = at(at(path, i), op.name)
    const field = pick('field', op.params.field as string, fields, isImage, here)
    if (op.name === 'mosaic') {
      checkMosaic(field, fields, here)
      op.params = { ...op.params, field }
      continue
    }
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

/** Elements in which boxes and points are moved by mosaic. */
const MOVED: readonly Dtype[] = ['f32', 'f64', 'i32']
/** As many samples as a row of a mosaic is made of. */
const SAMPLES = 4

function checkMosaic(name: string, fields: Fields, path: string): void {
  if (fields[name].follow !== undefined)
    throw new DefinitionError(path, `"${name}" follows "${fields[name].follow}": name that one`)
  for (const follower of Object.keys(fields)) {
    if (fields[follower].follow !== name) continue
    const { dtype, form, max } = layoutOf(follower, fields)
    if (form === 'dense') continue
    if (!MOVED.includes(dtype))
      throw new DefinitionError(path, `"${follower}" must be of ${MOVED.join(', ')}, and is ${dtype}`)
    if (max! < SAMPLES)
      throw new DefinitionError(path, `"${follower}" needs a max of ${SAMPLES} or more, and has ${max}`)
  }
}

/** The layout of a field after mixing: a label is a share for each class, and what follows a mosaic has room for four. */
export function mixedLayout(
  layout: FieldLayout,
  ops: readonly NormalOp[],
  follow: string | undefined,
): FieldLayout {
  const op = ops.find(({ params }) => params.label === layout.name)
  if (op !== undefined) return { ...layout, dtype: 'f32', shape: [op.params.classes as number] }
  const put = ops.some(({ name, params }) => name === 'mosaic' && params.field === follow)
  return put && layout.max !== undefined ? { ...layout, each: Math.floor(layout.max / SAMPLES) } : layout
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
