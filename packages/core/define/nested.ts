/**
 * Where a source of each kind holds other sources: one line a kind. Everything that looks into nested sources goes by this
 * table: what is checked, hashed, trusted, run in Python. A kind of source without its line does not compile.
 */

import type { ZipEntry, ZipOf, ZipRules } from './order-types.js'
import type { TokensJson } from './token-types.js'
import type { SourceJson } from './types.js'

type NamesOf<Json> = Json extends unknown ? keyof Json : never
type JsonOf<Json, Name> = Json extends unknown ? (Name extends keyof Json ? Json[Name] : never) : never

/** What a kind of source is called in a definition: `tar`, `concat`. */
export type SourceName = NamesOf<SourceJson>

type Keys = readonly (string | number)[]

/** Gets an inner source and the keys that lead to it. What it returns takes the place of the source. */
type Change = (inner: SourceJson, keys: Keys) => SourceJson

const inList = (list: SourceJson[], change: Change): SourceJson[] =>
  list.map((inner, i) => change(inner, [i]))

const inside = <Json extends { source: SourceJson }>(json: Json, change: Change): Json => ({
  ...json,
  source: change(json.source, ['source']),
})

function withoutPath(source: SourceJson): Omit<TokensJson, 'path'> | undefined {
  // A skeleton of it is only a name.
  const { tokens } = source as { tokens?: TokensJson }
  if (tokens === undefined) return undefined
  const { path: _, ...rest } = tokens
  return rest
}

/** The sources of a zip, and how their rows find each other. */
export function zipParts(json: ZipOf<SourceJson>): { entries: ZipEntry<SourceJson>[] } & ZipRules {
  if (Array.isArray(json)) return { entries: json }
  const { sources, ...rules } = json
  return { entries: sources, ...rules }
}

/** Makes the same JSON with other inner sources; undefined for kinds that hold none. */
const INNER: {
  [Name in SourceName]:
    | ((json: JsonOf<SourceJson, Name>, change: Change) => JsonOf<SourceJson, Name>)
    | undefined
} = {
  tar: undefined,
  folder: undefined,
  files: undefined,
  zarr: undefined,
  npy: undefined,
  npz: undefined,
  safetensors: undefined,
  synthetic: undefined,
  python: undefined,
  kernel: undefined,
  arrow: undefined,
  csv: undefined,
  parquet: undefined,
  jsonl: undefined,
  text: undefined,
  hdf5: undefined,
  netcdf4: undefined,
  concat: inList,
  zip: (json, change) => {
    const { entries, ...rules } = zipParts(json)
    const keys = Array.isArray(json) ? [] : ['sources']
    const changed = entries.map((entry, i) =>
      'source' in entry
        ? { ...entry, source: change(entry.source, [...keys, i, 'source']) }
        : change(entry, [...keys, i]),
    )
    return Array.isArray(json) ? changed : { sources: changed, ...rules }
  },
  subset: inside,
  split: inside,
  blend: (json, change) => ({
    ...json,
    ...(json.entries && {
      entries: json.entries.map((entry, i) => ({
        ...entry,
        source: change(entry.source, ['entries', i, 'source']),
      })),
    }),
    // What the files of a list are: a source of tokens that lacks its path.
    ...(json.tokens && { tokens: withoutPath(change({ tokens: { path: '', ...json.tokens } }, [])) }),
  }),
  litdata: undefined,
  mds: undefined,
  tfrecord: undefined,
  tokens: undefined,
  chat: inside,
}

/** The kinds of sources that hold others. */
export const COMBINATORS = (Object.keys(INNER) as SourceName[]).filter(name => INNER[name] !== undefined)

/** Whether a name is that of a source of Millrace's own, not of a plugin's. */
export function isBuiltIn(name: string): name is SourceName {
  return Object.hasOwn(INNER, name)
}

export function nameOf(source: SourceJson): SourceName {
  return Object.keys(source)[0] as SourceName
}

/** The same source with other inner sources. One that holds none is returned as it is. */
export function withInner(source: SourceJson, change: Change): SourceJson {
  const name = nameOf(source)
  // A plugin's source holds no others.
  if (!isBuiltIn(name)) return source
  const inner = INNER[name] as ((json: unknown, change: Change) => unknown) | undefined
  if (inner === undefined) return source
  const json = (source as Record<string, unknown>)[name]
  return { [name]: inner(json, (below, keys) => change(below, [name, ...keys])) } as unknown as SourceJson
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
export function someSource(source: SourceJson, test: (source: SourceJson) => boolean): boolean {
  return allSources(source).some(found => test(found.source))
}
