/**
 * Fills in what a definition leaves to the data: which columns a pattern means, the names of categories, means and deviations. All
 * of it comes from the main source, after its split and conditions, so that each variant has the same. It is found in one pass
 * and kept in the cache folder, for as long as the data are the same.
 */
import { createHash } from 'node:crypto'
import type { Columns } from '../../../../pixels/transform/field.js'
import { classNameOf, compileNumberOps } from '../../../../pixels/transform/plain/number-field.js'
import { numberIn, withRead } from '../../../../pixels/transform/plain/vector-field.js'
import { isTiled } from '../../../basics/array.js'
import { DecodeError, DefinitionError, nearest } from '../../../basics/errors.js'
import { after, type Maybe } from '../../../basics/maybe.js'
import { columnsAreKnown } from '../../../define/check/sources.js'
import { someSource } from '../../../define/nested.js'
import { checkNumberOps, isOpenField, isOpenOp, isPattern } from '../../../define/operators/number.js'
import type { NormalFeed, NormalField } from '../../../define/types.js'
import { NumberBuilder, TextBuilder } from '../../../source/index/columns.js'
import { IndexFile } from '../../../source/index/file.js'
import { wrongLength } from '../../../source/index/of-file.js'
import { obtainIndex } from '../../../source/index/place.js'
import { writeIndex } from '../../../source/index/write.js'
import { isColumn, listed, missingOf, presentValue, says } from '../../../source/missing.js'
import { attachSource, openSources } from '../../../source/registry.js'
import type { OpenContext, Source } from '../../../source/source.js'
import { named, rowsByUnit, scanRows } from '../../../source/values/scan.js'
import { Reader } from '../../../store/reader.js'
import type { ByteRange } from '../../../store/store.js'
import { Stores } from '../../../store/stores.js'
import type { JobSource } from '../job.js'

/** More names than this are no categories. */
const MOST_CLASSES = 65_536
/** Part of what statistics are kept by: counted up when they are computed in another way. */
const VERSION = 2
const KIND = 'statistics'

/** The main source, open. */
interface Main {
  sources: readonly JobSource[]
  attached: readonly Source[]
  /** Bad samples are left out. */
  drops: boolean
  context: OpenContext
}

/** The feed with its fields as the data have them. */
export async function closeFields(
  feed: NormalFeed,
  reported: Pick<OpenContext, 'progress' | 'notice'>,
): Promise<NormalFeed> {
  const context = { root: feed.root, wanted: literal(feed.fields), ...reported }
  const { sources } = await openSources(feed.main ?? feed.source, context)
  const attached = sources.map(({ manifest }) => attachSource(manifest))
  const main: Main = { sources, attached, drops: feed.onError.policy !== 'fail', context }
  const fields: NormalField[] = []
  for (const field of feed.fields) fields.push(isOpenField(field) ? await closed(field, main) : field)
  return { ...feed, fields }
}

function literal(fields: readonly NormalField[]): string[] {
  return fields.flatMap(({ as, from }) => (as === 'vector' ? from.filter(name => !isPattern(name)) : from))
}

async function closed(field: NormalField, main: Main): Promise<NormalField> {
  const { name, as, apply, layout } = field
  const known = [...new Set(main.attached.flatMap(({ columns }) => columns))]
  if (as === 'class') return { ...field, classes: await vocabulary(field, main) }
  const from = as === 'vector' ? expanded(field, known) : field.from
  const open = apply.findIndex(isOpenOp)
  checkNumberOps(apply, layout.dtype, as === 'vector' ? from.length : 1, `fields.${name}.apply`)
  const found = open < 0 ? undefined : await statistics({ ...field, from, apply: apply.slice(0, open) }, main)
  return {
    ...field,
    from,
    apply: apply.map((op, i) => (i === open && found ? { ...op, params: { ...found } } : op)),
    layout: as === 'vector' ? { ...layout, shape: [from.length] } : layout,
  }
}

/** The columns that are meant, in the order of the list, those of one pattern in the order of the source. */
function expanded({ name, from }: NormalField, columns: readonly string[]): string[] {
  const found = new Set<string>()
  const path = `fields.${name}.from`
  const there = columns.length === 0 ? 'names no columns: list them' : `has ${listed(columns)}`
  for (const pattern of from) {
    const takesAway = pattern.startsWith('!')
    const bare = takesAway ? pattern.slice(1) : pattern
    const isExact = columns.includes(pattern) || (takesAway ? columns.includes(bare) : !isPattern(pattern))
    const exact = columns.includes(pattern) ? pattern : bare
    const regex = new RegExp(
      `^${bare
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replace(/\*/g, '.*')
        .replace(/\?/g, '.')}$`,
      'su',
    )
    const meant = isExact ? [exact] : columns.filter(column => regex.test(column))
    if (meant.length === 0) {
      const near = nearest(bare, columns)
      const hint = near === undefined ? '' : ` (did you mean "${near}"?)`
      throw new DefinitionError(path, `no column is called "${bare}"${hint}: the source ${there}`)
    }
    for (const column of meant) {
      if (takesAway && exact !== pattern) found.delete(column)
      else found.add(column)
    }
  }
  if (found.size === 0) throw new DefinitionError(path, 'no column is left')
  return [...found]
}

