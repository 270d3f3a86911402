/**
 * Fills in what a definition leaves to the data: which columns a pattern means, the names of categories, means and deviations. All
 * of it comes from the main source, after its split and conditions, so that each variant has the same.
 */
import { DefinitionError } from '../../../basics/errors.js'
import { columnsAreKnown } from '../../../define/check/sources.js'
import { decoderOf, isOpenField, isPattern, isWide, type MainSource } from '../../../define/kind.js'
import { someSource } from '../../../define/nested.js'
import type { NormalFeed, NormalField } from '../../../define/types.js'
import { isColumn, missingOf } from '../../../source/missing.js'
import { attachSource, openSources } from '../../../source/registry.js'
import type { OpenContext, Source } from '../../../source/source.js'

/** The feed with its fields as the data have them. */
export async function closeFields(
  feed: NormalFeed,
  reported: Pick<OpenContext, 'progress' | 'notice'>,
): Promise<NormalFeed> {
  const wanted = feed.fields.flatMap(field =>
    isWide(field) ? field.from.filter(name => !isPattern(name)) : field.from,
  )
  const context = { root: feed.root, wanted, ...reported }
  const { sources } = await openSources(feed.main ?? feed.source, context)
  const attached = sources.map(({ manifest }) => attachSource(manifest))
  const main: MainSource = { sources, attached, drops: feed.onError.policy !== 'fail', context }
  const fields: NormalField[] = []
  for (const field of feed.fields) {
    const find = isOpenField(field) ? await decoderOf(field).rules.open!.load() : undefined
    fields.push(find === undefined ? field : await find(field, main))
  }
  return { ...feed, fields }
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
  if (!isWide({ as })) return from.some(there) ? undefined : from
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
