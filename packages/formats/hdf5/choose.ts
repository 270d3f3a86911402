/** Which datasets of a file the definition means, and which samples they make. */
import { inFile, nearest } from '../../core/basics/errors.js'
import type { IndexFile } from '../../core/source/index/file.js'
import { Dataset, LIES } from './dataset.js'
import { type Hdf5Tables, tablesOf } from './index-tables.js'
import { formOf, membersOf, refusedForm } from './value.js'

/** A dataset that a definition names: the column, and its path, or a pattern of paths. */
export interface SetJson {
  name: string
  path: string
}

/** The tables of one file, and its datasets by their paths. */
export class FileTables {
  readonly tables: Hdf5Tables
  private readonly numbers = new Map<string, number>()

  constructor(
    readonly file: string,
    index: IndexFile,
  ) {
    this.tables = tablesOf(index)
    for (let i = 0; i < this.tables.path.length; i++) this.numbers.set(this.tables.path.at(i), i)
  }

  get paths(): IterableIterator<string> {
    return this.numbers.keys()
  }

  find(path: string): number | undefined {
    return this.numbers.get(path)
  }

  /** Throws for a dataset that can't be read. */
  usable(number: number): Dataset {
    const { tables, file } = this
    const why = tables.refused.at(number)
    if (why !== '') throw inFile(file, `: dataset "/${tables.path.at(number)}" can't be read: ${why}`)
    return new Dataset(tables, number)
  }
}

const bare = (path: string): string => path.replace(/^\/+/, '')

/** The columns of a dataset. Members that can't be read are left out with the reason, unless none is left. */
export function columnsOf(
  file: string,
  name: string,
  dataset: Dataset,
  rows: boolean,
): { columns: string[]; left: { column: string; why: string }[] } {
  const { members, refused: left } = membersOf(name, dataset.kind.type)
  const dims = rows ? dataset.dims.slice(1) : dataset.dims
  const columns = members.flatMap(member => {
    const why = refusedForm(formOf(member, dims, dataset.element))
    if (why === undefined) return [member.column]
    left.push({ column: member.column, why })
    return []
  })
  if (columns.length === 0) {
    const problems = left.map(({ column, why }) => `${column}: ${why}`).join('; ')
    throw inFile(file, `: dataset "/${dataset.path}" can't be read: ${problems}`)
  }
  return { columns, left }
}

/** The datasets of the definition in a file, whose first axes are as long as each other. */
export function chooseRows(
  tables: FileTables,
  sets: readonly SetJson[],
): { numbers: number[]; count: number } {
  const { file } = tables
  const numbers = sets.map(({ path }) => {
    const number = tables.find(bare(path))
    if (number !== undefined) return number
    throw inFile(file, `has no dataset "${path}"; ${whatItHas(tables, path)}`)
  })
  return { numbers, count: rowsOf(tables, numbers) }
}

/** What stands in a message about a path that is none: the nearest, or some that there are. */
export function whatItHas(tables: FileTables, path: string): string {
  const like = nearest(bare(path), tables.paths)
  if (like !== undefined) return `did you mean "/${like}"?`
  const few = [...tables.paths].slice(0, 10).map(path => `/${path}`)
  return `it has ${few.join(', ') || 'none'}`
}

/** The rows that datasets have, all the same number of them. */
function rowsOf(tables: FileTables, numbers: readonly number[]): number {
  const { file } = tables
  const datasets = numbers.map(number => tables.usable(number))
  for (const { dims, path } of datasets)
    if (dims.length === 0) {
      throw inFile(
        file,
        `: dataset "/${path}" is a single value and has no rows: leave it out, or use "rows": "groups"`,
      )
    }
  const [count] = datasets[0].dims
  const other = datasets.find(({ dims }) => dims[0] !== count)
  if (other !== undefined) {
    throw inFile(
      file,
      `: dataset "/${datasets[0].path}" has ${count} rows, and "/${other.path}" has ${other.dims[0]}: ` +
        'name datasets with equal first axes in "datasets"',
    )
  }
  return count
}

/** Whether paths are patterns, with stars that stand for groups. */
export const arePatterns = (sets: readonly SetJson[]): boolean => sets.some(({ path }) => path.includes('*'))

/** The groups of a file whose rows follow each other: each has all datasets of the definition. */
export function chooseRowsOfGroups(
  tables: FileTables,
  sets: readonly SetJson[],
): { group: string; numbers: number[]; count: number }[] {
  const { file } = tables
  const { keys, numbers } = chooseGroups(tables, sets)
  const lacking = numbers.findIndex(own => own.includes(undefined))
  if (lacking >= 0) {
    const missing = sets.filter((_, set) => numbers[lacking][set] === undefined)
    throw inFile(
      file,
      `: group "${keys[lacking]}" has no dataset ${missing.map(({ path }) => `"${path}"`).join(', ')}: name those that all groups have`,
    )
  }
  const whole = numbers as number[][]
  return keys.map((group, i) => ({ group, numbers: whole[i], count: rowsOf(tables, whole[i]) }))
}

