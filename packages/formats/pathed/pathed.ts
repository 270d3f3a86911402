/**
 * A table whose pictures or sounds may lie in files of their own. Hugging Face's Image and Audio are structs of `bytes` and `path`;
 * where a row has no bytes, its path leads to the file. Which files there are was looked up when the feed was opened
 * (pathed/open.ts). Not to be written in a definition: `openSource` makes it.
 */
import { DecodeError, inFile, SourceError } from '../../core/basics/errors.js'
import { folderOf, withoutSlash } from '../../core/source/find/names.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import { attachedIndex, type TextColumn } from '../../core/source/index/file.js'
import type {
  ByteRange,
  Columns,
  Manifest,
  Need,
  Pieces,
  Source,
  SourceKind,
} from '../../core/source/source.js'
import { SourceWrapper } from '../../core/source/source-wrapper.js'
import type { Version } from '../../core/store/store.js'
import { isWithin } from '../shared/within.js'

/** In place of a size: the row has no path; it leads out of the folder of its table; there is no such file. */
export const NO_PATH = -1
export const OUTSIDE = -2
export const MISSING = -3

/** A column and the index of its files: `size`, `file`, and `time` or `version` of each row. */
export interface PathedColumn {
  name: string
  path: string
  checksum: number
  /** Where files may lie besides the folder of the table. */
  root?: string
  /** The folder of the files that rows may not name. */
  elsewhere?: string
}

export interface PathedManifest extends Manifest {
  kind: 'pathed'
  child: Manifest
  pathed: PathedColumn[]
}

export const pathed: SourceKind<never> = {
  open() {
    throw new SourceError('"pathed" is no source of its own: name the table whose files are meant')
  },

  attach(manifest, nesting) {
    const { child, pathed } = manifest as PathedManifest
    return new PathedSource(nesting.attach(child), pathed)
  },
}

class PathedSource extends SourceWrapper {
  private readonly files: readonly ColumnFiles[]

  constructor(source: Source, columns: readonly PathedColumn[]) {
    super(source)
    this.files = columns.map(column => new ColumnFiles(column))
  }

  override need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    this.source.need(row, epoch, columns, out)
    for (const files of this.files) {
      if (files.has(row) && columns.includes(files.name))
        out.ranges.push(files.range(row, this.where(row)?.file ?? ''))
    }
  }

  override sample(
    row: number,
    epoch: number,
    columns: readonly string[],
    { ranges, units }: Pieces,
  ): Columns {
    const own = this.files.filter(({ name }) => columns.includes(name))
    const read = own.filter(files => files.has(row))
    const below = ranges.length - read.length
    const out = this.source.sample(row, epoch, columns, { ranges: ranges.slice(0, below), units })
    read.forEach(({ name }, i) => {
      out[name] ??= ranges[below + i]
    })
    for (const files of own) if (out[files.name] === undefined) files.refuse(row)
    return out
  }
}

/** The files of one column, row by row. */
class ColumnFiles {
  readonly name: string
  private readonly sizes: NumberArray
  private readonly names: TextColumn
  private readonly times: NumberArray | undefined
  private readonly versions: TextColumn | undefined
  private readonly index: { path: string; checksum: number; checked: boolean }

  constructor(private readonly column: PathedColumn) {
    const { name, path, checksum } = column
    const index = attachedIndex(path, checksum)
    this.name = name
    this.sizes = index.numbers('size')
    this.names = index.text('file')
    this.times = index.has('time') ? index.numbers('time') : undefined
    this.versions = index.has('version') ? index.text('version') : undefined
    this.index = { path, checksum, checked: false }
  }

  has(row: number): boolean {
    return this.sizes[row] >= 0
  }

  /** The file of a row of this table. An index comes with the data, and names no more than the table may. */
  range(row: number, table: string): ByteRange {
    const size = this.sizes[row]
    const file = this.names.at(row)
    const folder = folderOf(table)
    if (!isWithin(file, [folder, this.column.root ?? folder]))
      throw inFile(
        this.index.path,
        `names ${file}, which leads out of ${folder}: remove the index, it is made anew`,
      )
    const was: Version = this.versions?.at(row) ?? { size, mtimeMs: this.times![row], index: this.index }
    return { file, offset: 0, length: size, was }
  }

  /** The row has neither bytes nor a file. */
  refuse(row: number): void {
    const size = this.sizes[row]
    if (size !== OUTSIDE && size !== MISSING) return
    const file = this.names.at(row)
    throw new DecodeError(
      size === MISSING
        ? `column "${this.name}" has no bytes, and its path ${file} is no file: copy the files beside the table`
        : `column "${this.name}" has no bytes, and its path ${file} leads out of the folder of the table: if you trust it, ` +
            `${this.column.elsewhere === undefined ? '' : `"root": ${JSON.stringify(withoutSlash(this.column.elsewhere))} in the source would do; or `}` +
            'move the files beside the table and write paths relative to it',
    )
  }
}
