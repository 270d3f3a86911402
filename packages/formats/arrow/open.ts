/** Opens Arrow files: finds them, finds or builds the index of each, and puts together what workers attach to. */
import { inFile, nearest } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { classNames, typeWithClasses } from '../features.js'
import { indexedFiles } from '../indexed-files.js'
import { withFiles } from '../pathed/open.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { type ArrowManifest, ArrowSource } from './arrow-source.js'
import { type ArrowIndex, obtainArrowIndexes, openIndex } from './build/index.js'
import { columnsOf } from './columns.js'
import { type ArrowJson, findArrowFiles } from './find.js'

async function openArrow(json: ArrowJson, context: OpenContext): Promise<ArrowManifest> {
  using stores = new Stores()
  const { files, classes } = await findArrowFiles(json, context.root, stores)
  return await openArrowFiles(files, context, stores, classes)
}

/** Opens files that are known already. */
export async function openArrowFiles(
  files: readonly DataFile[],
  context: OpenContext,
  stores: Stores,
  classes: Record<string, string[]> = {},
): Promise<ArrowManifest> {
  return openMany('arrow', files, classes, context, context => openIndexes(files, context, stores, classes))
}

async function openIndexes(
  files: readonly DataFile[],
  context: OpenContext,
  stores: Stores,
  classes: Record<string, string[]>,
): Promise<Opened<ArrowManifest>> {
  const indexes = await obtainArrowIndexes(files, context, stores)
  const { schemas, numbers } = schemasOf(indexes)
  const columns = [...new Set(schemas.flatMap(({ columns }) => columns.map(({ name }) => name)))]
  checkWanted(schemas, columns, context.wanted, files[0].file)
  const unitCounts = indexes.map(({ header }) => header.columns.start.length - 1)
  const common = indexedFiles('arrow', files, indexes, 'name files that have some')
  const manifest: ArrowManifest = {
    ...common,
    files: common.files.map((file, i) => ({ ...file, units: unitCounts[i], schema: numbers[i] })),
    schemas: schemas.map(({ columns, nodes }) => ({ columns, nodes })),
    columns,
    indexed: indexedColumns(schemas, numbers, indexes),
    packed: indexes.some(({ meta }) => meta.codecs.length > 0),
    classes: {
      ...classes,
      ...Object.assign({}, ...indexes.map(({ meta }) => classNames(meta.schema.metadata))),
    },
    layout: { schema: [] },
  }
  if (hasUnits(schemas, numbers, indexes)) manifest.unitStarts = unitStarts(indexes)
  manifest.layout = layoutOf(manifest, indexes)
  return { manifest, indexes }
}

type Columns = ReturnType<typeof columnsOf> & { nodes: number }

/** Schemas that differ, and which of them each file has. */
function schemasOf(indexes: readonly ArrowIndex[]): { schemas: Columns[]; numbers: number[] } {
  const known = new Map<string, number>()
  const schemas: Columns[] = []
  const numbers = indexes.map(({ meta: { schema } }) => {
    const text = JSON.stringify(schema.fields)
    const number = known.get(text) ?? schemas.length
    if (number === schemas.length) schemas.push({ ...columnsOf(schema), nodes: schema.nodes })
    known.set(text, number)
    return number
  })
  return { schemas, numbers }
}

/** A column that is there and can't be read is named at once. */
function checkWanted(
  schemas: readonly Columns[],
  columns: readonly string[],
  wanted: readonly string[],
  file: string,
): void {
  const unreadable = schemas.flatMap(schema => schema.unreadable)
  for (const name of wanted) {
    const found = unreadable.find(column => column.name === name)
    if (columns.includes(name) || found === undefined) continue
    const near = nearest(name, columns)
    throw inFile(
      file,
      `: column "${name}" is ${found.type}, which Millrace does not read: write it as another type` +
        `${near === undefined ? '' : `, or take "${near}"`}`,
    )
  }
}

