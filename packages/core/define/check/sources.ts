/**
 * What may be written for `source`, in one table. A new kind of source has a type in types.ts; the compiler then asks for
 * its line here, in nested.ts, and in the registry of src/source/.
 */

import { DTYPES, type Dtype } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import type { Parser } from '../../basics/shape.js'
import {
  boolean,
  either,
  exactlyOne,
  integer,
  isNumber,
  isObject,
  isText,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
  withDefault,
  without,
} from '../../basics/shape.js'
import { NO_COMMAND } from '../code.js'
import { allSources, isBuiltIn, type SourceName, someSource } from '../nested.js'
import { HOW_TO_LOAD, mayBePlugin, parsePluginSource, pluginSourceNames } from '../plugin-sources.js'
import type { ListJson, PythonJson, SourceJson, SplitJson } from '../types.js'
import { blendParser } from './combine/blend.js'
import { zipParser } from './combine/zip.js'
import { arrayFiles, npyFiles } from './formats/array-files.js'
import { arrow } from './formats/arrow.js'
import { hdf5 } from './formats/hdf5.js'
import { parquet } from './formats/parquet.js'
import { scalar, where } from './formats/where.js'
import { kernel } from './kernel.js'
import { csv, jsonl, textLines } from './lines.js'
import { paths } from './paths.js'
import { litdata, mds, tfrecord } from './records.js'
import { chatParser } from './tokens/chat.js'
import { tokens } from './tokens/source.js'
import { zarr } from './zarr.js'

const count = integer({ min: 0 })
const atLeastOne = integer({ min: 1 })
const seed = integer({ min: 0 })
const dtypes = Object.keys(DTYPES) as Dtype[]

const names = list(text, 'a list of names', { min: 1 })

const inner: Parser<SourceJson> = (value, path) => parseSource(value, path, false)

const folder = either(
  isText,
  text,
  object(
    { path: text, classes: optional(either(isText, text, names)), extensions: optional(names) },
    'a path or an object',
  ),
)

const listOfFiles: Parser<ListJson> = (value, path) => {
  const columns = record(text, 'columns with paths by names, such as {"image": "img", "mask": "msk"}')
  const shape = object({
    list: text,
    path: optional(text),
    paths: optional(columns),
    root: optional(text),
  })
  const json = shape(value, path) as ListJson
  if (json.paths === undefined) return json
  if (json.path !== undefined) throw new DefinitionError(at(path, 'path'), 'goes without "paths"')
  if (Object.keys(json.paths).length === 0) throw wrong(at(path, 'paths'), 'a column or more', json.paths)
  return json
}

const files = either(isObject, listOfFiles, paths)

const synthetic = exactlyOne(
  ['images', 'tensors', 'tokens'],
  object({
    count,
    seed: optional(seed),
    images: optional(
      object({
        width: integer({ min: 1, max: 65500 }),
        height: integer({ min: 1, max: 65500 }),
        quality: optional(integer({ min: 1, max: 100 })),
        classes: optional(atLeastOne),
      }),
    ),
    tensors: optional(
      object({
        shape: list(atLeastOne, 'a list of whole numbers'),
        dtype: optional(oneOf(dtypes, 'dtype')),
      }),
    ),
    tokens: optional(object({ length: atLeastOne, vocabulary: optional(atLeastOne) })),
  }),
)

const python = without(
  'command',
  NO_COMMAND,
  object({
    payload: text,
    hash: text,
    count: atLeastOne,
    name: text,
    columns: optional(names),
    iterable: optional(boolean),
  }),
)

const range: Parser<[number, number]> = (value, path) => {
  const [from, to] = list(count, 'rows [from, to)', { min: 2, max: 2 })(value, path)
  if (from > to) throw wrong(path, 'rows [from, to) with from ≤ to', value)
  return [from, to]
}

const subset = exactlyOne(
  ['range', 'indices', 'where'],
  object({
    source: inner,
    range: optional(range),
    indices: optional(list(count, 'a list of row numbers')),
    where: optional(where),
  }),
)

const fraction = number({ above: 0, max: 1 })

