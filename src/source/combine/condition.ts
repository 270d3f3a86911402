/** Conditions on columns of the index, as functions. A row without a value meets none, not even `!=`. */
import { nearest, SourceError } from '../../basics/errors.js'
import type { WhereJson } from '../../define/types.js'
import { listed } from '../missing.js'
import type { IndexColumn, Source } from '../source.js'

/** A column of the index, or an error that names those there are. `by` is what asks for it: "where". */
export function indexColumn(source: Source, name: string, by: string): IndexColumn {
  const column = source.index(name)
  if (column !== undefined) return column
  if (source.columns.includes(name))
    throw new SourceError(
      `${by}: the index of the source has no column "${name}" (its values are too large for the index); ` +
        `it has ${source.indexed?.join(', ') || 'none'}`,
    )
  throw new SourceError(`${by}: the source has no column "${name}"; ${otherColumns(source, name)}`)
}

/** What could have been meant by a name that no column has. */
function otherColumns({ columns, indexed = [] }: Source, name: string): string {
  const known = [...new Set([...columns, ...indexed])]
  const near = nearest(name, known)
  const hint = near === undefined ? 'it' : `did you mean "${near}"? It`
  return `${hint} has ${listed(known)}`
}

type Value = number | string
type Given = Value | boolean

/** A condition as a function. Comparing numbers with text is a mistake that would silently select nothing. */
export function compileCondition(
  condition: WhereJson[string],
  column: Pick<IndexColumn, 'type' | 'digits'>,
  name: string,
): (value: Value | bigint | undefined) => boolean {
  const { type, digits } = column
  const check = (given: Given): Value => {
    const value = typeof given === 'boolean' ? Number(given) : given
    if (digits && (typeof value === 'string' ? INTEGER.test(value) : !isRounded(value))) return String(value)
    if (digits)
      throw new SourceError(
        `where: column "${name}" holds integers beyond 2^53, it can't be compared with ${JSON.stringify(given)}: ` +
          'write such an integer as a text of its digits',
      )
    if (typeof value === type) return value
    throw new SourceError(
      `where: column "${name}" holds ${type}s, it can't be compared with ${JSON.stringify(given)}`,
    )
  }
  if (Array.isArray(condition)) {
    const wanted = new Set(condition.map(check))
    return value => value !== undefined && wanted.has(typeof value === 'bigint' ? String(value) : value)
  }
  if (typeof condition !== 'object') {
    const wanted = check(condition)
    return value => (typeof value === 'bigint' ? String(value) : value) === wanted
  }
  const tests = Object.entries(condition).map(([sign, bound]) => {
    const checked = check(bound as Given)
    if (!digits) return COMPARISONS[sign](checked)
    const exact = COMPARISONS[sign](integerOf(checked))
    return (value: Comparable) => exact(integerOf(value))
  })
  return value => value !== undefined && tests.every(test => test(value))
}

const INTEGER = /^-?\d+$/

/** A number that JSON may have rounded: there are several integers that it could stand for. */
function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Fractions may be compared with integers of so many digits. */
function integerOf(value: Comparable): bigint | number {
  if (typeof value === 'bigint') return value
  return INTEGER.test(String(value)) ? BigInt(value) : Number(value)
}

type Comparable = Value | bigint

const COMPARISONS: Record<string, (bound: Comparable) => (value: Comparable) => boolean> = {
  '>': bound => value => value > bound,
  '>=': bound => value => value >= bound,
  '<': bound => value => value < bound,
  '<=': bound => value => value <= bound,
  '=': bound => value => value === bound,
  '!=': bound => value => value !== bound,
}
