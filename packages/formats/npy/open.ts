/** Opens .npy files: an array a file. */
import { SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import { attachArrays } from '../arrays/attach.js'
import type { ArrayFormat } from '../arrays/index-file.js'
import type { ArrayOptions, ArraysManifest } from '../arrays/manifest.js'
import { bytesOfType } from '../arrays/member.js'
import { columnsOf, frontOf } from '../arrays/npy-columns.js'
import { openArrays } from '../arrays/open.js'
import { namingFile, piecesOf } from '../arrays/read-file.js'
import { withPath } from '../paths.js'

/** Their arrays are the column `data`, or one of another name, so that several sources stand side by side in a zip. */
export interface NpyOptions extends ArrayOptions {
  column?: string
}
export type NpyFilesJson = PathsJson | ({ path: PathsJson } & NpyOptions)

const format: ArrayFormat = {
  kind: 'npy',
  single: true,
  read: (file, stores) =>
    namingFile(
      file,
      async () => {
        const front = await frontOf(piecesOf(file, stores))
        return columnsOf(front, file.bytes - front.start).map(({ field, type }) => ({
          column: field || 'data',
          type,
          at: front.start,
          length: bytesOfType(type),
        }))
      },
      () => 0,
    ),
}

async function openNpyFiles(json: NpyFilesJson, context: OpenContext): Promise<ArraysManifest> {
  const { column = 'data', ...files } = withPath(json)
  const manifest = await openArrays(format, files, context)
  return column === 'data' ? manifest : named(manifest, column)
}

/** The same arrays under another name than `data`. */
function named(manifest: ArraysManifest, column: string): ArraysManifest {
  if (!manifest.names.includes('data')) {
    const fields = manifest.columns.join(', ')
    throw new SourceError(`npy: records have a column for each field (${fields}): leave "column" out`)
  }
  const renamed = (name: string): string => (name === 'data' ? column : name)
  const schema = manifest.layout.schema.map(one => ({ ...one, name: renamed(one.name) }))
  return {
    ...manifest,
    names: manifest.names.map(renamed),
    columns: manifest.columns.map(renamed),
    layout: { ...manifest.layout, schema },
  }
}

export const npy: SourceKind<NpyFilesJson> = { open: openNpyFiles, attach: attachArrays }