/** Groups that a program keeps for itself: PyTables its indexes of tables, MATLAB what its cells refer to. */
const INTERNAL = /(^|\/)(_i_[^/]*|#refs#|#subsystem#)\//

/**
 * The datasets that are meant where none is named: those that share the length of their first axis. Scales of axes, single values,
 * what can't be read, and what only the program that wrote the file needs are left out. Where lengths differ, that of most datasets
 * counts; datasets without rows count only where no other has any.
 */
export function usualSets(tables: FileTables, notice?: (text: string) => void): SetJson[] {
  const { file } = tables
  const { scale, refused, dimStart, dims } = tables.tables
  const byLength = new Map<number, string[]>()
  const left: string[] = []
  for (const path of tables.paths) {
    const number = tables.find(path)!
    if (scale[number] === 1 || INTERNAL.test(path)) continue
    if (refused.at(number) !== '') left.push(`/${path} (${refused.at(number)})`)
    else if (dimStart[number + 1] === dimStart[number]) continue
    else if (!isColumn(tables, path, number)) left.push(`/${path} (several texts a row)`)
    else {
      const length = dims[dimStart[number]]
      byLength.set(length, [...(byLength.get(length) ?? []), path])
    }
  }
  const sorted = [...byLength].sort(
    ([m, a], [n, b]) => Number(m === 0) - Number(n === 0) || b.length - a.length,
  )
  const [chosen, next] = sorted
  if (chosen === undefined) {
    const why = left.length === 0 ? '' : `: left out are ${left.slice(0, 5).join(', ')}`
    throw inFile(file, `has no dataset with rows that can be read${why}`)
  }
  if (next !== undefined && next[0] > 0 && next[1].length === chosen[1].length) {
    const reported = sorted.map(
      ([length, paths]) =>
        `${length} rows: ${paths
          .slice(0, 3)
          .map(path => `/${path}`)
          .join(', ')}`,
    )
    throw inFile(
      file,
      `has datasets of different lengths (${reported.slice(0, 5).join('; ')}): say which are meant, as in "datasets": {"x": "/x", "y": "/y"}, ` +
        'or, for groups of the same datasets, by stars: {"image": "data/*/image", "action": "data/*/action"}',
    )
  }
  for (const [length, paths] of sorted.slice(1))
    left.push(`${paths.map(path => `/${path}`).join(', ')} (${length} rows)`)
  if (left.length > 0)
    notice?.(
      `${file}: left out of the columns are ${left.slice(0, 10).join(', ')}: name the datasets that you want in "datasets"`,
    )
  return chosen[1].sort().map(path => ({ name: path, path }))
}

function isColumn(tables: FileTables, path: string, number: number): boolean {
  try {
    return columnsOf(tables.file, path, tables.usable(number), true).columns.length > 0
  } catch {
    return false
  }
}

/** The samples of a file whose groups match: their names, and the number of each set's dataset. */
export interface Groups {
  keys: string[]
  /** By sample, then by set. */
  numbers: (number | undefined)[][]
}

export function chooseGroups(tables: FileTables, sets: readonly SetJson[]): Groups {
  const byKey = new Map<string, (number | undefined)[]>()
  sets.forEach(({ path }, set) => {
    const pattern = patternOf(path)
    for (const found of tables.paths) {
      const match = pattern.exec(found)
      if (match === null) continue
      const key = match.slice(1).join('/')
      let row = byKey.get(key)
      if (row === undefined)
        byKey.set(key, (row = new Array<number | undefined>(sets.length).fill(undefined)))
      const number = tables.find(found)!
      tables.usable(number)
      row[set] = number
    }
  })
  const keys = [...byKey.keys()].sort()
  return { keys, numbers: keys.map(key => byKey.get(key)!) }
}

/** `data/*\/obs/img`: a star stands for a part of a name. */
function patternOf(path: string): RegExp {
  const parts = bare(path)
    .split('/')
    .map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '([^/]*)'))
  return new RegExp(`^${parts.join('/')}$`)
}

/** Rows of a unit of a dataset; 0: its rows share nothing that is read. */
export function unitRowsOf(dataset: Dataset): number {
  return dataset.lies === LIES.chunked && !dataset.plain ? dataset.slabRows : 0
}
