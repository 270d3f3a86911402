/** Finds the files that an Arrow source names: files and patterns, or folders of Hugging Face's datasets. */
import { SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import {
  type DataFile,
  describeFiles,
  expandPattern,
  type FileWords,
  type NamedFile,
  patternsOf,
} from '../../core/source/find/data-files.js'
import { prefixOf, resolveName, withoutSlash } from '../../core/source/find/names.js'
import { statOf } from '../../core/store/access.js'
import { codeOf, type Stat } from '../../core/store/store.js'
import { type Stores, schemeOf } from '../../core/store/stores.js'
import { withPath } from '../paths.js'
import { datasetFolder } from './hugging-face.js'

export interface ArrowOptions {
  /** Which split of a folder with several. */
  split?: string
  /** Where files that its rows name may lie, besides the folder of the table. */
  root?: string
}
export type ArrowJson = PathsJson | ({ path: PathsJson } & ArrowOptions)

const WORDS: FileWords = { source: 'arrow', what: 'file' }

/** How files of Arrow end. In other stores than the local one, what ends otherwise is a folder. */
const ENDINGS = /\.(arrow|arrows|feather|ipc|ipcs|arrow_file|arrow_stream)$/i

export interface Found {
  files: DataFile[]
  /** Names of classes, by column, where a folder has them. */
  classes: Record<string, string[]>
}

export async function findArrowFiles(json: ArrowJson, root: string, stores: Stores): Promise<Found> {
  const { path, split } = withPath(json)
  const named: NamedFile[] = []
  const classes: Found['classes'] = {}
  let folders = 0
  for (const pattern of patternsOf(path)) {
    for (const file of await expandPattern(pattern, resolveName(root, pattern), stores, WORDS)) {
      const stat = await statFile(file.file, stores)
      if (stat !== 'folder') {
        named.push({ ...file, stat: file.stat ?? stat })
        continue
      }
      folders++
      const folder = await datasetFolder(withoutSlash(file.file), split, stores)
      Object.assign(classes, folder.classes)
      named.push(...(await filesIn(folder, stores)))
    }
  }
  // First what is missing: a folder with a wrong name is no file, either.
  const files = await describeFiles(named, stores, WORDS)
  if (split !== undefined && folders === 0)
    throw new SourceError(
      'arrow: "split" goes with a folder that datasets saved, and this names files: leave it out',
    )
  return { files, classes }
}

/** Whether a name is that of a folder; what is known of a local file, so that it is not looked at again. */
async function statFile(name: string, stores: Stores): Promise<Stat | 'folder' | undefined> {
  if (schemeOf(name) !== undefined) return ENDINGS.test(name) ? undefined : 'folder'
  try {
    return await statOf(stores, name)
  } catch (error) {
    return codeOf(error) === 'EISDIR' ? 'folder' : undefined
  }
}

async function filesIn(
  { folder, files }: { folder: string; files: string[] | undefined },
  stores: Stores,
): Promise<NamedFile[]> {
  const prefix = prefixOf(folder)
  if (files !== undefined) return files.map(name => ({ file: prefix + name, pattern: `${prefix}state.json` }))
  const pattern = `${prefix}*.arrow`
  return expandPattern(pattern, pattern, stores, WORDS)
}
