/**
 * Finds what fields of numbers and categories leave to the data: the columns that a pattern means, names, means and deviations. It is
 * found in one pass over the main source, and kept in the cache folder for as long as the data are the same.
 */
import { createHash } from 'node:crypto'
import { isTiled } from '../../core/basics/array.js'
import { DecodeError, DefinitionError, nearest } from '../../core/basics/errors.js'
import { after, type Maybe } from '../../core/basics/maybe.js'
import { isPattern, isWide, type MainSource } from '../../core/define/kind.js'
import type { NormalField } from '../../core/define/types.js'
import type { Columns } from '../../core/engine/make/program.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { IndexFile } from '../../core/source/index/file.js'
import { wrongLength } from '../../core/source/index/of-file.js'
import { obtainIndex } from '../../core/source/index/place.js'
import { writeIndex } from '../../core/source/index/write.js'
import { listed, presentValue, says } from '../../core/source/missing.js'
import { named, rowsByUnit, scanRows } from '../../core/source/values/scan.js'
import { Reader } from '../../core/store/reader.js'
import type { ByteRange } from '../../core/store/store.js'
import { Stores } from '../../core/store/stores.js'
import { classNameOf, compileNumberOps } from '../transform/plain/number-field.js'
import { numberIn, withRead } from '../transform/plain/vector-field.js'
import { checkNumberOps, isOpenOp } from './number-operators.js'

/** More names than this are no categories. */
const MOST_CLASSES = 65_536
/** Part of what statistics are kept by: counted up when they are computed in another way. */
const VERSION = 2
const KIND = 'statistics'

/** The field with the names of its categories. */
export async function closeClasses(field: NormalField, main: MainSource): Promise<NormalField> {
  return { ...field, classes: await vocabulary(field, main) }
}

/** The field with its columns, and with the means and deviations of their values. */
export async function closeNumbers(field: NormalField, main: MainSource): Promise<NormalField> {
  const { name, apply, layout } = field
  const wide = isWide(field)
  const from = wide
    ? expanded(field, [...new Set(main.attached.flatMap(({ columns }) => columns))])
    : field.from
  const open = apply.findIndex(isOpenOp)
  checkNumberOps(apply, layout.dtype, wide ? from.length : 1, `fields.${name}.apply`)
  const found = open < 0 ? undefined : await statistics({ ...field, from, apply: apply.slice(0, open) }, main)
  return {
    ...field,
    from,
    apply: apply.map((op, i) => (i === open && found ? { ...op, params: { ...found } } : op)),
    layout: wide ? { ...layout, shape: [from.length] } : layout,
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
async function statistics(field: NormalField, main: MainSource): Promise<{ mean: number[]; std: number[] }> {
  const { from, apply, name } = field
  const width = isWide(field) ? from.length : 1
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
async function vocabulary(field: NormalField, main: MainSource): Promise<string[]> {
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
  { attached, drops, context }: MainSource,
  visit: (value: Value, column: number) => void,
): Promise<void> {
  const { name, from } = field
  const wide = isWide(field)
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
      if (wide) for (let i = 0; i < from.length; i++) one(sample[from[i]], i)
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
  { sources, attached, context, drops }: MainSource,
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
