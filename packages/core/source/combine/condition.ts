/** Conditions on columns of the index, as functions. A row without a value meets none but null, not even `!=`. */
import { nearest, SourceError } from '../../basics/errors.js'
import type { ConditionJson, WhereJson } from '../../define/types.js'
import { listed } from '../missing.js'
import type { IndexColumn, OpenContext, Source } from '../source.js'

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
type Given = Value | boolean | null

/** As in SQL: undefined where a value that is compared is not there. Only rows for which all is true are taken. */
export type Truth = boolean | undefined

/** The columns that conditions name. */
export function columnsIn(where: WhereJson): string[] {
  const names = Object.entries(where).flatMap(([name, given]) =>
    isJoint(name) ? jointOf(given).flatMap(columnsIn) : [name],
  )
  return [...new Set(names)]
}

/** Conditions on single columns that every row must meet: those beside each other, and within `$all`. */
export function conjuncts(where: WhereJson): [name: string, condition: ConditionJson][] {
  return Object.entries(where).flatMap(([name, given]) => {
    if (name === '$all') return jointOf(given).flatMap(conjuncts)
    return isJoint(name) ? [] : [[name, given as ConditionJson] as [string, ConditionJson]]
  })
}

/** Conditions as a function of a row; `one` makes that of a condition on one column. */
export function compileWhere<Row>(
  where: WhereJson,
  one: (name: string, condition: ConditionJson) => (row: Row) => Truth,
): (row: Row) => Truth {
  const all = Object.entries(where).map(([name, given]) => {
    if (!isJoint(name)) return one(name, given as ConditionJson)
    const inner = jointOf(given).map(part => compileWhere(part, one))
    if (name === '$all') return allOf(inner)
    if (name === '$any') return anyOf(inner)
    return (row: Row) => not(inner[0](row))
  })
  return all.length === 1 ? all[0] : allOf(all)
}

const isJoint = (name: string): boolean => name === '$any' || name === '$all' || name === '$not'
const jointOf = (given: unknown): WhereJson[] => (Array.isArray(given) ? given : [given as WhereJson])
const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

function allOf<Row>(tests: readonly ((row: Row) => Truth)[]): (row: Row) => Truth {
  return row => {
    let all: Truth = true
    for (const test of tests) {
      const holds = test(row)
      if (holds === false) return false
      if (holds === undefined) all = undefined
    }
    return all
  }
}

function anyOf<Row>(tests: readonly ((row: Row) => Truth)[]): (row: Row) => Truth {
  const none = allOf(tests.map(test => (row: Row) => not(test(row))))
  return row => not(none(row))
}

/** The truth of a condition where there is no value. */
export function truthOfNone(condition: ConditionJson): Truth {
  if (condition === null) return true
  if (typeof condition !== 'object') return undefined
  if (Array.isArray(condition)) return condition.includes(null) ? true : undefined
  return allOf(
    Object.entries(condition).map(
      ([sign, bound]) =>
        () =>
          bound === null ? sign === '=' : undefined,
    ),
  )(undefined)
}

/** A condition as a function. Comparing numbers with text is a mistake that would silently select nothing. */
export function compileCondition(
  condition: ConditionJson,
  column: Pick<IndexColumn, 'type' | 'digits'>,
  name: string,
): (value: Value | bigint | undefined) => Truth {
  const none = truthOfNone(condition)
  const holds = compileValue(condition, column, name)
  return value => (value === undefined ? none : holds(value))
}

/** The same for values that are there. */
function compileValue(
  condition: ConditionJson,
  { type, digits }: Pick<IndexColumn, 'type' | 'digits'>,
  name: string,
): (value: Value | bigint) => boolean {
  const check = (given: Exclude<Given, null>): Value => {
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
  if (condition === null) return () => false
  if (Array.isArray(condition)) {
    const wanted = new Set(condition.filter(one => one !== null).map(check))
    return value => wanted.has(typeof value === 'bigint' ? String(value) : value)
  }
  if (typeof condition !== 'object') {
    const wanted = check(condition)
    return value => (typeof value === 'bigint' ? String(value) : value) === wanted
  }
  const tests = Object.entries(condition).map(([sign, bound]) => {
    if (bound === null) return () => sign === '!='
    const checked = check(bound)
    if (!digits) return COMPARISONS[sign](checked)
    const exact = COMPARISONS[sign](integerOf(checked))
    return (value: Comparable) => exact(integerOf(value))
  })
  return value => tests.every(test => test(value))
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

/** Adds columns to those that must be in the index of a source that is opened. */
export function withIndexed(context: OpenContext, names: readonly string[]): OpenContext {
  if (names.length === 0) return context
  return { ...context, indexed: [...new Set([...(context.indexed ?? []), ...names])] }
}
