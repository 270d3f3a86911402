/**
 * Folders of Hugging Face's datasets, as `save_to_disk` writes them:
 *
 *   state.json          the files, in their order
 *   dataset_info.json   what the columns are (the schema of each file says it, too)
 *   dataset_dict.json   the names of splits: each is such a folder
 *
 * A folder without these, as in the cache, is its *.arrow files, sorted by name.
 */
import { inFile, nearest, type SourceError } from '../../core/basics/errors.js'
import { prefixOf } from '../../core/source/find/names.js'
import { readWhole } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import { classesIn } from '../features.js'

/** Bytes of a file of JSON. */
const MOST_JSON = 64 << 20

export interface DatasetFolder {
  /** The names of its files, in their order; undefined: they have to be listed. */
  files: string[] | undefined
  /** The folder of the split. */
  folder: string
  /** Names of classes, by column. */
  classes: Record<string, string[]>
}

export async function datasetFolder(
  folder: string,
  split: string | undefined,
  stores: Stores,
): Promise<DatasetFolder> {
  const splits = await splitsOf(folder, stores)
  if (splits === undefined && split === undefined) return oneDataset(folder, stores)
  if (splits === undefined)
    throw inFile(folder, `has no dataset_dict.json, so no split "${split}": leave "split" out`)
  if (split !== undefined && splits.includes(split)) return oneDataset(`${prefixOf(folder)}${split}`, stores)
  const known = splits.map(name => `"${name}"`).join(', ')
  const near = split === undefined ? undefined : nearest(split, splits)
  const hint = near === undefined ? `name one: "split": "${splits[0]}"` : `did you mean "${near}"?`
  throw inFile(folder, `has the splits ${known}${split === undefined ? '' : `, and no "${split}"`}: ${hint}`)
}

async function splitsOf(folder: string, stores: Stores): Promise<string[] | undefined> {
  const file = `${prefixOf(folder)}dataset_dict.json`
  const json = await jsonOf(file, stores)
  if (json === undefined) return undefined
  const { splits } = json as { splits?: unknown }
  if (Array.isArray(splits) && splits.length > 0 && splits.every(isPlainName)) return splits
  throw wrongJson(file, 'it needs "splits", a list of names of folders')
}

async function oneDataset(folder: string, stores: Stores): Promise<DatasetFolder> {
  const file = `${prefixOf(folder)}state.json`
  const state = (await jsonOf(file, stores)) as
    | { _data_files?: { filename?: unknown }[]; _indices_data_files?: unknown[] | null }
    | undefined
  const info = (await jsonOf(`${prefixOf(folder)}dataset_info.json`, stores)) as
    | { features?: unknown }
    | undefined
  const classes = classesIn(info?.features)
  if (state === undefined) return { folder, files: undefined, classes }
  if (Array.isArray(state._indices_data_files) && state._indices_data_files.length > 0)
    throw wrongJson(
      file,
      'its rows are chosen by a table of indices: save it again with dataset.flatten_indices().save_to_disk(…)',
    )
  const { _data_files: files } = state
  if (!Array.isArray(files) || !files.every(one => isPlainName(one?.filename)))
    throw wrongJson(file, 'it needs "_data_files": [{"filename": …}], names of files in the folder')
  return { folder, classes, files: files.map(({ filename }) => filename as string) }
}

/** A name in the folder: it leads nowhere else. */
function isPlainName(name: unknown): name is string {
  return typeof name === 'string' && /^[^/\\\0]+$/.test(name) && name !== '.' && name !== '..'
}

/** Undefined where there is no such file. */
async function jsonOf(file: string, stores: Stores): Promise<object | undefined> {
  let text: string
  try {
    text = (await readWhole(stores, file, MOST_JSON)).toString()
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json === 'object' && json !== null) return json
  } catch (cause) {
    throw wrongJson(file, `it is no JSON: ${(cause as Error).message}`)
  }
  throw wrongJson(file, 'it is no JSON object')
}

function wrongJson(file: string, problem: string): SourceError {
  return inFile(file, `: ${problem}`)
}
