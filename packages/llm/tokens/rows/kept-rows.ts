/** Rows whose places lie in an index: what any thread needs to open it. */
import { SourceError } from '../../../core/basics/errors.js'
import { IndexFile } from '../../../core/source/index/file.js'
import type { PackRules } from '../pack/places.js'
import type { StreamRuns } from './stream.js'

/** Plain data. */
export interface KeptRows {
  pack: 'bestFit' | 'document'
  runs: StreamRuns
  rules: PackRules
  count: number
  /** bestFit: rows that are full pieces of long documents. */
  full: number
  path: string
  checksum: number
}

/** Maps the index: threads share its memory. */
export function openKept({ path, checksum }: KeptRows): IndexFile {
  const index = new IndexFile(path, true)
  if (index.header.checksum === checksum) return index
  throw new SourceError(`${path}, where packed rows are kept, was replaced during the run: start again`, {
    file: path,
  })
}
