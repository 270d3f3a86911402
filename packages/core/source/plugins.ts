/**
 * Plugins: modules of the user's with sources and stores of their own (docs/extend.md). The program that opens a feed
 * names them, never a definition. Each thread loads them for itself, once.
 */
import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DefinitionError, nearest } from '../basics/errors.js'
import { expandHome } from '../basics/path.js'
import { addLoaded, hasKind } from '../define/format.js'
import { addPluginSource, pluginSource } from '../define/plugin-sources.js'
import type { StoreKind } from '../store/store.js'
import { addStore, checkScheme } from '../store/stores.js'
import { importWithin } from '../system/node/import-within.js'
import { checkedSource, type PluginSourceKind } from './plugin-source.js'

/** What a plugin's module exports by default. */
export interface Plugin {
  /** Kinds of sources, by the names that they have in a definition. */
  sources?: Record<string, PluginSourceKind>
  /** Stores, by the schemes of the names that they serve: `s3` for `s3://…`. */
  stores?: Record<string, StoreKind>
}

const MEMBERS = ['sources', 'stores']

/** Seconds that a plugin may take to load, where no option says so. */
const USUAL_SECONDS = 60

/** What this thread has loaded, or is loading, by URL. */
const loading = new Map<string, Promise<void>>()

/** The URLs of plugins that were given as file URLs or paths, each once. `where` names the option. */
export function pluginUrls(given: unknown, where: string): string[] {
  const list = given ?? []
  if (!Array.isArray(list))
    throw new DefinitionError(
      where,
      `expected a list of URLs or paths of modules, not ${JSON.stringify(given)}`,
    )
  return [...new Set(list.map((one, i) => urlOf(one, `${where}[${i}]`)))]
}

function urlOf(given: unknown, where: string): string {
  if (given instanceof URL && given.protocol === 'file:') return given.href
  if (typeof given !== 'string' || given === '')
    throw new DefinitionError(where, `expected the URL or path of a module, not ${JSON.stringify(given)}`)
  if (given.startsWith('file:')) {
    if (!URL.canParse(given)) throw new DefinitionError(where, `${given} is no URL of a file`)
    return new URL(given).href
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(given))
    throw new DefinitionError(
      where,
      `a plugin is a module on this machine: a path or a file: URL, not ${given}`,
    )
  const path = expandHome(given)
  return pathToFileURL(isAbsolute(path) ? path : resolve(path)).href
}

/** Loads plugins in this thread, those that are not there yet. */
export async function loadPlugins(urls: readonly string[] = [], seconds = USUAL_SECONDS): Promise<void> {
  for (const url of urls) {
    const known = loading.get(url)
    if (known !== undefined) {
      await known
      continue
    }
    const load = importWithin(url, seconds, 'a plugin').then(module => register(url, module.default))
    loading.set(url, load)
    // What failed may be tried again.
    load.catch(() => loading.delete(url))
    await load
  }
}

/** Adds all that a plugin brings, or nothing of it. */
function register(url: string, exported: unknown): void {
  const { sources, stores } = checkedPlugin(url, exported)
  for (const [name, kind] of Object.entries(sources)) checkName(url, name, kind)
  for (const [scheme, kind] of Object.entries(stores)) {
    if (typeof (kind as Partial<StoreKind> | undefined)?.attach !== 'function')
      throw wrong(url, `its store "${scheme}" needs a function attach`)
    try {
      checkScheme(scheme, kind)
    } catch (error) {
      throw wrong(url, (error as Error).message)
    }
  }
  for (const [scheme, kind] of Object.entries(stores)) addStore(scheme, kind)
  for (const [name, kind] of Object.entries(sources)) {
    addLoaded({ [name]: checkedSource(name, url, kind) })
    addPluginSource(name, { url, ...(kind.check && { check: (json, path) => kind.check!(json, path) }) })
  }
}

function checkedPlugin(url: string, exported: unknown): Required<Plugin> {
  if (!isObject(exported))
    throw wrong(
      url,
      'its default export is no plugin: write `export default { sources: { … }, stores: { … } }`',
    )
  for (const name of Object.keys(exported)) {
    if (MEMBERS.includes(name)) continue
    const near = nearest(name, MEMBERS)
    const hint = near ? `did you mean "${near}"?` : `known: ${MEMBERS.join(', ')}`
    throw wrong(url, `a plugin has no member "${name}"; ${hint}`)
  }
  const { sources = {}, stores = {} } = exported
  if (!isObject(sources)) throw wrong(url, 'its "sources" should be an object: kinds of sources by name')
  if (!isObject(stores)) throw wrong(url, 'its "stores" should be an object: kinds of stores by scheme')
  return { sources, stores } as unknown as Required<Plugin>
}

function checkName(url: string, name: string, kind: unknown): void {
  if (!/^[a-zA-Z]\w*$/.test(name))
    throw wrong(url, `the name of a source is a letter, then letters, digits or underscores, not "${name}"`)
  if (hasKind(name)) {
    const other = pluginSource(name)?.url
    throw wrong(
      url,
      `its source "${name}" is there already, ${other ? `from ${other}` : "as Millrace's own"}`,
    )
  }
  const { open, attach, check } = isObject(kind) ? kind : {}
  if (typeof open !== 'function' || typeof attach !== 'function')
    throw wrong(url, `its source "${name}" needs two functions, open and attach`)
  if (check !== undefined && typeof check !== 'function')
    throw wrong(url, `"check" of its source "${name}" should be a function`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrong(url: string, problem: string): DefinitionError {
  return new DefinitionError('', `${url}, a plugin: ${problem}`)
}
