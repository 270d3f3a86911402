/**
 * How each field lies in a batch: element type, shape and form, all known before the first byte is read. Throws a
 * DefinitionError where the definition leaves it open. Each kind of field lays out its own, with what they share here.
 */
import type { Dtype } from '../basics/dtype.js'
import { DefinitionError } from '../basics/errors.js'
import { at, wrong } from '../basics/mistakes.js'
import { decoderOf, type Fields } from './kind.js'
import type { FieldJson, FieldLayout } from './types.js'

const FLOATS: readonly Dtype[] = ['f16', 'bf16', 'f32', 'f64']

export const isFloat = (dtype: Dtype): boolean => FLOATS.includes(dtype)

/** The layout of one of a feed's fields; `path` is that of all fields. */
export function layoutOf(name: string, fields: Fields, path = 'fields'): FieldLayout {
  return decoderOf(fields[name]).layout(name, fields, path)
}

/** The element type: as given, or f32 for normalised values, or the first of `dtypes`. `what` has it, at `path`. */
export function dtypeOf(
  { as, dtype: given }: Pick<FieldJson, 'as' | 'dtype'>,
  path: string,
  dtypes: readonly Dtype[] = decoderOf({ as }).rules.dtypes,
  { normalized = false, what = as as string, hint = '' } = {},
): Dtype {
  const dtype = given ?? (normalized ? 'f32' : dtypes[0])
  if (dtype === undefined) throw new DefinitionError(path, `${as} needs dtype, the element type of the batch`)
  if (dtypes.length > 0 && !dtypes.includes(dtype))
    throw new DefinitionError(
      at(path, 'dtype'),
      `${what} can't be ${dtype}${hint}; possible: ${dtypes.join(', ')}`,
    )
  if (normalized && !isFloat(dtype))
    throw new DefinitionError(
      at(path, 'dtype'),
      `normalized values don't fit into ${dtype}: take f32, f16 or bf16, or leave normalize out`,
    )
  return dtype
}

/** A field whose rows vary along their first axis, `shape` being that of one element, and `form` that of rows which are not padded. */
export function varyingLayout(
  name: string,
  { shape: whole, ragged, pad }: FieldJson,
  path: string,
  row: { dtype: Dtype; shape: number[]; max?: number | undefined; usual?: number; form?: 'ragged' | 'text' },
): FieldLayout {
  const { dtype, shape, form = 'ragged' } = row
  if (whole?.length === 0)
    throw new DefinitionError(at(path, 'shape'), 'expected a list of 1 to 8 whole numbers ≥ 1, found []')
  if (ragged !== undefined && pad !== undefined) {
    throw new DefinitionError(path, 'expected ragged or pad, found both')
  }
  const fixed = typeof pad?.to === 'number' ? pad.to : undefined
  const given = [whole?.[0], row.max, ragged?.max, pad?.max, fixed].filter(n => n !== undefined)
  if (given.some(n => n !== given[0])) {
    throw new DefinitionError(path, `shape, max and to give different greatest lengths: ${given.join(', ')}`)
  }
  const max = given[0] ?? row.usual
  if (max === undefined)
    throw new DefinitionError(path, 'the greatest length of a row is not known: give max')
  if (pad !== undefined) {
    const { to, multiple = 1, value = 0 } = pad
    // The longest of a batch, rounded up, still has to fit.
    const room = to === 'longest' ? Math.ceil(max / multiple) * multiple : max
    return { name, dtype, shape, form: 'padded', max: room, to, multiple, value }
  }
  const layout: FieldLayout = { name, dtype, shape, form, max }
  if (ragged?.total === undefined) return layout
  if (ragged.total < max) throw wrong(at(at(path, 'ragged'), 'total'), `at least max, ${max}`, ragged.total)
  return { ...layout, total: ragged.total }
}
