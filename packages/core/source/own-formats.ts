/**
 * The core's own sources: those that are made of others, and those that make their samples. What may be written for each, and where they
 * hold other sources.
 */
import { DTYPES, type Dtype } from '../basics/dtype.js'
import { DefinitionError, SourceError } from '../basics/errors.js'
import { at, unknownName, wrong } from '../basics/mistakes.js'
import {
  boolean,
  either,
  exactlyOne,
  integer,
  isNumber,
  isObject,
  list,
  number,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
  withDefault,
  without,
} from '../basics/shape.js'
import { blendParser } from '../define/check/combine/blend.js'
import { zipParser } from '../define/check/combine/zip.js'
import { kernel as kernelShape } from '../define/check/kernel.js'
import { parseSource } from '../define/check/sources.js'
import { scalar, where } from '../define/check/where.js'
import { NO_COMMAND } from '../define/code.js'
import { addFormats, addLoaded, type Change, type Format } from '../define/format.js'
import { allSources, zipParts } from '../define/nested.js'
import type { ZipOf } from '../define/order-types.js'
import type {
  BlendJson,
  KernelJson,
  PythonJson,
  SourceJson,
  SplitJson,
  SubsetJson,
  SyntheticJson,
} from '../define/types.js'
import { concat } from './combine/concat.js'
import { named } from './combine/named.js'
import { split } from './combine/split.js'
import { subset } from './combine/subset.js'
import { zip } from './combine/zip.js'
import { kernel } from './made/kernel.js'
import { python } from './made/python.js'
import { synthetic } from './made/synthetic.js'
import { valued } from './values/valued.js'

const count = integer({ min: 0 })
const atLeastOne = integer({ min: 1 })
const seed = integer({ min: 0 })
const dtypes = Object.keys(DTYPES) as Dtype[]
const names = list(text, 'a list of names', { min: 1 })
const inner: Parser<SourceJson> = (value, path) => parseSource(value, path, false)

const syntheticShape = exactlyOne(
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

const pythonShape = without(
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

const subsetShape = exactlyOne(
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

const divided: Parser<SplitJson> = (value, path) => {
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

/** Makes the JSON of a source that has one other in it anew. */
export const inside = <Json extends { source: SourceJson }>(json: Json, change: Change): Json => ({
  ...json,
  source: change(json.source, ['source']),
})

/** What the files of a list are: a source of tokens that lacks its path. */
function withoutPath(source: SourceJson): BlendJson['tokens'] {
  // A skeleton of it is only a name.
  if (typeof source !== 'object' || !('tokens' in source) || source.tokens === undefined) return undefined
  const { path: _, ...rest } = source.tokens
  return rest
}

const concatFormat: Format<SourceJson[]> = {
  name: 'concat',
  says: 'Sources one after the other.',
  example: [{ folder: 'a' }, { folder: 'b' }],
  shape: list(inner, 'a list of sources', { min: 1 }),
  facts: { selectsByIndex: true },
  inner: (json, change) => json.map((source, i) => change(source, [i])),
  load: async () => concat,
}

const zipFormat: Format<ZipOf<SourceJson>> = {
  name: 'zip',
  says: 'Sources side by side: files are paired by their names.',
  example: [{ files: 'images/*.png' }, { source: { files: 'masks/*.png' }, rename: { file: 'mask' } }],
  shape: zipParser(inner),
  facts: { selectsByIndex: true },
  inner(json, change) {
    const { entries, ...rules } = zipParts(json)
    const keys = Array.isArray(json) ? [] : ['sources']
    const changed = entries.map((entry, i) =>
      'source' in entry
        ? { ...entry, source: change(entry.source, [...keys, i, 'source']) }
        : change(entry, [...keys, i]),
    )
    return Array.isArray(json) ? changed : { sources: changed, ...rules }
  },
  load: async () => zip,
}

const subsetFormat: Format<SubsetJson> = {
  name: 'subset',
  says: 'Some rows of a source: a range, a list, or those for which conditions hold.',
  example: { source: { tar: 'train.tar' }, where: { width: { '>=': 256 } } },
  shape: subsetShape,
  facts: { selectsByIndex: true },
  inner: inside,
  load: async () => subset,
}

const splitFormat: Format<SplitJson> = {
  name: 'split',
  says: "One part of a division that goes by the samples' keys.",
  example: { source: { tar: 'all.tar' }, parts: { train: 0.9, val: 0.1 }, take: 'train' },
  shape: divided,
  facts: { selectsByIndex: true },
  inner: inside,
  load: async () => split,
}

const blendFormat: Format<BlendJson> = {
  name: 'blend',
  says: 'Several sources mixed by weight; only at the top.',
  example: {
    entries: [
      { source: { tar: 'a.tar' }, weight: 3 },
      { source: { tar: 'b.tar' }, weight: 1 },
    ],
  },
  shape: blendParser(inner),
  facts: { selectsByIndex: true },
  inner: (json, change) => ({
    ...json,
    ...(json.entries && {
      entries: json.entries.map((entry, i) => ({
        ...entry,
        source: change(entry.source, ['entries', i, 'source']),
      })),
    }),
    ...(json.tokens && { tokens: withoutPath(change({ tokens: { path: '', ...json.tokens } }, [])) }),
  }),
  async load() {
    throw new SourceError('a blend can only be the outermost source: put the other sources into its entries')
  },
}

const syntheticFormat: Format<SyntheticJson> = {
  name: 'synthetic',
  says: 'Made-up samples, the same for the same index: images, tensors or tokens.',
  example: { count: 1000, images: { width: 224, height: 224 } },
  shape: syntheticShape,
  facts: { selectsByIndex: true, untitled: true },
  load: async () => synthetic,
}

const pythonFormat: Format<PythonJson> = {
  name: 'python',
  says: 'A dataset of yours that runs in Python processes; `millrace.dataset(…)` of the Python package writes it.',
  example: { payload: 'dataset.pickle', hash: '…', count: 1000, name: 'Photos' },
  shape: pythonShape,
  facts: { moreColumns: true, selectsByIndex: true, untitled: true },
  load: async () => python,
}

const kernelFormat: Format<KernelJson> = {
  name: 'kernel',
  says: 'A CUDA kernel of yours that makes batches on the GPU; only at the top.',
  example: {
    file: 'draw.cu',
    entry: 'draw',
    count: 1000,
    fields: { image: { dtype: 'f32', shape: [3, 224, 224] } },
  },
  shape: kernelShape,
  facts: { selectsByIndex: true, untitled: true },
  load: async () => kernel,
}

/** Adds the core's own sources, and the kinds that sources are made of. */
export function addOwnFormats(): void {
  addFormats(
    concatFormat,
    zipFormat,
    subsetFormat,
    splitFormat,
    blendFormat,
    syntheticFormat,
    pythonFormat,
    kernelFormat,
  )
  addLoaded({ concat, zip, subset, split, synthetic, python, kernel, named, valued })
}