// ------------------------------------------------------------------ means and deviations

/**
 * Mean and population deviation of each column, in f64, of the values that are there: those without one (NaN among them) are left
 * out, column by column. A deviation of 0 becomes 1, as in sklearn's StandardScaler. `apply` is what is done before.
 */
async function statistics(field: NormalField, main: Main): Promise<{ mean: number[]; std: number[] }> {
  const { from, as, apply, name } = field
  const width = as === 'vector' ? from.length : 1
  const index = await kept(field, main, [apply], ['mean', 'std'], async () => {
    // By Welford, counted from each column's first value: small differences of large numbers keep their digits.
    const [first, mean, squares, count] = [0, 0, 0, 0].map(() => new Float64Array(width))
    const change = compileNumberOps(apply)
    await scan(field, main, (value, column) => {
      const number = numberIn(value)
      if (Number.isNaN(number)) return
      const changed = change === undefined ? number : change(number, column)
      if (count[column] === 0) first[column] = changed
      const shifted = changed - first[column]
      const less = shifted - mean[column]
      mean[column] += less / ++count[column]
      squares[column] += less * (shifted - mean[column])
    })
    for (let i = 0; i < width; i++) mean[i] += first[i]
    const std = squares.map((sum, i) => Math.sqrt(sum / count[i]) || 1)
    for (let i = 0; i < width; i++) {
      const why =
        count[i] === 0
          ? 'has no value'
          : Number.isFinite(mean[i]) && Number.isFinite(std[i])
            ? ''
            : 'has infinite values'
      if (why === '') continue
      const path = `fields.${name}.apply`
      throw new DefinitionError(
        path,
        `column "${from[i]}" ${why} in the main source: it has no mean. Leave it out, or clamp it before`,
      )
    }
    return { mean: numbers(mean), std: numbers(std) }
  })
  return { mean: [...index.numbers('mean')], std: [...index.numbers('std')] }
}

function numbers(values: Float64Array): NumberBuilder {
  const builder = new NumberBuilder()
  for (const value of values) builder.push(value)
  return builder
}

// ------------------------------------------------------------------ categories

/** All names of the column, sorted: numbers as numbers, texts by their code points. NaN is none. */
async function vocabulary(field: NormalField, main: Main): Promise<string[]> {
  const index = await kept(field, main, [], ['names'], async () => {
    const names = new Set<string>()
    let isNumeric = true
    await scan(field, main, value => {
      if (value === undefined || value === null) return
      const isNumber = typeof value === 'number' || typeof value === 'bigint' || isTiled(value)
      const called = classNameOf(value)
      if (isNumber && called === 'NaN') return
      isNumeric &&= isNumber
      names.add(called)
      if (names.size > MOST_CLASSES)
        throw new DefinitionError(
          `fields.${field.name}`,
          `column "${field.from.join('|')}" has more than ${MOST_CLASSES} different values, which are no categories: read it as int or text`,
        )
    })
    const bytes = [...names].map(name => Buffer.from(name))
    const sorted = isNumeric
      ? [...names].sort((a, b) => Number(a) - Number(b) || (BigInt(a) < BigInt(b) ? -1 : 1))
      : bytes.sort(Buffer.compare).map(name => name.toString())
    const column = new TextBuilder()
    for (const name of sorted) column.push(name)
    return { names: column }
  })
  const names = index.text('names')
  return Array.from({ length: names.length }, (_, i) => names.at(i))
}

// ------------------------------------------------------------------ reading and keeping

type Value = Columns[string]

/** Goes through all rows. A field of alternatives has the first that is there. */
async function scan(
  field: NormalField,
  { attached, drops, context }: Main,
  visit: (value: Value, column: number) => void,
): Promise<void> {
  const { name, from, as } = field
  using stores = new Stores({ access: 'sequential' })
  const reader = new Reader(stores)
  for (const source of attached) {
    const one = (value: Value, column: number): void => {
      try {
        visit(value, column)
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
        throw new DecodeError(`field ${name}, column "${from[column]}": ${error.message}`, { cause: error })
      }
    }
    const look = (sample: Columns, at: number): void => {
      if (as === 'vector') for (let i = 0; i < from.length; i++) one(sample[from[i]], i)
      else
        one(
          presentValue(field, sample, column => says(source, at, column)),
          0,
        )
    }
    const row = (sample: Columns, at: number): Maybe<void> =>
      after(
        withRead(sample, from, (range, into) => reader.readInto(range as ByteRange, into) as Maybe<void>),
        read => look(read, at),
      )
    const fault = (error: unknown, at: number): void => {
      if (drops && error instanceof DecodeError) return
      throw named(
        error,
        source,
        at,
        'All rows are read for the statistics of the field: mend it, or set onError to drop',
      )
    }
    const progress = (done: number): void =>
      context.progress?.(done, source.count, `reading ${name} for its statistics`, 'rows')
    await scanRows(source, from, reader, source.count, { row, fault, progress }, rowsByUnit(source, from))
  }
}

