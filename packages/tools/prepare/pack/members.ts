/** From the columns of a sample to the members of a WebDataset shard. */
import { SourceError } from '../../../core/basics/errors.js'
import type { Column, Source } from '../../../core/source/source.js'

/** What each column of a source is called in a shard: its extension. */
export type MemberNames = ReadonlyMap<string, string>

/** A label that is a number is `cls`, as everywhere; other names become small letters, without what a tar can't have. */
export function memberNames(source: Source): MemberNames {
  const names = new Map<string, string>()
  const taken = new Map<string, string>()
  for (const column of source.columns) {
    const label = column === 'label' && source.index('label')?.type === 'number'
    const name = label ? 'cls' : column.toLowerCase().replace(/[/\p{Cc}]/gu, '_')
    const before = taken.get(name)
    if (before !== undefined) {
      throw new SourceError(
        `the columns "${before}" and "${column}" would both be called ".${name}" in a shard: rename one of them`,
      )
    }
    taken.set(name, column)
    names.set(column, name)
  }
  return names
}

/** The members of a row by extension: bytes as they are, numbers and text as text. */
export function membersOf(
  source: Source,
  row: number,
  sample: Readonly<Record<string, Column>>,
  names: MemberNames,
): Record<string, Uint8Array> {
  const file = source.wholeFile?.(row)
  const bytes = file && sample[file.column]
  const members: Record<string, Uint8Array> = {}
  const add = (name: string, column: string, value: Uint8Array): void => {
    if (name in members) {
      throw new SourceError(
        `${source.id(row)}: the column "${column}" and another would both be called ".${name}" in a shard: rename one of them`,
      )
    }
    members[name] = value
  }
  for (const [column, value] of Object.entries(sample)) {
    if (value === bytes) {
      // The file goes by several names; it is written once, under its own extension.
      if (column === file?.column) add(file.extension || 'bin', column, value as Uint8Array)
    } else if (value instanceof Uint8Array) add(names.get(column) ?? column, column, value)
    else if (!file?.reported.includes(column))
      add(names.get(column) ?? column, column, Buffer.from(String(value)))
  }
  return members
}
