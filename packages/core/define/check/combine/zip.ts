/** What may be written for the source `zip`. */
import { DefinitionError } from '../../../basics/errors.js'
import { at, wrong } from '../../../basics/mistakes.js'
import {
  either,
  isObject,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../../basics/shape.js'
import type { ZipEntry, ZipOf } from '../../order-types.js'
import type { SourceJson } from '../../types.js'

/** `inner` parses the sources. */
export function zipParser(inner: Parser<SourceJson>): Parser<ZipOf<SourceJson>> {
  const entry: Parser<ZipEntry<SourceJson>> = either(
    value => isObject(value) && isObject(value.source),
    object({ source: inner, rename: optional(record(text, 'new names by old names')) }) as Parser<
      ZipEntry<SourceJson>
    >,
    inner,
  )
  const sources = list(entry, 'a list of two sources or more', { min: 2 })
  const withRules = object({
    sources,
    by: optional(oneOf(['position'], 'way to pair')),
    key: optional(list(pattern, 'a pattern for each source')),
  })
  return either(Array.isArray, sources, (value, path) => {
    const json = withRules(value, path) as Exclude<ZipOf<SourceJson>, unknown[]>
    const { by, key } = json
    if (key === undefined) return json
    if (by !== undefined)
      throw new DefinitionError(at(path, 'by'), '"position" looks at no key: leave "key" out, or this')
    if (key.length !== json.sources.length)
      throw wrong(at(path, 'key'), `a pattern for each of the ${json.sources.length} sources`, key)
    return json
  })
}

/** A regular expression with one group. */
const pattern: Parser<string> = (value, path) => {
  const source = text(value, path)
  let groups: number
  try {
    // An empty alternative matches everything: the result has a place for each group.
    groups = new RegExp(`${source}|`, 'u').exec('')!.length - 1
  } catch (error) {
    throw new DefinitionError(path, `${(error as Error).message}; expected one such as "(.*)_left"`)
  }
  if (groups === 1) return source
  throw new DefinitionError(
    path,
    `expected one group, the part of the key that is equal, as in "(.*)_left", found ${groups} in ${JSON.stringify(source)}`,
  )
}
