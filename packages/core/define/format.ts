/**
 * What others know of a kind of source: an inert descriptor, one for each format, that lies in the format's folder. What may be
 * written, what finds its files and how it is opened all come from here; nothing else names a format.
 * packages/all/registry.ts adds all of them, once a thread.
 */
import { nearest, SourceError } from '../basics/errors.js'
import type { Parser } from '../basics/shape.js'
import type { SourceKind } from '../source/source.js'
import type { SourceJson } from './types.js'

/** The keys that lead from the JSON of a source to a source within it. */
export type Keys = readonly (string | number)[]

/** Gets an inner source and the keys that lead to it. What it returns takes the place of the source. */
export type Change = (inner: SourceJson, keys: Keys) => SourceJson

export interface Format<Json = unknown> {
  /** Its key in a definition. */
  readonly name: string
  /** One sentence. */
  readonly says: string
  /** What may stand below the key, as an example. */
  readonly example: Json
  /** What may stand below the key. */
  readonly shape: Parser<unknown>
  /** By what files of this format are found, where they are. */
  readonly finds?: Finds
  readonly facts?: FormatFacts
  /** Makes the same JSON with other inner sources. Absent: it holds none. */
  inner?(json: Json, change: Change): Json
  /** Loads what opens and attaches it. */
  load(): Promise<SourceKind<Json>>
}

export interface Finds {
  /** Ends of names and patterns. */
  names?: RegExp
  /** Whether a file that begins so is of this format. */
  start?(start: Buffer): boolean
  /** Files at the top of a folder that say what the folder is, each with a word in it. */
  markers?: readonly (readonly [file: string, word: string])[]
  /** A folder may hold many files of it, which are one source. */
  many?: boolean
  /** A word in files of JSON that list such files. */
  list?: string
}

/** Python's function that writes such a source: it takes paths, and these options by name. */
export interface PythonBuilder {
  /** Where it is not the format's name. */
  name?: string
  /** Its docstring. */
  says: string
  /** Python's type of each option, by its key in the definition. */
  options?: Readonly<Record<string, string>>
}

export interface FormatFacts {
  /** Absent: the builder is written by hand. */
  python?: PythonBuilder
  /** Its samples are files with names, by which a zip pairs them. */
  namedByFiles?: boolean
  /** Samples may have columns that the source does not name when it is opened. */
  moreColumns?: boolean
  /** Columns are never read to select rows by them: its index has all that is small, or it makes its samples. */
  selectsByIndex?: boolean
  /** Hashes know it by its name and contents alone, although it holds sources. */
  remade?: boolean
  /** Rows have columns by name, one of which may be text to tokenise. */
  table?: boolean
  /** Its data are a folder of their own, into which nothing else is put. */
  ownFolder?: boolean
  /** Runs are not called by the first text in its JSON, which need not be a path. */
  untitled?: boolean
}

const formats = new Map<string, Format>()
/** What loads each kind of source, also those that sources are made of and that no definition names. */
const loaders = new Map<string, () => Promise<SourceKind<never>>>()
const loaded = new Map<string, SourceKind<never>>()

/** Adds formats, in this thread. */
export function addFormats(...list: readonly Format[]): void {
  for (const format of list) {
    formats.set(format.name, format)
    loaders.set(format.name, () => format.load())
  }
}

/** Adds kinds that are there already. */
export function addLoaded(kinds: Readonly<Record<string, SourceKind<never>>>): void {
  for (const [name, kind] of Object.entries(kinds)) {
    loaders.set(name, async () => kind)
    loaded.set(name, kind)
  }
}

/** Adds a kind of source that no definition names: sources are made of it, or a plugin brings it. */
export function addKind(name: string, load: () => Promise<SourceKind<never>>): void {
  loaders.set(name, load)
}

/** The format of a name, if there is one. */
export function formatCalled(name: string): Format | undefined {
  // Without formats every source would be taken for a plugin's, which holds no others.
  if (formats.size === 0) throw new Error('no formats were added in this thread: import the registry first')
  return formats.get(name)
}

/** All formats, in the order in which they were added. */
export function allFormats(): Format[] {
  return [...formats.values()]
}

export function hasKind(name: string): boolean {
  return loaders.has(name)
}

/** Loads what opens and attaches sources of a kind. */
export async function loadKind(name: string): Promise<SourceKind<never>> {
  const known = loaded.get(name)
  if (known !== undefined) return known
  const load = loaders.get(name)
  if (load === undefined) {
    const near = nearest(name, [...loaders.keys()])
    const hint = near ? `did you mean "${near}"?` : 'if a plugin has it, load that: --plugin URL'
    throw new SourceError(`there is no source "${name}"; ${hint}`)
  }
  const kind = await load()
  loaded.set(name, kind)
  return kind
}

/** A kind that this thread has loaded. */
export function loadedKind(name: string): SourceKind<never> {
  const kind = loaded.get(name)
  if (kind === undefined) throw new Error(`the kind of source "${name}" was not loaded in this thread`)
  return kind
}
