/**
 * Checks a definition: its shape first, then that every reference meets its target and everything fits together. What
 * is wrong is said with its path, what was expected, what was found and, for names, the nearest valid one.
 */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import { checkBins } from '../batching.js'
import { layoutOf } from '../layout.js'
import {
  checkStages,
  normalOps,
  type OperatorFacts,
  operatorFacts,
  operatorNames,
  parseOperator,
} from '../operator.js'
import { arrayOps } from '../operators/array.js'
import {
  checkNumberOps,
  isOpenField,
  isPattern,
  numberOps,
  takesNumberOps,
  writtenColumns,
} from '../operators/number.js'
import { textOps } from '../operators/text.js'
import type { BatchJson, FeedJson, FieldJson, SourceJson } from '../types.js'
import { withBoxes } from './boxed.js'
import { checkWeights } from './combine/blend.js'
import { withKernelFields } from './kernel.js'
import { KIND_NAMES, KINDS } from './kinds.js'
import { checkMissing } from './missing.js'
import { mixings } from './mixing.js'
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
    const apply = takesNumberOps(field.as) ? numberOps(field, at(here, 'apply')) : []
    const from = writtenColumns(field)
    const columns = field.as === 'vector' ? (from.some(isPattern) ? undefined : from.length) : 1
    checkNumberOps(apply, layoutOf(name, fields, at(path, 'fields')).dtype, columns, at(here, 'apply'))
    if (!isOpenField({ ...field, from, apply })) continue
    const how =
      field.as === 'class'
        ? 'give "classes", the names in the order of their numbers'
        : from.some(isPattern)
          ? 'name the columns one by one, and give mean and std in numbers'
          : 'give mean and std in numbers'
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
  const facts = KINDS[field.as]
  for (const key of Object.keys(field) as (keyof FieldJson)[]) {
    if (key === 'from' || key === 'as' || facts.keys.includes(key)) continue
    if (field.as === 'text' && (key === 'apply' || key === 'dtype' || key === 'pad')) {
      if (field.apply?.length) continue
      throw new DefinitionError(
        at(here, key),
        'means nothing for text, unless "apply" has {"tokenize": …}, which makes integers of it',
      )
    }
    const fitting = KIND_NAMES.filter(kind => KINDS[kind].keys.includes(key))
    throw new DefinitionError(at(here, key), `means nothing for ${field.as}, only for ${fitting.join(', ')}`)
  }
  checkFrom(field, at(here, 'from'))
  if (field.as === 'class') checkClasses(field.classes, here)
  if (field.follow !== undefined) checkFollow(name, field.follow, fields, here)
  if (field.as === 'npy') {
    arrayOps(name, fields, path)
    return
  }
  if (takesNumberOps(field.as)) {
    numberOps(field, at(here, 'apply'))
    return
  }
  if (field.as === 'text') textOps(field, at(here, 'apply'))
  if (field.apply === undefined || field.as === 'text') return
  checkApply(field, at(here, 'apply'))
  withBoxes(normalOps(field.apply, at(here, 'apply')), name, fields, at(here, 'apply'))
}

function checkFrom(field: FieldJson, path: string): void {
  if (field.as !== 'vector') {
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

function checkClasses(classes: readonly string[] | undefined, path: string): void {
  if (classes === undefined) return
  if (new Set(classes).size < classes.length) {
    const twice = classes.find((name, i) => classes.indexOf(name) < i)
    throw new DefinitionError(at(path, 'classes'), `"${twice}" is there twice`)
  }
}

function checkFollow(name: string, followed: string, fields: FeedJson['fields'], path: string): void {
  const here = at(path, 'follow')
  if (followed === name) throw new DefinitionError(here, 'a field cannot follow itself')
  if (!Object.hasOwn(fields, followed)) throw unknownName(here, 'field', followed, Object.keys(fields))
  const target = fields[followed]
  if (fields[name].as === 'npy') {
    if (target.as !== 'npy')
      throw new DefinitionError(
        here,
        `an array can follow another one only, and "${followed}" is ${target.as}`,
      )
  } else if (target.as !== 'image' && target.as !== 'mask') {
    throw new DefinitionError(
      here,
      `only an image or a mask can be followed, and "${followed}" is ${target.as}`,
    )
  }
  if (target.follow !== undefined) {
    throw new DefinitionError(
      here,
      `"${followed}" follows "${target.follow}" itself: follow "${target.follow}"`,
    )
  }
}

/** Operators of a field: those its kind can have, in an order that can be carried out. */
function checkApply(field: FieldJson, path: string): void {
  const fitting = operatorNames(facts => fits(facts, field))
  let last: string | undefined
  for (const [i, op] of field.apply!.entries()) {
    const { name, params, path: here } = parseOperator(op, at(path, i), fitting)
    const facts = operatorFacts(name)
    if (facts.stage === 'batch')
      throw new DefinitionError(here, 'works on whole batches: put it into batch.apply')
    if (!fits(facts, field)) {
      const why =
        field.follow !== undefined && facts.moves
          ? `moves pixels, but the field follows "${field.follow}" and moves as that does`
          : 'changes values, which would spoil a mask'
      throw new DefinitionError(here, `${why}; possible: ${fitting.join(', ') || 'none'}`)
    }
    if (field.channels === 1) checkOneChannel(params, here)
    checkStages(last, name, here)
    last = name
  }
}

/** Parameters that have a value for each channel. */
const BY_CHANNEL: readonly string[] = ['mean', 'std', 'fill', 'value']

/** An operator of an image with one channel has no values for red, green and blue. */
function checkOneChannel(params: Readonly<Record<string, unknown>>, path: string): void {
  const given = Object.entries(params).filter(
    ([key, list]) => BY_CHANNEL.includes(key) && Array.isArray(list),
  )
  if (given.every(([, list]) => (list as number[]).every((value, _, [first]) => value === first))) return
  const means = given.map(([key, list]) => {
    const sum = (list as number[]).reduce((total, value) => total + value, 0)
    return [key, Number((sum / 3).toPrecision(3))]
  })
  throw new DefinitionError(
    path,
    `has values for red, green and blue, and the image has one channel: give one, such as ${JSON.stringify(Object.fromEntries(means))}`,
  )
}

function fits({ stage, moves = false, colors = false }: OperatorFacts, field: FieldJson): boolean {
  return stage !== 'batch' && !(field.as === 'mask' && colors) && !(field.follow !== undefined && moves)
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
  mixings(batch.apply ?? [], fields, at(path, 'apply'))
}

function checkDepth(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_DEPTH)
    throw new DefinitionError('', `the definition is nested deeper than ${MAX_DEPTH} levels`)
  for (const inner of Object.values(value)) checkDepth(inner, depth + 1)
}