/** Columns of which the index of every file that has them holds every value, and of one type. */
function indexedColumns(
  schemas: readonly Columns[],
  numbers: readonly number[],
  indexes: readonly ArrowIndex[],
): ArrowManifest['indexed'] {
  const types = new Map<string, 'number' | 'string' | undefined>()
  indexes.forEach(({ header, meta }, i) => {
    for (const { name, field } of schemas[numbers[i]].columns) {
      // A float that is NaN and one that is null are both NaN in the index.
      const isExact = !field.items?.startsWith('f') || meta.nulls[name] === 0
      const held = isExact && Object.hasOwn(header.columns, `value.${name}`)
      const type = !held ? undefined : field.dictionary === undefined ? 'number' : 'string'
      types.set(name, types.has(name) && types.get(name) !== type ? undefined : type)
    }
  })
  return [...types].flatMap(([name, type]) => (type === undefined ? [] : [{ name, type }]))
}

/** Whether a column has to be read in units: it is neither large, nor does the index hold it. */
function hasUnits(
  schemas: readonly Columns[],
  numbers: readonly number[],
  indexes: readonly ArrowIndex[],
): boolean {
  return indexes.some(({ header, meta }, i) =>
    schemas[numbers[i]].columns.some(({ name, kind, field }) => {
      if (kind === 'null' || Object.hasOwn(header.columns, `at.${name}`)) return false
      const held = Object.hasOwn(header.columns, `value.${name}`)
      return !held || (field.items?.startsWith('f') && meta.nulls[name] !== 0)
    }),
  )
}

/** First rows of all units, in memory that all threads share. */
function unitStarts(indexes: readonly ArrowIndex[]): Float64Array {
  const count = indexes.reduce((sum, { header }) => sum + header.columns.start.length - 1, 0)
  const starts = new Float64Array(new SharedArrayBuffer(8 * count))
  let unit = 0
  let rows = 0
  for (const index of indexes) {
    const own = openIndex(index).numbers('start')
    for (let i = 0; i < own.length - 1; i++) starts[unit++] = rows + own[i]
    rows += own[own.length - 1]
  }
  return starts
}

export const arrow: SourceKind<ArrowJson> = {
  open: async (json, context, nesting) => withFiles(json, await openArrow(json, context), context, nesting),
  attach: manifest => new ArrowSource(manifest as ArrowManifest),
}

/** A batch of more bytes than this takes too much of the cache to be read at random, if it is compressed. */
const LARGE_BATCH = 16 << 20

/** Batches of fewer rows are read one by one, in small reads. */
const FEW_ROWS = 16

function layoutOf(manifest: ArrowManifest, indexes: readonly ArrowIndex[]): Layout {
  const batches = indexes.reduce((sum, { meta }) => sum + meta.batches, 0)
  const { count, parts = [] } = manifest.fingerprint
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const codecs = [...new Set(indexes.flatMap(({ meta }) => meta.codecs))]
  const forms = [...new Set(indexes.map(({ meta }) => meta.form))]
  const each = Math.round(count / Math.max(1, batches))
  const slow = slowness(manifest, batches, codecs, bytes / Math.max(1, batches), each)
  return {
    schema: schemaOf(manifest, indexes),
    chunks: `${batches} record ${batches === 1 ? 'batch' : 'batches'} of ${each} rows, ${forms.join(' and ')}`,
    codecs: codecs.length > 0 ? codecs : ['none'],
    ...(slow !== undefined && { slow }),
  }
}

function schemaOf({ schemas, classes }: ArrowManifest, indexes: readonly ArrowIndex[]): ColumnLayout[] {
  const columns = new Map<string, ColumnLayout>()
  for (const schema of schemas) {
    for (const { name, field } of schema.columns) {
      const nulls = indexes.reduce((sum, { meta }) => sum + (meta.nulls[name] ?? 0), 0)
      const type = typeWithClasses(field.type, name, classes)
      if (!columns.has(name)) columns.set(name, { name, type, nulls })
    }
  }
  return [...columns.values()]
}

function slowness(
  { files }: ArrowManifest,
  batches: number,
  codecs: readonly string[],
  batchBytes: number,
  rows: number,
): string | undefined {
  if (codecs.length > 0 && batchBytes > LARGE_BATCH)
    return (
      `A batch is unpacked as a whole, and has ${Math.round(batchBytes / 2 ** 20)} MiB: ` +
      'write smaller batches, or leave them uncompressed.'
    )
  if (rows < FEW_ROWS && batches > 2 * files.length)
    return `A batch has ${rows} rows, so reads are small: write larger batches, 1,000 rows or more.`
  return undefined
}
