/**
 * Opens text files: finds them, finds or builds the index of each (index.ts), and puts together what their first rows tell of
 * the columns. lines-source.ts reads them while the feed runs.
 */

import { createHash } from 'node:crypto'
import { inFile, nearest, type SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import type { FileIndexKind } from '../../core/source/index/of-file.js'
import type { IndexFound } from '../../core/source/index/place.js'
import type { Manifest, OpenContext, Source, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { indexedFiles } from '../indexed-files.js'
import { numberUnits } from '../packed/units.js'
import { withPath } from '../paths.js'
import { obtainFileIndexes } from '../shared/index-of-files.js'
import { openMany } from '../shared/index-of-source.js'
import type { HeadColumn } from './csv/columns.js'
import { type CsvType, commonType } from './csv/types.js'
import { type LinesMeta, linesIndex, type RowRules } from './index.js'
import { type LinesManifest, LinesSource } from './lines-source.js'

export interface CsvOptions {
  /** One character; by default a tab for .tsv and .tab, otherwise a comma. */
  delimiter?: string
  /** Whether the first record has the names of the columns; by default true, unless `columns` gives them. */
  header?: boolean
  /** Names of the columns, in place of those in the file. */
  columns?: string[]
  /** Types of columns; of the others, the first rows decide. */
  types?: Record<string, CsvType>
}
/** CSV and TSV files. */
export type CsvJson = { path: PathsJson } & CsvOptions

export interface TextOptions {
  /** Whether lines with nothing but blanks are samples: by default they are. */
  blankLines?: 'keep' | 'skip'
}
/** Files whose lines are samples: columns `text` and `line`. */
export type TextLinesJson = { path: PathsJson } & TextOptions

export interface LinesTypes {
  csv: PathsJson | CsvJson
  jsonl: PathsJson | { path: PathsJson }
  text: PathsJson | TextLinesJson
}

/** Files that are scanned at the same time. */
const SCANS = 2

/** A file and its index. */
interface Opened {
  file: DataFile
  rules: RowRules
  index: IndexFound
  meta: LinesMeta
}

async function openJsonLines(
  json: PathsJson | { path: PathsJson },
  context: OpenContext,
): Promise<LinesManifest> {
  const rules: RowRules = { format: 'jsonl', rule: 'filled' }
  return openAll(
    withPath(json).path,
    context,
    rules,
    () => rules,
    opened => {
      const columns = [...new Set(opened.flatMap(({ meta }) => meta.columns.map(({ name }) => name)))]
      if (columns.length === 0) refuseNoKeys(opened)
      return { ...manifestOf('jsonl', opened, columns), json: jsonTypes(opened) }
    },
  )
}

/** The types of each column in the first rows of all files. */
function jsonTypes(opened: readonly Opened[]): NonNullable<LinesManifest['json']> {
  const reported = new Map<string, { types: Set<string>; nulls: boolean }>()
  for (const { name, json, nulls } of opened.flatMap(({ meta }) => meta.columns)) {
    const one = reported.get(name) ?? { types: new Set(), nulls: false }
    reported.set(name, one)
    if (json !== undefined) one.types.add(json)
    one.nulls ||= nulls === true
  }
  return Object.fromEntries(
    [...reported].map(([name, { types, nulls }]) => [name, { type: [...types].join(' or '), nulls }]),
  )
}

/** Where no row has a key there is nothing that a field could ask for, and `verify` would find nothing to read. */
function refuseNoKeys(opened: readonly Opened[]): void {
  const looked = opened.find(({ meta }) => meta.noKeys)
  if (looked === undefined) return
  const { file } = looked.file
  throw inFile(
    file,
    `: its first rows are no JSON objects with keys, such as {"text": "…", "label": 3}: each line has one. ` +
      "`jq -c .` makes lines of objects that are spread over several, `jq -c '.[]'` of a list of objects",
    { offset: 0 },
  )
}

async function openText(json: PathsJson | TextLinesJson, context: OpenContext): Promise<LinesManifest> {
  const { path, blankLines } = withPath(json)
  const rules: RowRules = { format: 'text', rule: blankLines === 'skip' ? 'filled' : 'lines' }
  return openAll(
    path,
    context,
    rules,
    () => rules,
    opened => manifestOf('text', opened, ['text', 'line']),
  )
}

async function openCsv(json: PathsJson | CsvJson, context: OpenContext): Promise<LinesManifest> {
  const { path, ...options } = withPath(json)
  const header = options.header ?? options.columns === undefined
  const rulesOf = ({ file }: DataFile): RowRules => {
    const delimiter = (options.delimiter ?? (/\.(tsv|tab)(\.\w+)?$/i.test(file) ? '\t' : ',')).charCodeAt(0)
    return { format: 'csv', rule: 'records', delimiter, header }
  }
  return openAll(path, context, { format: 'csv', ...options }, rulesOf, opened =>
    csvManifest(opened, options),
  )
}

function csvManifest(opened: Opened[], options: Partial<CsvJson>): LinesManifest {
  for (const one of opened) one.meta = { ...one.meta, columns: renamed(one, options.columns) }
  const types: LinesManifest['types'] = {}
  for (const { name, type, nulls } of opened.flatMap(({ meta }) => meta.columns)) {
    if (name === '') continue
    const before = types[name]
    const common = before === undefined ? type : commonType(before.type, type)
    types[name] = { type: common ?? 'text', declared: false, nulls: Boolean(before?.nulls || nulls) }
  }
  for (const [name, type] of Object.entries(options.types ?? {})) {
    if (types[name] === undefined) throw unknownColumn(name, Object.keys(types), opened[0].file.file)
    types[name] = { ...types[name], type, declared: true }
  }
  const manifest = manifestOf('csv', opened, Object.keys(types), types)
  const values = JSON.stringify([options.columns, options.delimiter, types])
  manifest.content = createHash('sha256').update(values).digest('hex').slice(0, 16)
  return manifest
}

/** The columns of a file by the names that the definition gives them. */
function renamed({ file, meta }: Opened, names: readonly string[] | undefined): HeadColumn[] {
  if (names === undefined) return meta.columns
  if (meta.columns.length === names.length || meta.columns.length === 0)
    return names.map((name, i) => ({ ...meta.columns[i], name }))
  throw inFile(
    file.file,
    `has ${meta.columns.length} cells in its first row, and "columns" has ${names.length} names: name each of them`,
  )
}

function unknownColumn(name: string, names: readonly string[], file: string): SourceError {
  const near = nearest(name, names)
  return inFile(
    file,
    `: "types" has a column "${name}", the file has ${names.join(', ')}${near ? `: did you mean "${near}"?` : ''}`,
  )
}

/** Opens files of one format; `options` are what decides the manifest besides the files. */
async function openAll(
  paths: string | string[],
  context: OpenContext,
  options: { format: LinesManifest['kind'] },
  rulesOf: (file: DataFile) => RowRules,
  manifestOf: (opened: Opened[]) => LinesManifest,
): Promise<LinesManifest> {
  using stores = new Stores()
  const words = { source: 'text', what: 'file', end: 'txt' }
  const files = await findDataFiles(paths, context.root, stores, words)
  return await openMany(options.format, files, options, context, async context => {
    const opened = await indexAll(files, context, stores, rulesOf)
    return { manifest: manifestOf(opened), indexes: opened.map(({ index }) => index) }
  })
}

/** The files with their indexes. */
async function indexAll(
  files: readonly DataFile[],
  context: OpenContext,
  stores: Stores,
  rulesOf: (file: DataFile) => RowRules,
): Promise<Opened[]> {
  const kindOf = (file: DataFile): FileIndexKind<DataFile> => linesIndex(rulesOf(file))
  const indexes = await obtainFileIndexes(kindOf, files, context, stores, 'indexing lines', SCANS)
  return files.map((file, i) => {
    const index = indexes[i]
    return { file, rules: rulesOf(file), index, meta: index.header.meta as unknown as LinesMeta }
  })
}

function manifestOf(
  kind: LinesManifest['kind'],
  opened: readonly Opened[],
  columns: string[],
  types: LinesManifest['types'] = {},
): LinesManifest {
  const none = `the files are empty${kind === 'csv' ? ', or have a header alone' : ''}`
  const files = opened.map(({ file }) => file)
  const indexes = opened.map(({ index }) => index)
  const common = indexedFiles(kind, files, indexes, none)
  const manifest: LinesManifest = {
    ...common,
    files: common.files.map((file, i) => {
      const { rules, meta } = opened[i]
      if (kind !== 'csv') return file
      const { delimiter, header } = rules
      return { ...file, delimiter, header, names: meta.columns.map(({ name }) => name) }
    }),
    columns,
    types,
  }
  const unitStarts = numberUnits(manifest.files)
  return unitStarts === undefined ? manifest : { ...manifest, unitStarts }
}

const attach = (manifest: Manifest): Source => new LinesSource(manifest as LinesManifest)

export const jsonl: SourceKind<LinesTypes['jsonl']> = { open: openJsonLines, attach }
export const csv: SourceKind<LinesTypes['csv']> = { open: openCsv, attach }
export const text: SourceKind<LinesTypes['text']> = { open: openText, attach }
