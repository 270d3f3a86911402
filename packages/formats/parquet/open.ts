/**
 * Opens Parquet files: finds them, finds or builds the index of each (parquet/index.ts), and refuses columns that can't be
 * read. parquet/parquet-source.ts reads them while the feed runs.
 */

import { createHash } from 'node:crypto'
import { nearest } from '../../core/basics/errors.js'
import type { WhereJson } from '../../core/define/check/where.js'
import type { PathsJson } from '../../core/define/types.js'
import { joined } from '../../core/source/combine/combined.js'
import { selectedManifest } from '../../core/source/combine/selected.js'
import { type DataFile, findDataFiles, fixedFolder } from '../../core/source/find/data-files.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { Manifest, OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { indexedFiles } from '../indexed-files.js'
import { withFiles } from '../pathed/open.js'
import { withPath } from '../paths.js'
import { obtainFileIndexes } from '../shared/index-of-files.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { columnsOf, leafOf, refused } from './columns.js'
import { formOf } from './form.js'
import { type ParquetMeta, parquetIndex } from './index.js'
import { type ParquetManifest, ParquetSource } from './parquet-source.js'
import { partitionsOf } from './partitions.js'
import { selectRows } from './where.js'

export interface ParquetOptions {
  where?: WhereJson
  root?: string
  checksums?: boolean
}
export type ParquetJson = PathsJson | ({ path: PathsJson } & ParquetOptions)

/** Files whose footers are read at the same time. */
const AT_ONCE = 8

/** Opens the files. With `where`, the manifest is that of a subset: rows that were selected once, here. */
async function openParquet(json: ParquetJson, context: OpenContext): Promise<Manifest> {
  const { path, where, checksums } = withPath(json)
  using stores = new Stores()
  const opened = await openFiles(path, context, stores)
  const manifest = {
    ...withPartitions(opened, fixedFolder(path, context.root), context.wanted),
    checksums: context.check === 'nothing' || checksums !== false,
  }
  if (where === undefined) return manifest
  const source = new ParquetSource(manifest)
  const selection = await selectRows(source, where, stores, context.progress)
  return selectedManifest('subset', { where }, manifest, source, selection, true)
}

/**
 * With the columns that folders below `root` tell. Names of files need not have these folders: the values of wanted columns are part
 * of what is hashed.
 */
function withPartitions(opened: ParquetManifest, root: string, wanted: readonly string[]): ParquetManifest {
  const below = opened.files.map(({ file }) => file.slice(root.length))
  const partitions = partitionsOf(below, opened.columns)
  if (partitions.length === 0) return opened
  const { fingerprint, stamp, columns } = opened
  const reported = partitions.filter(({ name }) => wanted.includes(name))
  const { digest } = fingerprint
  return {
    ...opened,
    columns: [...columns, ...partitions.map(({ name }) => name)],
    partitions,
    stamp: joined([stamp, digestOf(partitions)]),
    fingerprint:
      reported.length === 0 ? fingerprint : { ...fingerprint, digest: digestOf([digest, reported]) },
  }
}

const digestOf = (parts: unknown): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)

async function openFiles(path: PathsJson, context: OpenContext, stores: Stores): Promise<ParquetManifest> {
  const files = await findDataFiles(path, context.root, stores, {
    source: 'parquet',
    what: 'file',
  })
  return await openMany('parquet', files, undefined, context, context => openIndexes(files, context, stores))
}

async function openIndexes(
  files: readonly DataFile[],
  context: OpenContext,
  stores: Stores,
): Promise<Opened<ParquetManifest>> {
  const indexes = await obtainFileIndexes(
    parquetIndex,
    files,
    context,
    stores,
    'indexing Parquet files',
    AT_ONCE,
  )
  const metas = indexes.map(({ header }) => header.meta as unknown as ParquetMeta)
  const columns = [...new Set(distinct(metas).flatMap(({ leaves }) => columnsOf(leaves)))]
  checkWanted(files, metas, context.wanted, columns)
  const units = indexes.map(({ path, header }) =>
    new IndexFile(path, false, header).numbers('unitRows').slice(),
  )
  const common = indexedFiles('parquet', files, indexes, 'name files that have rows')
  const manifest: ParquetManifest = {
    ...common,
    checksums: true,
    partitions: [],
    files: common.files.map((file, i) => ({ ...file, units: units[i].length })),
    columns,
    unitStarts: startsOf(units),
    classes: Object.assign({}, ...metas.map(({ classes }) => classes)),
  }
  return { manifest, indexes }
}

/** The first row of each unit of all files. */
function startsOf(units: readonly ArrayLike<number>[]): SharedArrayBuffer {
  const total = units.reduce((sum, { length }) => sum + length, 0)
  const starts = new Float64Array(new SharedArrayBuffer(8 * total))
  let [at, row] = [0, 0]
  for (const rows of units) {
    for (let unit = 0; unit < rows.length; unit++) {
      starts[at++] = row
      row += rows[unit]
    }
  }
  return starts.buffer as SharedArrayBuffer
}

/** One of each schema: most files have the same. */
function distinct(metas: readonly ParquetMeta[]): ParquetMeta[] {
  return [...new Map(metas.map(meta => [JSON.stringify(meta.leaves), meta])).values()]
}

/** Columns that are wanted and that no file has, or that can't be read, are told before anything is read. */
function checkWanted(
  files: readonly DataFile[],
  metas: readonly ParquetMeta[],
  wanted: readonly string[],
  columns: readonly string[],
): void {
  for (const name of wanted) {
    metas.forEach(({ leaves }, i) => {
      const leaf = leafOf(leaves, name)
      const form = leaf < 0 ? undefined : formOf(leaves[leaf])
      if (typeof form === 'string') throw refused(files[i].file, name, form)
      const below = leaves.filter(one => one.name.startsWith(`${name}.`))
      if (leaf >= 0 || below.length === 0) return
      const near = nearest(name, columns) ?? below[0].name
      throw refused(
        files[i].file,
        name,
        `it is a struct: name one of its columns, such as "${near === name ? below[0].name : near}"`,
      )
    })
  }
}

export const parquet: SourceKind<ParquetJson> = {
  open: async (json, context, nesting) => withFiles(json, await openParquet(json, context), context, nesting),
  attach: manifest => new ParquetSource(manifest as ParquetManifest),
}
