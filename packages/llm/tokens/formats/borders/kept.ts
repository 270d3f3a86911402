/** Documents of an index that was kept (kept-index.ts). */
import { SourceError } from '../../../../core/basics/errors.js'
import type { NumberArray } from '../../../../core/source/index/columns.js'
import { IndexFile } from '../../../../core/source/index/file.js'
import type { Documents, FileDocuments } from './contract.js'

export class KeptDocuments implements Documents {
  readonly count: number
  private readonly ends: NumberArray
  private readonly starts: NumberArray | undefined

  constructor({ path, checksum, count, file }: Extract<FileDocuments, { by: 'kept' }>) {
    const index = new IndexFile(path, true)
    if (index.header.checksum !== checksum) {
      throw new SourceError(`${path}, the index of ${file.path}, was replaced during the run: start again`, {
        file: path,
      })
    }
    this.count = count
    this.ends = index.numbers('end')
    this.starts = index.has('start') ? index.numbers('start') : undefined
  }

  start(document: number): number {
    if (this.starts !== undefined) return this.starts[document]
    return document === 0 ? 0 : this.ends[document - 1]
  }

  end(document: number): number {
    return this.ends[document]
  }

  find(token: number): number {
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = Math.floor((low + high + 1) / 2)
      if (this.start(middle) <= token) low = middle
      else high = middle - 1
    }
    return low
  }
}
