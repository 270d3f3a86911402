/** From the columns of a sample to the members of a WebDataset shard. */
import type { Column, Source } from '../source/source.js'

/** Columns that hold a whole file, whose extension is that of the path. */
const WHOLE_FILES = ['image', 'file']
/** What is told elsewhere: class names in classes.json, file names in the key. */
const LEFT_OUT = ['class', 'path', 'name']

/** The columns to ask a source for: of plain files each once, whatever other names it goes by. */
export function columnsToPack(source: Source): readonly string[] {
  return source.columns.includes('file') ? ['file', 'path'] : source.columns
}

/** The members of a sample by extension: bytes as they are, a label as `cls`, an ASCII number. */
export function membersOf(columns: Readonly<Record<string, Column>>): Record<string, Uint8Array> {
  const members: Record<string, Uint8Array> = {}
  for (const [name, value] of Object.entries(columns)) {
    if (value instanceof Uint8Array)
      members[WHOLE_FILES.includes(name) ? extensionOf(columns.path) : name] = value
    else if (!LEFT_OUT.includes(name)) members[name === 'label' ? 'cls' : name] = Buffer.from(String(value))
  }
  return members
}

function extensionOf(path: Column | undefined): string {
  const name = String(path ?? '').replace(/^.*\//, '')
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : 'bin'
}
