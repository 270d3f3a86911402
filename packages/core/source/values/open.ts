/**
 * Puts columns into an index that the format's own index does not hold, since rows are to be selected, grouped or weighed by
 * them. The columns that are named are read once, in one pass; each is kept in an index file of its own, which is used as long as
 * the data are the same.
 */
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { formatCalled } from '../../define/format.js'
import { Reader } from '../../store/reader.js'
import { Stores, schemeOf } from '../../store/stores.js'
import type { IndexHeader } from '../index/file.js'
import { wrongLength } from '../index/of-file.js'
import { type IndexFound, obtainIndex } from '../index/place.js'
import { type IndexTarget, writeIndex } from '../index/write.js'
import type { IndexColumn, Manifest, OpenContext, Source } from '../source.js'
import { scanValues } from './scan.js'
import type { ValueBuilder } from './value-builder.js'
import type { ValueColumn, ValuedManifest } from './valued.js'

const KIND = 'values'

/** Where a row lies, as sources tell it. A column of the data that has such a name comes first. */
const PLACE_NAMES = ['key', 'file', 'shard', 'line']

/** Rows that are looked at for a column that the source does not list: in JSON lines and records, rows differ. */
const LOOKED_AT = 1024

/** The source with those of the named columns in an index that it has. `json` is its definition. */
export async function withValues(
  json: unknown,
  child: Manifest,
  source: Source,
  names: readonly string[],
  context: OpenContext,
): Promise<Manifest> {
  using stores = new Stores()
  const reader = new Reader(stores)
  const wanted: string[] = []
  for (const name of new Set(names)) {
    const isOwn = PLACE_NAMES.includes(name) && child.kind !== 'text' && source.columns.includes(name)
    if (!isOwn && source.index(name) !== undefined) continue
    if (source.columns.includes(name) || (await isFound(source, name, reader))) wanted.push(name)
  }
  if (wanted.length === 0) return child
  const columns = new ValueIndexes(json, child, source, wanted, context, reader)
  const found: { name: string; index: IndexFound }[] = []
  for (const name of wanted) found.push({ name, index: await columns.obtain(name) })
  const manifest: ValuedManifest = {
    kind: 'valued',
    fingerprint: child.fingerprint,
    ...(child.stamp !== undefined && { stamp: child.stamp }),
    ...(child.content !== undefined && { content: child.content }),
    indexBytes: found.reduce((sum, { index }) => sum + index.header.bytes, child.indexBytes),
    child,
    values: found.map(({ name, index: { path, header } }) => columnOf(name, path, header)),
  }
  return manifest
}

/** Whether one of the first rows has such a column. */
async function isFound(source: Source, name: string, reader: Reader): Promise<boolean> {
  const end = Math.min(LOOKED_AT, source.count)
  const [values] = await scanValues(source, [name], reader, end)
  return values.missing < end
}

interface ValuesMeta extends Pick<IndexColumn, 'type' | 'digits'> {
  column: string
  /** What the data were. */
  of: string
}

function columnOf(name: string, path: string, header: IndexHeader): ValueColumn {
  const { type, digits } = header.meta as unknown as ValuesMeta
  return { name, type, ...(digits && { digits }), path, checksum: header.checksum }
}

/** The index files of the columns that are wanted. */
class ValueIndexes {
  private readonly of: string
  private scanned: Promise<ValueBuilder[]> | undefined

  constructor(
    private readonly json: unknown,
    private readonly child: Manifest,
    private readonly source: Source,
    private readonly names: readonly string[],
    private readonly context: OpenContext,
    private readonly reader: Reader,
  ) {
    const { fingerprint, stamp, content } = child
    this.of = digestOf([fingerprint.digest, fingerprint.values, stamp, content])
  }

  obtain(name: string): Promise<IndexFound> {
    const { context, child, json } = this
    const first = this.source.where?.(0)?.file ?? child.kind
    const isBeside =
      schemeOf(first) === undefined && first !== child.kind && !formatCalled(child.kind)?.facts?.ownFolder
    const path = isBeside ? first : undefined
    const hash = digestOf([child.kind, json, name]).slice(0, 12)
    return obtainIndex({
      data: `${first}#${hash}`,
      beside: path && join(dirname(path), `.${basename(path)}-${hash}.millrace`),
      problem: header => this.problem(header, name),
      // Without a stamp, there is no telling whether the data are the same.
      doubted: context.check === 'nothing' || child.stamp === undefined,
      notice: context.notice,
      build: target => this.build(target, name),
    })
  }

  private problem(header: IndexHeader, name: string): string | undefined {
    const { kind, count, columns, meta } = header
    const { column, of, type } = meta as unknown as ValuesMeta
    if (kind !== KIND || column !== name || count !== this.source.count || of !== this.of)
      return `the values of column "${name}" are those of other data`
    const isTyped = columns.value !== undefined && (columns.value.type === 'text') === (type === 'string')
    if (!isTyped) return 'it is malformed: the type of its values'
    return wrongLength(header, [['value', count], ...(columns.null ? [['null', count] as const] : [])])
  }

  /** All columns are read together when the first one is built. */
  private async build(target: IndexTarget, name: string): Promise<void> {
    const { names, source, context, reader } = this
    const what = `reading the column${names.length === 1 ? '' : 's'} ${names.join(', ')} of ${this.child.kind}`
    this.scanned ??= scanValues(source, names, reader, source.count, row =>
      context.progress?.(row, source.count, what, 'rows'),
    )
    const values = (await this.scanned)[names.indexOf(name)]
    const { type, digits } = values
    const meta: ValuesMeta = { column: name, of: this.of, type, ...(digits && { digits }) }
    writeIndex(target, KIND, source.count, { ...meta }, values.columns())
  }
}

function digestOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
