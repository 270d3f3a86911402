/**
 * Rules of Millrace's own that decide which samples a definition selects, and that were others in earlier versions. The
 * order hash covers those that a feed depends on, so a state that was saved under an earlier rule is refused, and the
 * message says which rule is new.
 */
import { formatCalled } from './format.js'
import { allSources, nameOf, someSource, zipParts } from './nested.js'
import type { ZipOf } from './order-types.js'
import type { SourceJson, SplitJson } from './types.js'

/** What is new, as a sentence for the message; by the rule's name in hashes and states. */
export const RULES = {
  'split by stem':
    '`split` now goes by the names of files without their extension, so that packing a folder moves no sample to another part: the parts hold other samples than before.',
  'split by rank':
    '`split` with `stratifyBy` now divides each value exactly instead of on average: the parts hold other samples than before.',
  'folder with bmp': 'A folder now also has its .bmp pictures and hidden class folders, as in torchvision.',
  'zip by key':
    '`zip` now pairs files by their names, not by their positions: where names differ, other samples stand side by side than before ("by": "position" pairs them as before).',
} as const

export type Rule = keyof typeof RULES

/** Rules that decide which samples stand in the parts of a split. */
export function splitRules({ source, groupBy, stratifyBy }: SplitJson): Rule[] {
  const rules: Rule[] = []
  if (groupBy === undefined && someSource(source, leaf => 'folder' in leaf || 'files' in leaf))
    rules.push('split by stem')
  if (stratifyBy !== undefined) rules.push('split by rank')
  return rules
}

function pairsByKey(zip: ZipOf<SourceJson>): boolean {
  const { entries, by } = zipParts(zip)
  const named = entries
    .map(entry => ('source' in entry ? entry.source : entry))
    .filter(source => someSource(source, leaf => formatCalled(nameOf(leaf))?.facts?.namedByFiles))
  return by === undefined && named.length > 1
}

/** All rules that a source depends on, sorted. */
export function rulesOf(source: SourceJson): Rule[] {
  const rules = new Set<Rule>()
  for (const { source: part } of allSources(source)) {
    if ('split' in part) for (const rule of splitRules(part.split)) rules.add(rule)
    if ('folder' in part) rules.add('folder with bmp')
    if ('zip' in part && pairsByKey(part.zip)) rules.add('zip by key')
  }
  return [...rules].sort()
}
