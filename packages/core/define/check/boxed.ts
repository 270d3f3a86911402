/** Finds the field of boxes that an operator of an image looks at: one with a parameter `boxes`. */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName } from '../../basics/mistakes.js'
import type { FieldJson, NormalOp } from '../types.js'

/** The operators of a field with `boxes` filled in: the named field, or the only one that follows. */
export function withBoxes(
  ops: readonly NormalOp[],
  name: string,
  fields: Readonly<Record<string, FieldJson>>,
  path: string,
): NormalOp[] {
  return ops.map((op, i) => {
    if (op.params.boxes === undefined) return op
    const here = at(at(path, i), op.name)
    if (op.ordinal > 0) throw new DefinitionError(here, 'can be there once: crop again with another operator')
    const fitting = Object.keys(fields).filter(
      other => fields[other].as === 'boxes' && fields[other].follow === name,
    )
    const given = op.params.boxes as string
    if (given !== '' && !fitting.includes(given))
      throw unknownName(at(here, 'boxes'), 'field', given, fitting)
    if (given === '' && fitting.length !== 1) {
      const lacks = `needs a field of kind boxes that follows "${name}"`
      throw new DefinitionError(
        here,
        fitting.length === 0 ? lacks : `give boxes: one of ${fitting.join(', ')}`,
      )
    }
    return { ...op, params: { ...op.params, boxes: given || fitting[0] } }
  })
}
