/**
 * Where sources hold other sources, as their formats say (format.ts). Everything that looks into nested sources goes through here: what
 * is checked, hashed, trusted, run in Python.
 */
import { type Change, formatCalled, type Keys } from './format.js'
import type { ZipEntry, ZipOf, ZipRules } from './order-types.js'
import type { SourceJson, SourceName } from './types.js'

/** The sources of a zip, and how their rows find each other. */
export function zipParts(json: ZipOf<SourceJson>): { entries: ZipEntry<SourceJson>[] } & ZipRules {
  if (Array.isArray(json)) return { entries: json }
  const { sources, ...rules } = json
  return { entries: sources, ...rules }
}

/** Whether sources of this name hold others. */
export function holdsSources(name: string): boolean {
  return formatCalled(name)?.inner !== undefined
}

/** Whether a name is that of a source of Millrace's own, not of a plugin's. */
export function isBuiltIn(name: string): name is SourceName {
  return formatCalled(name) !== undefined
}

export function nameOf(source: SourceJson): SourceName {
  return Object.keys(source)[0] as SourceName
}

/** The same source with other inner sources. One that holds none is returned as it is. */
export function withInner(source: SourceJson, change: Change): SourceJson {
  const name = nameOf(source)
  const json = (source as Record<string, unknown>)[name]
  // A plugin's source holds no others.
  const changed = formatCalled(name)?.inner?.(json, (below, keys) => change(below, [name, ...keys]))
  return changed === undefined ? source : ({ [name]: changed } as unknown as SourceJson)
}

/** A source and all sources in it, the outer ones first, each with the keys that lead to it. */
export function allSources(source: SourceJson): { source: SourceJson; keys: Keys }[] {
  const all = [{ source, keys: [] as Keys }]
  withInner(source, (inner, keys) => {
    for (const below of allSources(inner)) all.push({ source: below.source, keys: [...keys, ...below.keys] })
    return inner
  })
  return all
}

/** Whether a source, or one in it, is such a one. */
export function someSource(source: SourceJson, test: (source: SourceJson) => unknown): boolean {
  return allSources(source).some(found => test(found.source))
}
