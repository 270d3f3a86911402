/**
 * Checks a definition: its shape first, then that every reference meets its target and everything fits together. What
 * is wrong is said with its path, what was expected, what was found and, for names, the nearest valid one.
 */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import { checkBins } from '../batching.js'
import { allDecoders, decoderOf, isWide, writtenColumns } from '../kind.js'
import { layoutOf } from '../layout.js'
import { batchOps, operatorFacts, operatorNames, parseOperator } from '../operator.js'
import type { BatchJson, FeedJson, FieldJson, SourceJson } from '../types.js'
import { checkWeights } from './combine/blend.js'
import { withKernelFields } from './kernel.js'
import { checkMissing } from './missing.js'
import { checkMegatron, megatronOf } from './order/megatron.js'
import { feedShape } from './shape.js'
import { pythonSources } from './sources.js'
import { withPairFields } from './tokens/chat.js'
import { withTokenFields } from './tokens/fields.js'
import { mergePatch } from './variants.js'

/** Names that a batch in Node has for itself: a field of such a name could not be reached. */
const RESERVED: readonly string[] = [
  ...['ids', 'positions', 'position', 'count', 'epoch', 'step', 'valid', 'slotIndex'],
  ...['keep', 'isKept', 'release', 'get', 'shape', 'lengths', 'constructor'],
  ...['owner', 'slot', 'window', 'kept', 'released', 'place', 'array', 'check'],
]
/** As many fields as a slot's header has cursors for. A field may be made of any number of columns. */
const MAX_FIELDS = 44
/** No definition is nested deeper; guards against endless ones. */
const MAX_DEPTH = 64

/** The value as a feed, or a DefinitionError. Its variants are checked as well. */
export function validateFeed(value: unknown): FeedJson {
  checkDepth(value)
  check(value, '')
  const { variants = {}, ...base } = value as FeedJson
  for (const [name, patch] of Object.entries(variants)) {
    const path = at('variants', name)
    if (Object.hasOwn(patch, 'variants'))
      throw new DefinitionError(at(path, 'variants'), 'a variant has no variants')
    check(mergePatch(base, patch), path)
  }
  return value as FeedJson
}

/** One feed, without a look at its variants. Paths begin with `path`. */
function check(value: unknown, path: string): FeedJson {
  const feed = feedShape(
    withTokenFields(withPairFields(withKernelFields(value, path), path), path),
    path,
  ) as FeedJson
  const fieldsPath = at(path, 'fields')
  checkNames(Object.keys(feed.fields), fieldsPath)
  for (const [name, field] of Object.entries(feed.fields)) checkField(name, field, feed.fields, fieldsPath)
  for (const [name, field] of Object.entries(feed.fields))
    checkMissing(field, layoutOf(name, feed.fields, fieldsPath), at(fieldsPath, name))
  checkOpen(feed, path)
  if (typeof feed.batch === 'object') checkBatch(feed.batch, feed.fields, at(path, 'batch'))
  checkBins(feed, path)
  if ('blend' in feed.source && typeof feed.order === 'object' && 'weights' in feed.order) {
    throw new DefinitionError(
      at(at(path, 'order'), 'weights'),
      "can't be used with blend: give its entries weights",
    )
  }
  const megatron = megatronOf(feed.order)
  if (megatron !== undefined) checkMegatron(megatron, feed.source, at(at(path, 'order'), 'megatron'))
  else if ('blend' in feed.source) checkWeights(feed.source.blend, at(at(path, 'source'), 'blend'))
  if (feed.order !== undefined && feed.order !== 'none') checkOrderable(feed.source, at(path, 'order'))
  return feed
}

/** What is left to the data must be found in the columns of the data. */
function checkOpen({ fields, map, main, source }: FeedJson, path: string): void {
  for (const [name, field] of Object.entries(fields)) {
    const here = at(at(path, 'fields'), name)
    const how = decoderOf(field).rules.open?.lacks({ ...field, from: writtenColumns(field) })
    if (how === undefined) continue
    if (map !== undefined)
      throw new DefinitionError(
        here,
        `the feed has a function, and what that makes is not known beforehand: ${how}`,
      )
    if (pythonSources(main ?? source).length > 0)
      throw new DefinitionError(
        here,
        `a dataset in Python is not looked through when a feed is opened: ${how}`,
      )
  }
}

