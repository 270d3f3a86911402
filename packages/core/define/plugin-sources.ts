/**
 * The names of sources that plugins bring (docs/extend.md). A program may name such a source before its plugin is loaded,
 * by `source('units', …)`; whether the plugin is there is checked when the feed is opened.
 */
import { DefinitionError } from '../basics/errors.js'
import { at } from '../basics/mistakes.js'
import { allSources, isBuiltIn, nameOf } from './nested.js'
import type { SourceJson } from './types.js'

/** What a definition has to know of a plugin's source. */
export interface PluginSource {
  /** The plugin that brings it. */
  url: string
  /** Throws where the JSON below the name is wrong. */
  check?(json: unknown, path: string): void
}

/** What to do about a source that no loaded plugin has. */
export const HOW_TO_LOAD =
  'load that plugin, by plugins: [url] in open() of Node, --plugin URL on the command line, plugins=[…] in Python'

const named = new Set<string>()
const loaded = new Map<string, PluginSource>()

/** The program has named a source of this kind: definitions may have it from now on. */
export function nameSource(name: string): void {
  named.add(name)
}

/** A plugin was loaded. */
export function addPluginSource(name: string, source: PluginSource): void {
  loaded.set(name, source)
}

/** The loaded plugin's source of that name. */
export function pluginSource(name: string): PluginSource | undefined {
  return loaded.get(name)
}

/** Whether a definition may have a source of this name, which is none of Millrace's own. */
export function mayBePlugin(name: string): boolean {
  return named.has(name) || loaded.has(name)
}

/** Names of the sources of all loaded plugins. */
export function pluginSourceNames(): string[] {
  return [...loaded.keys()]
}

/** What stands below the name of a plugin's source, checked by the plugin, where it can. */
export function parsePluginSource(name: string, json: unknown, path: string): unknown {
  try {
    loaded.get(name)?.check?.(json, path)
  } catch (error) {
    if (error instanceof DefinitionError) throw error
    throw new DefinitionError(path, error instanceof Error ? error.message : String(error))
  }
  return json
}

/** Throws where a source needs a plugin that is not one of these, by their URLs. */
export function checkPlugins(source: SourceJson, plugins: readonly string[]): void {
  for (const { source: found, keys } of allSources(source)) {
    const name: string = nameOf(found)
    if (isBuiltIn(name)) continue
    const url = loaded.get(name)?.url
    if (url !== undefined && plugins.includes(url)) continue
    throw new DefinitionError(
      at(keys.reduce<string>(at, 'source'), name),
      `"${name}" is no source of Millrace's own. If a plugin has it: ${HOW_TO_LOAD}`,
    )
  }
}
