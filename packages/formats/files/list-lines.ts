/** Reads a list of files: the path in each line, and the other cells by column. */

import { setImmediate as breathe } from 'node:timers/promises'
import { inFile, nearest, type SourceError } from '../../core/basics/errors.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { numberIn } from '../shared/number-in.js'
import type { Table } from '../text-lines.js'

/** Lines after which other work of this thread gets its turn, and progress is told. */
export const BREATH = 4096

/** The cells of a column, as text and, as long as all of them are, as numbers. */
class Cells {
  readonly text = new TextBuilder()
  private values: NumberBuilder | undefined = new NumberBuilder()
  private some = false

  push(row: number, cell: string): void {
    this.fill(row)
    this.text.push(cell)
    if (this.values === undefined) return
    const number = cell.trim() === '' ? Number.NaN : numberIn(cell)
    if (number === undefined) this.values = undefined
    else this.values.push(number)
    if (!Number.isNaN(number)) this.some = true
  }

  /** Empty cells up to a row. */
  fill(row: number): void {
    this.text.padTo(row)
    while (this.values !== undefined && this.values.length < row) this.values.push(Number.NaN)
  }

  /** Undefined where the cells are text, or all empty. */
  get numbers(): NumberBuilder | undefined {
    return this.some ? this.values : undefined
  }
}

/** Reads all lines; `path` is the column that holds the path. */
export async function readLines(
  table: Table,
  { list, path, as }: { list: string; path: string; as?: string },
  progress: (lines: number) => void,
): Promise<{ paths: string[]; lines: number[]; cells: Map<string, Cells> }> {
  const cells = new Map<string, Cells>()
  const paths: string[] = []
  const lines: number[] = []
  for (const { line, cells: found } of table.lines()) {
    const row = paths.length
    let file = ''
    for (let i = 0; i < found.length; i++) {
      const name = table.names[i]
      if (name === path) {
        file = found[i]
        continue
      }
      let column = cells.get(name)
      if (column === undefined) {
        column = new Cells()
        cells.set(name, column)
      }
      column.push(row, found[i])
    }
    if (file === '') throw noPath(list, line, path, table.names, as)
    paths.push(file)
    lines.push(line)
    if (paths.length % BREATH === 0) {
      progress(paths.length)
      await breathe()
    }
  }
  if (paths.length === 0) {
    if (table.names.length > 0 && !table.names.includes(path)) throw noPath(list, 1, path, table.names, as)
    throw inFile(list, 'names no file')
  }
  for (const column of cells.values()) column.fill(paths.length)
  return { paths, lines, cells }
}

function noPath(
  list: string,
  line: number,
  path: string,
  names: readonly string[],
  as: string | undefined,
): SourceError {
  if (names.includes(path)) {
    return inFile(list, `, line ${line}: the column "${path}" is empty, it should have a path`)
  }
  const near = nearest(path, names)
  const usual = names.find(name => /file|path|image|img/i.test(name))
  const column = `"${near ?? usual ?? names[0] ?? 'file'}"`
  return inFile(
    list,
    `has no column "${path}"; it has ${names.join(', ')}. Name the one with the paths of the files: ` +
      `{"files": {"list": …, ${as === undefined ? `"path": ${column}` : `"paths": {"${as}": ${column}}`}}}`,
  )
}