/** What can only be gone through from its beginning has no other order than its own. */
function checkOrderable(source: SourceJson, path: string): void {
  for (const { name, iterable } of pythonSources(source)) {
    if (!iterable) continue
    throw new DefinitionError(
      path,
      `"${name}" is an iterable, which has no other order than its own: leave the order out, shuffle within it, or give it __len__ and __getitem__`,
    )
  }
}

function checkNames(names: readonly string[], path: string): void {
  if (names.length === 0) throw new DefinitionError(path, 'a feed needs at least one field')
  if (names.length > MAX_FIELDS) {
    throw new DefinitionError(
      path,
      `${names.length} fields are too many, ${MAX_FIELDS} at most. One field takes many columns of numbers: {"from": ["age", "f*"], "as": "vector"}`,
    )
  }
  for (const name of names) {
    if (!/^[A-Za-z]\w*$/.test(name)) {
      throw new DefinitionError(
        at(path, name),
        "a field's name is a letter, then letters, digits or underscores",
      )
    }
    if (RESERVED.includes(name)) {
      throw new DefinitionError(
        at(path, name),
        `every batch has its own "${name}": call the field something else`,
      )
    }
  }
}

function checkField(name: string, field: FieldJson, fields: FeedJson['fields'], path: string): void {
  const here = at(path, name)
  const { keys, operators, check } = decoderOf(field).rules
  for (const key of Object.keys(field) as (keyof FieldJson)[]) {
    if (key === 'from' || key === 'as' || keys.includes(key)) continue
    const fitting = allDecoders().filter(({ rules }) => rules.keys.includes(key))
    throw new DefinitionError(
      at(here, key),
      `means nothing for ${field.as}, only for ${fitting.map(({ name }) => name).join(', ')}`,
    )
  }
  checkFrom(field, at(here, 'from'))
  if (field.follow !== undefined) checkFollow(name, field.follow, fields, here)
  operators?.(name, fields, path)
  check?.(name, fields, path)
}

function checkFrom(field: FieldJson, path: string): void {
  if (!isWide(field)) {
    if (typeof field.from !== 'string')
      throw new DefinitionError(
        path,
        `a list of columns makes a vector: "as": "vector"; alternatives of ${field.as} are written "${field.from.join('|')}"`,
      )
    if (writtenColumns(field).includes(''))
      throw wrong(path, 'a column, or alternatives such as "jpg|png"', field.from)
    return
  }
  const columns = writtenColumns(field)
  const twice = columns.find((name, i) => columns.indexOf(name) < i)
  if (twice !== undefined) throw new DefinitionError(path, `"${twice}" is there twice`)
  if (columns.every(name => name.startsWith('!')))
    throw new DefinitionError(path, `names only what is left out: begin with "*", as ["*", "${columns[0]}"]`)
}

function checkFollow(name: string, followed: string, fields: FeedJson['fields'], path: string): void {
  const here = at(path, 'follow')
  if (followed === name) throw new DefinitionError(here, 'a field cannot follow itself')
  if (!Object.hasOwn(fields, followed)) throw unknownName(here, 'field', followed, Object.keys(fields))
  const target = fields[followed]
  const { follows = [] } = decoderOf(fields[name]).rules
  if (!follows.includes(target.as))
    throw new DefinitionError(
      here,
      `${fields[name].as} can follow ${follows.join(' or ')} only, and "${followed}" is ${target.as}`,
    )
  if (target.follow !== undefined) {
    throw new DefinitionError(
      here,
      `"${followed}" follows "${target.follow}" itself: follow "${target.follow}"`,
    )
  }
}

function checkBatch(batch: BatchJson, fields: FeedJson['fields'], path: string): void {
  const fitting = operatorNames(({ stage }) => stage === 'batch')
  for (const [i, op] of (batch.apply ?? []).entries()) {
    const { name, path: here } = parseOperator(op, at(at(path, 'apply'), i), fitting)
    if (operatorFacts(name).stage !== 'batch') {
      throw new DefinitionError(
        here,
        `works on single samples: put it into a field's apply; here: ${fitting.join(', ')}`,
      )
    }
  }
  batchOps(batch.apply ?? [], fields, at(path, 'apply'))
}

function checkDepth(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_DEPTH)
    throw new DefinitionError('', `the definition is nested deeper than ${MAX_DEPTH} levels`)
  for (const inner of Object.values(value)) checkDepth(inner, depth + 1)
}
