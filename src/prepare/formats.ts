/** Which format a file or folder has, by its name, and where names don't say it, by its first bytes. */
import { readdirSync } from 'node:fs'
import type { SourceName } from '../define/nested.js'
import type { SourceJson } from '../define/types.js'
import { isGlob } from '../source/find/glob.js'
import { readRange, statOf } from '../store/access.js'
import type { Stores } from '../store/stores.js'

/** By the ends of names, of patterns too. */
const BY_NAME: readonly [RegExp, SourceName][] = [
  [/\.(tar|tgz|tar\.gz)$/i, 'tar'],
  [/\.(arrow|feather)$/i, 'arrow'],
  [/\.(parquet|pq)$/i, 'parquet'],
  [/\.npy$/i, 'npy'],
  [/\.npz$/i, 'npz'],
  [/\.safetensors$/i, 'safetensors'],
  [/\.(h5|hdf5|he5|hdf)$/i, 'hdf5'],
  [/\.(nc|nc4|netcdf)$/i, 'netcdf4'],
  [/\.zarr(\.zip)?\/?$/i, 'zarr'],
  [/\.tfrecords?(\.gz)?$/i, 'tfrecord'],
  [/\.(jsonl|ndjson)(\.gz|\.zst)?$/i, 'jsonl'],
  [/\.[ct]sv(\.gz|\.zst)?$/i, 'csv'],
]

/** What tables of paths are among these: they may be lists of files. */
const TABLES: readonly SourceName[] = ['jsonl', 'csv']

/** The format that a name says; undefined: none that is known. */
export function formatOf(path: string): SourceName | undefined {
  return BY_NAME.find(([name]) => name.test(path))?.[1]
}

/** The source of a file or pattern whose name says its format. A table with a column "path" is a list of files. */
export async function sourceOfFormat(path: string, stores: Stores): Promise<SourceJson | undefined> {
  const format = formatOf(path)
  if (format === undefined) return undefined
  const one = !isGlob(path) && !path.includes('{') && !/\.(gz|zst)$/.test(path)
  if (one && TABLES.includes(format) && (await namesFiles(path, stores))) return { files: { list: path } }
  return sourceOf(format, path)
}

const sourceOf = (format: SourceName, paths: string | string[]): SourceJson =>
  ({ [format]: paths }) as unknown as SourceJson

/** Files at the top of a folder that say what it is, and a word of theirs where the name alone does not. */
const BY_FILE: readonly [name: string, word: string, SourceName][] = [
  ['state.json', '_data_files', 'arrow'],
  ['dataset_dict.json', 'splits', 'arrow'],
  ['zarr.json', 'zarr_format', 'zarr'],
  ['.zgroup', 'zarr_format', 'zarr'],
  ['.zarray', 'zarr_format', 'zarr'],
  ['.zmetadata', 'zarr_format', 'zarr'],
  ['index.json', '"mds"', 'mds'],
  ['index.json', '"chunk_bytes"', 'litdata'],
]

/** Formats of which a folder holds many files: shards. */
const SHARDS: readonly SourceName[] = ['tar', 'arrow', 'parquet', 'tfrecord', 'jsonl']

/** The source that a local folder is; undefined: a folder of images, or of files that no format is known for. */
export async function sourceOfFolder(path: string, stores: Stores): Promise<SourceJson | undefined> {
  const names = readdirSync(path).sort()
  for (const [name, word, format] of BY_FILE)
    if (names.includes(name) && (await startOf(`${path}/${name}`, stores)).includes(word))
      return sourceOf(format, path)
  for (const format of SHARDS) {
    const shards = names.filter(name => formatOf(name) === format)
    if (shards.length > 0)
      return sourceOf(
        format,
        shards.map(name => `${path}/${name}`),
      )
  }
  return undefined
}

/** Whether the first line of a table has a column "path". A table that can't be read is named when it is opened. */
async function namesFiles(path: string, stores: Stores): Promise<boolean> {
  const [first] = (await startOf(path, stores).catch(() => '')).split('\n', 1)
  return first.startsWith('{') ? /"path"\s*:/.test(first) : first.split(/[,\t]/).some(isPath)
}

const isPath = (cell: string): boolean => /^\uFEFF?"?path"?$/.test(cell.trim())

const START = 65536

/** The beginning of a file, as text. */
async function startOf(file: string, stores: Stores): Promise<string> {
  const { bytes } = await statOf(stores, file)
  const start = Buffer.alloc(Math.min(START, bytes))
  if (bytes > 0) await readRange(stores, { file, offset: 0, length: start.length }, start)
  return start.toString('utf8')
}
