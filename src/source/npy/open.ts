/** Opens .npy files: an array a file. */
import type { ArrayFilesJson } from '../../define/types.js'
import type { ArrayFormat } from '../arrays/index-file.js'
import type { ArraysManifest } from '../arrays/manifest.js'
import { bytesOfType } from '../arrays/member.js'
import { openArrays } from '../arrays/open.js'
import { namingFile, piecesOf } from '../arrays/read-file.js'
import type { OpenContext } from '../source.js'
import { columnsOf, frontOf } from './members.js'

const format: ArrayFormat = {
  kind: 'npy',
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

export const openNpyFiles = (json: ArrayFilesJson, context: OpenContext): Promise<ArraysManifest> =>
  openArrays(format, json, context)
