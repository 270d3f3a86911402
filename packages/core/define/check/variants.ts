/** Variants of a feed: JSON merge patches (RFC 7396) over it. */
import { DefinitionError } from '../../basics/errors.js'
import { unknownName } from '../../basics/mistakes.js'
import { isObject } from '../../basics/shape.js'
import { isOpenField, writtenColumns } from '../kind.js'
import { allSources, withInner } from '../nested.js'
import type { FeedJson, FieldJson, FormatTypes, SourceJson } from '../types.js'

/** The target with the patch merged into it: objects key by key, null removes, anything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else if (value !== undefined) merged.set(key, mergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

/** The least patch that makes `after` of `before`; undefined when they are equal. */
export function patchBetween(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? undefined : after
  }
  const patch: [string, unknown][] = []
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.push([key, null])
  for (const [key, value] of Object.entries(after)) {
    const change = Object.hasOwn(before, key) ? patchBetween(before[key], value) : value
    if (change !== undefined) patch.push([key, change])
  }
  return patch.length === 0 ? undefined : Object.fromEntries(patch)
}

/** Whether a field may leave something to the data. It is not checked yet. */
function needsMain(field: FieldJson): boolean {
  try {
    return isOpenField({ ...field, from: writtenColumns(field) })
  } catch {
    return true
  }
}

/** The feed as its variant `name` has it, without variants. */
export function applyVariant(feed: FeedJson, name: string): FeedJson {
  const { variants = {}, ...base } = feed
  if (!isObject(variants))
    throw new DefinitionError('variants', 'expected an object of variants by their names')
  if (!Object.hasOwn(variants, name)) {
    const known = Object.keys(variants)
    if (known.length === 0)
      throw new DefinitionError('variants', `there is no variant "${name}": the feed has none`)
    throw unknownName('variants', 'variant', name, known)
  }
  const merged = mergePatch(base, variants[name]) as FeedJson
  // Statistics and vocabularies are those of the source that the feed itself has, whatever a variant reads.
  const fields = isObject(merged.fields) ? Object.values(merged.fields) : []
  const main = base.main === undefined && fields.some(needsMain) ? { main: base.source } : {}
  try {
    return { ...main, ...merged, source: withClasses(merged.source, base.source) }
  } catch {
    return { ...main, ...merged } // The source is none, and refused when it is checked.
  }
}

/** All variants number classes alike: a folder that does not name its classes has those of the folder that stands in the feed itself. */
function withClasses(source: SourceJson, base: SourceJson): SourceJson {
  const own = foldersIn(base)
  const several = foldersIn(source).length === own.length
  let next = 0
  const change = (inner: SourceJson): SourceJson => {
    if (!('folder' in inner)) return withInner(inner, change)
    const { path, classes, ...more } = asObject(inner.folder)
    const like = own[several ? next++ : 0]
    const given = classes ?? like.classes ?? (like.path === path ? undefined : like.path)
    return given === undefined ? inner : { folder: { path, classes: given, ...more } }
  }
  return own.length === 0 ? source : change(source)
}

type Folder = Exclude<FormatTypes['folder'], string>

function foldersIn(source: SourceJson): Folder[] {
  return allSources(source).flatMap(found =>
    'folder' in found.source ? [asObject(found.source.folder)] : [],
  )
}

const asObject = (json: FormatTypes['folder']): Folder => (typeof json === 'string' ? { path: json } : json)
