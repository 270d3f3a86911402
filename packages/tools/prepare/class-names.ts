/** The names of the classes of a source by number: as the source has them, or as the list beside its shards does. */
import { SourceError } from '../../core/basics/errors.js'
import type { SourceJson } from '../../core/define/types.js'
import { labelClasses } from '../../core/source/classes.js'
import { folderOf, prefixOf } from '../../core/source/find/names.js'
import { shardsOf } from '../../core/source/registry.js'
import type { Manifest, Source } from '../../core/source/source.js'
import { readWhole } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { Stores } from '../../core/store/stores.js'

/** The list of class names that shards in one folder share. */
export const CLASSES = 'classes.json'

/** Bytes that a list of class names may have. */
const MOST = 64 << 20

/** No names where nothing is known of them. Classes without a sample are among them. */
export async function classNames(json: SourceJson, manifest: Manifest, source: Source): Promise<string[]> {
  const shards = await shardsOf(json, process.cwd())
  if (shards === undefined) return commonClasses(manifest) ?? seenClasses(source)
  using stores = new Stores()
  // Awaited here: the stores are closed when this function ends.
  return await namesBeside(shards, stores)
}

/** The classes of the folders, or datasets, that a source is made of; undefined where it is made of others. */
export function commonClasses(manifest: Manifest): string[] | undefined {
  const { child, children } = manifest as { child?: Manifest; children?: Manifest[] }
  if (child !== undefined) return commonClasses(child)
  if (children === undefined) return labelClasses(manifest)
  const lists = children.map(commonClasses)
  const [first] = lists
  if (first === undefined || lists.includes(undefined)) return undefined
  for (const list of lists as string[][]) {
    if (JSON.stringify(list) === JSON.stringify(first)) continue
    throw new SourceError(
      `the folders of this source have different classes (${first.join(', ')}; ${list.join(', ')}), so their labels don't ` +
        'mean the same: give each of them the same "classes"',
    )
  }
  return first
}

/** As the columns `label` and `class` of the samples have them. */
function seenClasses(source: Source): string[] {
  const names = source.index('class')
  const labels = source.index('label')
  if (names === undefined || labels === undefined) return []
  const found: string[] = []
  for (let row = 0; row < source.count; row++) {
    const label = labels.at(row)
    if (Number.isInteger(label) && Number(label) >= 0) found[Number(label)] ??= String(names.at(row))
  }
  return Array.from(found, name => name ?? '')
}

/** What the classes.json in the folders of these files says, if all of them say the same. */
export async function namesBeside(files: readonly string[], stores: Stores): Promise<string[]> {
  const lists = new Set<string>()
  for (const folder of new Set(files.map(folderOf))) {
    lists.add(await textOf(`${prefixOf(folder)}${CLASSES}`, stores))
  }
  const [text = ''] = lists
  if (lists.size !== 1 || text === '') return []
  const names: unknown = JSON.parse(text)
  return Array.isArray(names) && names.every(name => typeof name === 'string') ? names : []
}

/** Empty where there is no such file. */
async function textOf(name: string, stores: Stores): Promise<string> {
  try {
    return (await readWhole(stores, name, MOST)).toString()
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}
