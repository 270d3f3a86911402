/** Checks a source: one key, the name of a format or of a plugin's source, and below it what that takes. */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import { isObject } from '../../basics/shape.js'
import { allFormats, type Format, formatCalled } from '../format.js'
import { allSources, isBuiltIn, nameOf, someSource } from '../nested.js'
import { HOW_TO_LOAD, mayBePlugin, parsePluginSource, pluginSourceNames } from '../plugin-sources.js'
import type { PythonJson, SourceJson } from '../types.js'

/** A source, checked; `top` is false inside another source, where a blend can't stand. */
export function parseSource(value: unknown, path: string, top = true): SourceJson {
  if (!isObject(value)) throw wrong(path, `a source, such as ${exampleOf(allFormats())}`, value)
  const kinds = Object.keys(value).filter(key => value[key] !== undefined)
  for (const kind of kinds) {
    if (isBuiltIn(kind) || mayBePlugin(kind)) continue
    const known = [...allFormats().map(({ name }) => name), ...pluginSourceNames()]
    throw unknownName(path, 'source', kind, known, `. If a plugin has it: ${HOW_TO_LOAD}`)
  }
  if (kinds.length !== 1) {
    throw new DefinitionError(
      path,
      `expected one source, found ${kinds.length === 0 ? 'none' : kinds.join(' and ')}; ` +
        'a variant that changes the kind of source sets the other to null',
    )
  }
  const [kind] = kinds
  if (kind === 'blend' && !top) {
    throw new DefinitionError(
      at(path, kind),
      'a blend can only stand at the top of source, not inside another',
    )
  }
  if (kind === 'kernel' && !top) {
    throw new DefinitionError(
      at(path, kind),
      'a kernel can only stand at the top of source, not inside another: the GPU fills whole batches with it',
    )
  }
  const below = at(path, kind)
  const format = formatCalled(kind)
  const parsed =
    format === undefined ? parsePluginSource(kind, value[kind], below) : format.shape(value[kind], below)
  return { [kind]: parsed } as unknown as SourceJson
}

/** How the first source that reads files is written. */
function exampleOf(formats: readonly Format[]): string {
  const { name, example } = formats.find(({ finds }) => finds !== undefined) ?? formats[0]
  return `{"${name}": ${JSON.stringify(example)}}`
}

/** Whether a source names all columns that its samples may have. */
export function columnsAreKnown(source: SourceJson): boolean {
  return !someSource(source, leaf => formatCalled(nameOf(leaf))?.facts?.moreColumns)
}

/** All sources in Python within a source. */
export function pythonSources(source: SourceJson): PythonJson[] {
  return allSources(source).flatMap(found => ('python' in found.source ? [found.source.python] : []))
}
