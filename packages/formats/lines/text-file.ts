/** One text file while a feed runs: maps its index, and says where its rows lie. */
import { SourceError } from '../../core/basics/errors.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { ByteRange } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { type PackedFile, Seek } from '../packed/units.js'

export interface TextFileManifest extends PackedFile {
  /** Name in ids. */
  name: string
  /** Of the index's header, so that a maker doesn't attach to another index than the one that was opened. */
  checksum: number
  /** The file as it was when the feed was opened. */
  was: Version
  /** CSV: the byte between cells, whether there is a header, and the names of the cells. */
  delimiter?: number
  header?: boolean
  names?: string[]
}

export class TextFile {
  readonly starts: NumberArray
  private readonly lines: NumberArray | undefined
  private readonly was: Version
  private readonly index: IndexFile
  private table: Seek | undefined

  constructor(readonly manifest: TextFileManifest) {
    const { file, index: path, checksum, was } = manifest
    const index = new IndexFile(path, true)
    if (index.header.checksum !== checksum) {
      throw new SourceError(
        `${file}: its index was rebuilt after the feed was opened: the file has changed, or another feed reads it in ` +
          'another way; start again',
        { file },
      )
    }
    this.index = index
    this.was = typeof was === 'string' ? was : { ...was, probes: index.numbers('probes') }
    this.starts = index.numbers('start')
    this.lines = index.has('line') ? index.numbers('line') : undefined
  }

  /** The line in which a row begins, from 1. */
  line(row: number): number {
    return this.lines?.[row] ?? row + (this.manifest.header ? 2 : 1)
  }

  /** Of a compressed file. */
  get seek(): Seek {
    return (this.table ??= new Seek(this.index, this.manifest.file, this.was))
  }

  /** The bytes of a row of a file that is not compressed. */
  range(row: number): ByteRange {
    const offset = this.starts[row]
    return { file: this.manifest.file, offset, length: this.starts[row + 1] - offset, was: this.was }
  }
}
