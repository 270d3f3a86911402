/** Files as they are: a folder of images, single files, and files that a list names. */
import { DefinitionError } from '../../core/basics/errors.js'
import { at, wrong } from '../../core/basics/mistakes.js'
import {
  either,
  isObject,
  isText,
  list,
  object,
  optional,
  type Parser,
  record,
  text,
} from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore, withOptions } from '../paths.js'
import type { FolderJson, FolderOptions } from './open-folder.js'
import type { ListJson } from './open-list.js'

export interface FilesTypes {
  folder: FolderJson
  files: PathsJson | ListJson
}

declare module '../../core/define/types.js' {
  interface FormatTypes extends FilesTypes {}
}

/**
 * A folder with one folder for each class: columns image, label, class, path. `classes` names them in the order of their labels, or the
 * folder whose classes these are: `folder('val', { classes: 'train' })`.
 */
export const folder = (path: string, options: FolderOptions = {}): SourceJson => ({
  folder: withOptions(path, options),
})

/**
 * Single files, by paths or patterns; or those that a list names, with its other columns: `files({ list: 'train.csv',
 * path: 'file' })`.
 */
export function files(list: ListJson): SourceJson
export function files(...paths: string[]): SourceJson
export function files(...given: (string | ListJson)[]): SourceJson {
  const [first] = given
  return { files: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

const names = list(text, 'a list of names', { min: 1 })

const listOfFiles: Parser<ListJson> = (value, path) => {
  const columns = record(text, 'columns with paths by names, such as {"image": "img", "mask": "msk"}')
  const shape = object({
    list: text,
    path: optional(text),
    paths: optional(columns),
    root: optional(text),
  })
  const json = shape(value, path) as ListJson
  if (json.paths === undefined) return json
  if (json.path !== undefined) throw new DefinitionError(at(path, 'path'), 'goes without "paths"')
  if (Object.keys(json.paths).length === 0) throw wrong(at(path, 'paths'), 'a column or more', json.paths)
  return json
}

export const folderFormat: Format<FolderJson> = {
  name: 'folder',
  says: 'A folder of images, with a folder for each class.',
  example: 'photos/train',
  shape: either(
    isText,
    text,
    object(
      { path: text, classes: optional(either(isText, text, names)), extensions: optional(names) },
      'a path or an object',
    ),
  ),
  facts: { namedByFiles: true, selectsByIndex: true },
  load: async () => (await import('./folder.js')).folder,
}

export const filesFormat: Format<PathsJson | ListJson> = {
  name: 'files',
  says: 'Single files, or files that a list names.',
  example: 'images/*.jpg',
  shape: either(isObject, listOfFiles, paths),
  facts: { namedByFiles: true, moreColumns: true, selectsByIndex: true },
  load: async () => (await import('./files.js')).files,
}
