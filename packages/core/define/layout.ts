/**
 * How each field lies in a batch: element type, shape and form, all known before the first byte is read. Throws a
 * DefinitionError where the definition leaves it open.
 */
import type { Dtype } from '../basics/dtype.js'
import { DefinitionError } from '../basics/errors.js'
import { at, wrong } from '../basics/mistakes.js'
import { isFloat, KINDS } from './check/kinds.js'
import { operatorFacts, parseOperator, type Sides } from './operator.js'
import { isPattern, numberOps, takesNumberOps, writtenColumns } from './operators/number.js'
import { TOKEN_DTYPES, textOps, tokenizing } from './operators/text.js'
import type { FieldJson, FieldLayout, OpJson } from './types.js'

type Fields = Readonly<Record<string, FieldJson>>

/** The layout of one of a feed's fields; `path` is that of all fields. */
export function layoutOf(name: string, fields: Fields, path = 'fields'): FieldLayout {
  const field = fields[name]
  const here = at(path, name)
  const dtype = dtypeOf(field, here)
  const isScalar = field.as === 'npy' && field.ragged === undefined && field.pad === undefined
  if (field.shape?.length === 0 && !isScalar)
    throw new DefinitionError(at(here, 'shape'), 'expected a list of 1 to 8 whole numbers ≥ 1, found []')
  switch (field.as) {
    case 'image': {
      const [height, width] = sizeOf(name, fields, path)
      const layout = field.layout ?? 'chw'
      const { channels = 3 } = field
      const shape = layout === 'chw' ? [channels, height, width] : [height, width, channels]
      return { name, dtype, shape, form: 'dense', layout }
    }
    case 'mask':
      return { name, dtype, shape: [...sizeOf(name, fields, path)], form: 'dense' }
    case 'boxes':
      return varying(name, dtype, field, here, rest(field, here, [4, 5]))
    case 'points':
      return varying(name, dtype, field, here, rest(field, here, [2]))
    case 'npy':
      if (field.shape === undefined)
        throw new DefinitionError(here, 'npy needs shape, the shape of the arrays')
      if (field.ragged === undefined && field.pad === undefined) {
        return { name, dtype, shape: [...field.shape], form: 'dense' }
      }
      return varying(name, dtype, field, here, field.shape.slice(1))
    case 'text': {
      const tokens = tokenizing({ as: 'text', apply: textOps(field, at(here, 'apply')) })
      return varying(name, dtype, field, here, [], tokens && { max: tokens.max })
    }
    case 'json':
    case 'bytes':
      return varying(name, dtype, field, here, [])
    // Patterns are columns once the feed is open.
    case 'vector': {
      const columns = writtenColumns(field)
      return { name, dtype, shape: [columns.some(isPattern) ? 0 : columns.length], form: 'dense' }
    }
    default:
      return { name, dtype, shape: [], form: 'dense' }
  }
}

/** The element type: as given, or f32 after normalize, or the kind's default. */
function dtypeOf(field: FieldJson, path: string): Dtype {
  const isTokens = field.as === 'text' && field.apply !== undefined && field.apply.length > 0
  const dtypes = isTokens ? TOKEN_DTYPES : KINDS[field.as].dtypes
  const apply = field.as === 'npy' || isTokens ? [] : (field.apply ?? [])
  const normalized = takesNumberOps(field.as)
    ? numberOps(field, at(path, 'apply')).some(({ name }) => name === 'normalize')
    : apply.some((op, i) => makesFloats(op, at(at(path, 'apply'), i)))
  const dtype = field.dtype ?? (normalized ? 'f32' : dtypes[0])
  if (dtype === undefined)
    throw new DefinitionError(path, `${field.as} needs dtype, the element type of the batch`)
  if (dtypes.length > 0 && !dtypes.includes(dtype)) {
    const pixels = dtype === 'i8' && (field.as === 'image' || field.as === 'mask')
    const why = pixels ? ' (its values go from 0 to 255, i8 ends at 127)' : ''
    throw new DefinitionError(
      at(path, 'dtype'),
      `${isTokens ? 'a token' : field.as} can't be ${dtype}${why}; possible: ${dtypes.join(', ')}`,
    )
  }
  if (normalized && !isFloat(dtype)) {
    throw new DefinitionError(
      at(path, 'dtype'),
      `normalized values don't fit into ${dtype}: take f32, f16 or bf16, or leave normalize out`,
    )
  }
  return dtype
}

function makesFloats(op: OpJson, path: string): boolean {
  return operatorFacts(parseOperator(op, path).name).stage === 'values'
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

/** Boxes and points: the shape of one of them, the first of `possible` unless the given shape says otherwise. */
function rest(field: FieldJson, path: string, possible: readonly number[]): number[] {
  if (field.shape === undefined) return [possible[0]]
  const [, wide] = field.shape
  if (field.shape.length !== 2 || !possible.includes(wide)) {
    throw wrong(at(path, 'shape'), possible.map(n => `[n, ${n}]`).join(' or '), field.shape)
  }
  return [wide]
}

/** A field whose rows vary along their first axis, `shape` being that of one element. `tokens`: text that is tokenised. */
function varying(
  name: string,
  dtype: Dtype,
  field: FieldJson,
  path: string,
  shape: number[],
  tokens?: { max?: number },
): FieldLayout {
  const { ragged, pad } = field
  const facts = KINDS[field.as]
  if (ragged !== undefined && pad !== undefined) {
    throw new DefinitionError(path, 'expected ragged or pad, found both')
  }
  const fixed = typeof pad?.to === 'number' ? pad.to : undefined
  const given = [field.shape?.[0], tokens?.max, ragged?.max, pad?.max, fixed].filter(n => n !== undefined)
  if (given.some(n => n !== given[0])) {
    throw new DefinitionError(path, `shape, max and to give different greatest lengths: ${given.join(', ')}`)
  }
  const max = given[0] ?? (tokens ? undefined : facts.max)
  if (max === undefined)
    throw new DefinitionError(path, 'the greatest length of a row is not known: give max')
  if (pad !== undefined) {
    const { to, multiple = 1, value = 0 } = pad
    // The longest of a batch, rounded up, still has to fit.
    const room = to === 'longest' ? Math.ceil(max / multiple) * multiple : max
    return { name, dtype, shape, form: 'padded', max: room, to, multiple, value }
  }
  const layout: FieldLayout = { name, dtype, shape, form: facts.text && !tokens ? 'text' : 'ragged', max }
  if (ragged?.total === undefined) return layout
  if (ragged.total < max) throw wrong(at(at(path, 'ragged'), 'total'), `at least max, ${max}`, ragged.total)
  return { ...layout, total: ragged.total }
}
