/**
 * Columns that folders tell, as Hive, Spark and pyarrow name them: `year=2024/country=de/part-0.parquet` has `year` and `country`. A
 * column whose values are all integers is one of numbers.
 */
import type { IndexColumn } from '../../core/source/source.js'

/** A column, and its value in each file; null: it has none. */
export interface Partition {
  name: string
  type: IndexColumn['type']
  values: readonly (number | string | null)[]
}

const NULL = '__HIVE_DEFAULT_PARTITION__'
/** Integers of 32 bits, as pyarrow infers them. */
const INTEGER = /^-?\d{1,10}$/

/** Those that none of the files has a column for: what lies in a file wins. `files` are relative to the folder that is named. */
export function partitionsOf(files: readonly string[], columns: readonly string[]): Partition[] {
  const found = new Map<string, (string | null)[]>()
  files.forEach((file, i) => {
    for (const folder of file.split('/').slice(0, -1)) {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(folder) ?? []
      if (key === undefined || columns.includes(decoded(key))) continue
      const name = decoded(key)
      if (!found.has(name)) found.set(name, new Array(files.length).fill(null))
      found.get(name)![i] = value === NULL ? null : decoded(value)
    }
  })
  return [...found].map(([name, texts]) => {
    const isInteger = (text: string | null) =>
      text === null || (INTEGER.test(text) && Number(text) === (Number(text) | 0))
    const numbers = texts.some(text => text !== null) && texts.every(isInteger)
    const values = numbers ? texts.map(text => (text === null ? null : Number(text))) : texts
    return { name, type: numbers ? 'number' : 'string', values }
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