/** Columns that were found before, or are found now. Kept for as long as the data, and all that decides them, are the same. */
async function kept(
  { name, from, as }: NormalField,
  { sources, attached, context, drops }: Main,
  by: unknown[],
  columns: readonly string[],
  find: () => Promise<Record<string, NumberBuilder | TextBuilder>>,
): Promise<IndexFile> {
  const data = sources.map(({ manifest }) => manifest)
  const what = data.map(({ fingerprint, stamp, content }) => [
    fingerprint.digest,
    fingerprint.values,
    stamp,
    content,
  ])
  const about = createHash('sha256')
    .update(JSON.stringify([VERSION, what, as, from, drops, by]))
    .digest('hex')
  const first = attached[0].where?.(0)?.file ?? data[0].kind
  const { path, header } = await obtainIndex({
    data: `${first}#${name}-${about.slice(0, 12)}`,
    problem: ({ kind, meta, columns: has, ...header }) => {
      if (kind !== KIND || meta.about !== about) return 'it is of other data'
      return wrongLength(
        { kind, meta, columns: has, ...header },
        columns.map(column => [column, header.count]),
      )
    },
    // Without a stamp, there is no telling whether the data are the same.
    doubted: context.check === 'nothing' || data.some(({ stamp }) => stamp === undefined),
    notice: context.notice,
    build: async target => {
      const found = await find()
      writeIndex(target, KIND, Object.values(found)[0].length, { about }, found)
    },
  })
  return new IndexFile(path, false, header)
}

/** Rows that are looked at where rows differ, as for `where`. */
const LOOKED_AT = 1024
/** Of these so many are read together. */
const BLOCK = 64

/** Sources that are not looked into: their rows are made, or their fields are checked with the definition. */
const CLOSED: readonly string[] = ['python', 'kernel', 'tokens', 'chat']

/** Throws where no sample of a source can have what a field names. `missing` stands for all of them then: that is told. */
export async function checkColumns(
  feed: NormalFeed,
  attached: readonly Source[],
  names: readonly (string | undefined)[],
  notice?: (text: string) => void,
): Promise<void> {
  if (feed.map !== undefined || someSource(feed.source, leaf => CLOSED.includes(Object.keys(leaf)[0]))) return
  const known = columnsAreKnown(feed.source)
  for (const field of feed.fields) {
    for (const [i, source] of attached.entries()) {
      const lacking = lackingOf(field, source.columns)
      if (lacking === undefined || (await isFound(source, lacking, known ? 1 : LOOKED_AT))) continue
      const which = names[i] === undefined ? 'the source' : `the entry "${names[i]}" of the blend`
      const what = missingOf(source.columns, lacking, which)
      const path = `fields.${field.name}.from`
      if (known && field.missing !== undefined)
        throw new DefinitionError(path, `${what}. No sample of the source has it, so "missing" does not help`)
      if (known || (field.missing === undefined && feed.onError.policy === 'fail'))
        throw new DefinitionError(path, what)
      if (field.missing !== undefined)
        notice?.(`${path}: ${what}. None of the first ${LOOKED_AT} samples has it: "missing" stands for it`)
    }
  }
}

/** The names of which a sample needs one, where none of them is a column. */
function lackingOf({ as, from }: NormalField, columns: readonly string[]): readonly string[] | undefined {
  const there = (name: string): boolean => columns.some(column => isColumn(name, column))
  if (as !== 'vector') return from.some(there) ? undefined : from
  const lacking = from.find(name => !there(name))
  return lacking === undefined ? undefined : [lacking]
}

/** Whether one of the first rows has one of the columns: some sources give more than they list. */
async function isFound(source: Source, names: readonly string[], rows: number): Promise<boolean> {
  const [{ scanRows }, { Reader }, { Stores }] = await Promise.all([
    import('../../../source/values/scan.js'),
    import('../../../store/reader.js'),
    import('../../../store/stores.js'),
  ])
  using stores = new Stores()
  const reader = new Reader(stores)
  const end = Math.min(rows, source.count)
  let found = false
  for (let from = 0; from < end && !found; from += BLOCK) {
    const order = Float64Array.from({ length: Math.min(BLOCK, end - from) }, (_, i) => from + i)
    const row = (sample: Readonly<Record<string, unknown>>): void => {
      found ||= names.some(name => sample[name] !== undefined)
    }
    // What can't be read is told when it is read.
    const fault = (): void => {
      found = true
    }
    await scanRows(source, names, reader, order.length, { row, fault }, order)
  }
  return found
}
