/**
 * Fills in what a definition leaves to the data: which columns a pattern means, the names of categories, means and deviations. All
 * of it comes from the main source, after its split and conditions, so that each variant has the same.
 */
import { decoderOf, isOpenField, isPattern, isWide, type MainSource } from '../../../define/kind.js'
import type { NormalFeed, NormalField } from '../../../define/types.js'
import { attachSource, openSources } from '../../../source/registry.js'
import type { OpenContext } from '../../../source/source.js'

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
