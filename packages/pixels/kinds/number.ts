/** Fields of numbers: int, float, class, and the numbers of several columns side by side. */
import { countOf, isTiled } from '../../core/basics/array.js'
import type { Dtype } from '../../core/basics/dtype.js'
import { DecodeError, DefinitionError } from '../../core/basics/errors.js'
import { at } from '../../core/basics/mistakes.js'
import { type Decoder, type FieldRules, isPattern, writtenColumns } from '../../core/define/kind.js'
import { dtypeOf } from '../../core/define/layout.js'
import type { FieldValue } from '../../core/engine/make/program.js'
import { classTable, decodeClass } from '../decode/text/class.js'
import { decodeFloat, decodeInt } from '../decode/text/number.js'
import { missingRow } from '../transform/plain/missing.js'
import { compileNumber } from '../transform/plain/number-field.js'
import { compileVector } from '../transform/plain/vector-field.js'
import { bounded } from './compile.js'
import { checkNumberOps, hasOpenOp, numberOps } from './number-operators.js'

/** A number, or the name of a class. */
const NUMBER_BYTES = 4096

const FLOATS: readonly Dtype[] = ['f32', 'f16', 'bf16', 'f64']

const limit: FieldRules['limit'] = () => ({ most: NUMBER_BYTES, mend: 'check "from"' })

const operators: FieldRules['operators'] = (name, fields, path) =>
  numberOps(fields[name], at(at(path, name), 'apply'))

/** `columns`: how many it has, where that is known. */
const checkBy =
  (columns: (from: readonly string[]) => number | undefined): FieldRules['check'] =>
  (name, fields, path) => {
    const { dtype } = layoutOf(name, fields, path)
    const ops = numberOps(fields[name], at(at(path, name), 'apply'))
    checkNumberOps(ops, dtype, columns(writtenColumns(fields[name])), at(at(path, name), 'apply'))
  }

const layoutOf: Decoder['layout'] = (name, fields, path) => {
  const here = at(path, name)
  const ops = numberOps(fields[name], at(here, 'apply'))
  const normalized = ops.some(op => op.name === 'normalize')
  return {
    name,
    dtype: dtypeOf(fields[name], here, undefined, { normalized }),
    shape: [],
    form: 'dense',
  }
}

const open: FieldRules['open'] = {
  lacks: ({ apply }) => (hasOpenOp(apply) ? 'give mean and std in numbers' : undefined),
  load: async () => (await import('./open-fields.js')).closeNumbers,
}

const single = {
  layout: layoutOf,
  compile: (field, _, map) => bounded(field, compileNumber(field, map), missingRow(field, true)),
} satisfies Partial<Decoder>

export const int: Decoder = {
  ...single,
  name: 'int',
  says: 'A whole number.',
  example: { from: 'cls', as: 'int' },
  rules: {
    dtypes: ['i64', 'i32', 'i16', 'i8', 'u8', 'u16', 'u32', 'bool', 'f16', 'bf16', 'f32', 'f64'],
    keys: ['apply', 'dtype', 'missing', 'map'],
    traits: { label: true, columns: ['cls', 'label', 'index', 'id'] },
    operators,
    check: checkBy(() => 1),
    limit,
    open,
  },
  verify: () => value => (isTiled(value) ? checkSingle(value) : decodeInt(value)),
}

const verifyFloat = (value: FieldValue): unknown => (isTiled(value) ? checkSingle(value) : decodeFloat(value))

export const float: Decoder = {
  ...single,
  name: 'float',
  says: 'A number.',
  example: { from: 'score', as: 'float' },
  rules: {
    dtypes: FLOATS,
    keys: ['apply', 'dtype', 'missing', 'map'],
    operators,
    check: checkBy(() => 1),
    limit,
    open,
  },
  verify: () => verifyFloat,
}

export const category: Decoder = {
  ...single,
  name: 'class',
  says: 'The number of a name in the list of classes.',
  example: { from: 'class', as: 'class', classes: ['cat', 'dog'] },
  rules: {
    dtypes: ['i64', 'i32', 'i16', 'u8', 'u16', 'u32', 'i8'],
    keys: ['dtype', 'classes', 'missing', 'map'],
    traits: { label: true },
    check(name, fields, path) {
      const { classes = [] } = fields[name]
      const twice = classes.find((one, i) => classes.indexOf(one) < i)
      if (twice !== undefined)
        throw new DefinitionError(at(at(path, name), 'classes'), `"${twice}" is there twice`)
    },
    limit,
    open: {
      lacks: ({ classes }) =>
        classes === undefined ? 'give "classes", the names in the order of their numbers' : undefined,
      load: async () => (await import('./open-fields.js')).closeClasses,
    },
  },
  verify(classes) {
    const table = classTable(classes)
    return value => decodeClass(value, table)
  },
}

export const vector: Decoder = {
  name: 'vector',
  says: 'The numbers of several columns, side by side.',
  example: { from: ['age', 'height'], as: 'vector' },
  rules: {
    dtypes: [...FLOATS, 'i8', 'u8', 'u16', 'i16', 'i32', 'u32', 'i64', 'bool'],
    keys: ['apply', 'dtype', 'missing'],
    traits: { wide: true },
    operators,
    check: checkBy(from => (from.some(isPattern) ? undefined : from.length)),
    limit,
    open: {
      lacks(field) {
        if (field.from.some(isPattern)) return 'name the columns one by one, and give mean and std in numbers'
        return hasOpenOp(field.apply) ? 'give mean and std in numbers' : undefined
      },
      load: async () => (await import('./open-fields.js')).closeNumbers,
    },
  },
  // Patterns are columns once the feed is open.
  layout(name, fields, path) {
    const columns = writtenColumns(fields[name])
    return { ...layoutOf(name, fields, path), shape: [columns.some(isPattern) ? 0 : columns.length] }
  },
  compile: field => compileVector(field),
  verify: () => verifyFloat, // each of its columns by itself
}

/** A number may come as an array of one element, as in a run. */
function checkSingle({ shape }: { shape: readonly number[] }): void {
  if (countOf(shape) !== 1) throw new DecodeError(`is an array [${shape.join(', ')}], not a single number`)
}
