/** Takes a part of a source: a stretch of rows, listed rows in their order, or those that meet conditions on index columns. */

import { nearest, SourceError } from '../../basics/errors.js'
import type { SourceJson, WhereJson } from '../../define/types.js'
import type { IndexColumn, Source, SourceKind } from '../source.js'
import { attachSelected, RowCollector, type Selection, selectedManifest } from './selected.js'

interface SubsetJson {
  source: SourceJson
  range?: [number, number]
  indices?: number[]
  where?: WhereJson
}

export const subset: SourceKind<SubsetJson> = {
  async open(json, context, nesting) {
    const child = await nesting.open(json.source, context)
    const source = nesting.attach(child)
    const { range, indices, where } = json
    const selection = select(source, json)
    return selectedManifest(
      'subset',
      { range, indices, where },
      child,
      source,
      selection,
      where !== undefined,
    )
  },
  attach: attachSelected,
}

function select(source: Source, { range, indices, where }: SubsetJson): Selection {
  if (range !== undefined) return stretch(source, range)
  if (indices !== undefined) return listed(source, indices)
  return matching(source, where ?? {})
}

function stretch(source: Source, [from, to]: [number, number]): Selection {
  if (!(from >= 0 && from <= to && to <= source.count)) {
    throw new SourceError(
      `the range [${from}, ${to}) reaches outside of the ${source.count} samples of the source`,
    )
  }
  return { from, count: to - from }
}

function listed(source: Source, indices: readonly number[]): Selection {
  const seen = new Uint8Array(Math.ceil(source.count / 8))
  const rows = new RowCollector(source.count)
  for (const row of indices) {
    if (!(Number.isInteger(row) && row >= 0 && row < source.count)) {
      throw new SourceError(`index ${row} is none of the ${source.count} samples of the source`)
    }
    if (seen[row >>> 3] & (1 << (row & 7))) {
      throw new SourceError(
        `index ${row} is listed twice: to draw samples more often, use weights in the order`,
      )
    }
    seen[row >>> 3] |= 1 << (row & 7)
    rows.add(row)
  }
  return rows.finish()
}

function matching(source: Source, where: WhereJson): Selection {
  const tests = Object.entries(where).map(([name, condition]) => {
    const column = indexColumn(source, name, 'where')
    return { column, holds: compileCondition(condition, column, name) }
  })
  const rows = new RowCollector(source.count)
  for (let row = 0; row < source.count; row++) {
    if (tests.every(({ column, holds }) => holds(column.at(row)))) rows.add(row)
  }
  return rows.finish()
}

/** A column of the index, or an error that names those there are. */
export function indexColumn(source: Source, name: string, by: string): IndexColumn {
  const column = source.index(name)
  if (column !== undefined) return column
  const known = source.indexed ?? []
  const near = nearest(name, known)
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
  const hint = near === undefined ? there : `did you mean "${near}"?`
  const large = source.columns.includes(name) ? ' (its values are too large for the index)' : ''
  throw new SourceError(`${by}: the index of the source has no column "${name}"${large}; ${hint}`)
}

type Value = number | string

/** A condition as a function. Comparing numbers with text is a mistake that would silently select nothing. */
export function compileCondition(
  condition: WhereJson[string],
  column: Pick<IndexColumn, 'type'>,
  name: string,
): (value: Value) => boolean {
  const check = (value: Value): Value => {
    if (typeof value === column.type) return value
    throw new SourceError(
      `where: column "${name}" holds ${column.type}s, it can't be compared with ${JSON.stringify(value)}`,
    )
  }
  if (Array.isArray(condition)) {
    const wanted = new Set(condition.map(check))
    return value => wanted.has(value)
  }
  if (typeof condition !== 'object') {
    const wanted = check(condition)
    return value => value === wanted
  }
  const tests = Object.entries(condition).map(([sign, bound]) => COMPARISONS[sign](check(bound as Value)))
  return value => tests.every(test => test(value))
}

const COMPARISONS: Record<string, (bound: Value) => (value: Value) => boolean> = {
  '>': bound => value => value > bound,
  '>=': bound => value => value >= bound,
  '<': bound => value => value < bound,
  '<=': bound => value => value <= bound,
  '=': bound => value => value === bound,
  '!=': bound => value => value !== bound,
}
