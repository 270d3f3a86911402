/** Takes a part of a source: a stretch of rows, listed rows in their order, or those that meet conditions on index columns. */

import { SourceError } from '../../basics/errors.js'
import type { SourceJson, WhereJson } from '../../define/types.js'
import type { Source, SourceKind } from '../source.js'
import { columnsIn, compileCondition, compileWhere, indexColumn, withIndexed } from './condition.js'
import { attachSelected, RowCollector, type Selection, selectedManifest } from './selected.js'

interface SubsetJson {
  source: SourceJson
  range?: [number, number]
  indices?: number[]
  where?: WhereJson
}

export const subset: SourceKind<SubsetJson> = {
  async open(json, context, nesting) {
    const { range, indices, where } = json
    const child = await nesting.open(json.source, withIndexed(context, columnsIn(where ?? {})))
    const source = nesting.attach(child)
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
  const holds = compileWhere<number>(where, (name, condition) => {
    const column = indexColumn(source, name, 'where')
    const test = compileCondition(condition, column, name)
    return row => test(column.at(row))
  })
  const rows = new RowCollector(source.count)
  for (let row = 0; row < source.count; row++) {
    if (holds(row) === true) rows.add(row)
  }
  return rows.finish()
}
