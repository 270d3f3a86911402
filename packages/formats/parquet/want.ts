/** Which leaves of a file are read for some columns. */
import { leafOf, refused } from './columns.js'
import { type Form, formOf } from './form.js'
import type { ParquetLeaf } from './structure/schema.js'

/** What is read for some columns. */
export interface Want {
  /** Leaves, in the order in which they are loaded, and their forms. */
  leaves: number[]
  forms: Form[]
  /** Names that were asked for, and which of the leaves each is. */
  names: { name: string; place: number }[]
}

/** Columns that the file does not have are left out; those that can't be read are an error. */
export function wantOf(file: string, leaves: readonly ParquetLeaf[], columns: readonly string[]): Want {
  const want: Want = { leaves: [], forms: [], names: [] }
  for (const name of columns) {
    const leaf = leafOf(leaves, name)
    if (leaf < 0) continue
    const form = formOf(leaves[leaf])
    if (typeof form === 'string') throw refused(file, name, form)
    let place = want.leaves.indexOf(leaf)
    if (place < 0) {
      place = want.leaves.push(leaf) - 1
      want.forms.push(form)
    }
    want.names.push({ name, place })
  }
  return want
}