const splitShape = exactlyOne(
  ['parts', 'folds'],
  object({
    source: inner,
    parts: optional(record(fraction, 'named fractions such as {"train": 0.9, "val": 0.1}')),
    folds: optional(integer({ min: 2 })),
    take: either(isObject, object({ not: count }), scalar),
    groupBy: optional(text),
    stratifyBy: optional(text),
    seed: withDefault(seed, 0),
  }),
)

/** Rows that are put together of documents can't be divided: one document would be in several parts. */
function refusePacked(source: SourceJson, path: string): void {
  for (const found of allSources(source)) {
    if (!('tokens' in found.source) || found.source.tokens.pack === 'document') continue
    throw new DefinitionError(
      path,
      `rows of "tokens" are made of several documents, and a document would be in train and in val: divide the documents ` +
        'before they are packed, with "documents": {"split": [969, 30, 1], "take": 0} in "tokens"',
    )
  }
}

const split: Parser<SplitJson> = (value, path) => {
  const json = splitShape(value, path) as SplitJson
  refusePacked(json.source, at(path, 'source'))
  const { parts, folds, take } = json
  if (parts !== undefined) {
    const sum = Object.values(parts).reduce((a, b) => a + b, 0)
    // Fractions such as 0.7 + 0.2 + 0.1 need not add up to 1 in binary.
    if (sum > 1 + 1e-9) throw wrong(at(path, 'parts'), 'fractions that add up to 1 or less', sum)
    if (typeof take !== 'string') throw wrong(at(path, 'take'), "a part's name", take)
    if (!Object.hasOwn(parts, take)) throw unknownName(at(path, 'take'), 'part', take, Object.keys(parts))
  } else {
    const fold = isObject(take) ? take.not : take
    const where = isObject(take) ? at(at(path, 'take'), 'not') : at(path, 'take')
    if (!isNumber(fold) || !Number.isInteger(fold) || (fold as number) < 0 || (fold as number) >= folds!) {
      throw wrong(where, `a fold's number, 0 to ${folds! - 1}`, fold)
    }
  }
  return json
}

/** Each kind of source and what may be written for it. */
const SOURCES: Record<SourceName, Parser<unknown>> = {
  tar: either(isObject, object({ path: paths, root: optional(text) }), paths),
  folder,
  files,
  zarr,
  npy: npyFiles,
  npz: arrayFiles,
  safetensors: arrayFiles,
  synthetic,
  python,
  kernel,
  arrow,
  csv,
  parquet,
  jsonl,
  text: textLines,
  hdf5,
  netcdf4: hdf5,
  concat: list(inner, 'a list of sources', { min: 1 }),
  zip: zipParser(inner),
  subset,
  split,
  blend: blendParser(inner, tokens),
  litdata,
  mds,
  tfrecord,
  tokens,
  chat: chatParser(inner),
}

export const SOURCE_NAMES = Object.keys(SOURCES)

/** A source, checked; `top` is false inside another source, where a blend can't stand. */
export function parseSource(value: unknown, path: string, top = true): SourceJson {
  if (!isObject(value)) throw wrong(path, 'a source, such as {"tar": "shards/train-{0000..0015}.tar"}', value)
  const kinds = Object.keys(value).filter(key => value[key] !== undefined)
  for (const kind of kinds) {
    if (isBuiltIn(kind) || mayBePlugin(kind)) continue
    const known = [...SOURCE_NAMES, ...pluginSourceNames()]
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
  const parsed = isBuiltIn(kind)
    ? SOURCES[kind](value[kind], below)
    : parsePluginSource(kind, value[kind], below)
  return { [kind]: parsed } as unknown as SourceJson
}

/** Sources that don't name all columns that their samples may have: most look at some samples, `python` may say none. */
const OPEN_SOURCES: readonly string[] = ['files', 'jsonl', 'python', 'tfrecord']

/** Whether a source names all columns that its samples may have. */
export function columnsAreKnown(source: SourceJson): boolean {
  return !someSource(source, leaf => OPEN_SOURCES.includes(Object.keys(leaf)[0]))
}

/** All sources in Python within a source. */
export function pythonSources(source: SourceJson): PythonJson[] {
  return allSources(source).flatMap(found => ('python' in found.source ? [found.source.python] : []))
}
