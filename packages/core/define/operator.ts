/**
 * Operators of pictures and of whole batches, as a definition knows them: names, parameters, what they do to sizes. Which there
 * are, packages above say (`addOperators`): this one knows none by name.
 */
import { DefinitionError } from '../basics/errors.js'
import { at, unknownName, wrong } from '../basics/mistakes.js'
import type { Random } from '../basics/random.js'
import { isObject, object, type Parsed } from '../basics/shape.js'
import type { SlotLayout } from '../batch/layout.js'
import type { Slot } from '../batch/slot.js'
import type { Workspace } from '../system/memory/workspace.js'
import type { Fields } from './kind.js'
import type { FieldLayout, NormalFeed, NormalOp, OpJson } from './types.js'

export type Keys = Parameters<typeof object>[0]

/** [height, width] in pixels. */
export type Sides = [height: number, width: number]

/** In the order in which a field has them: on 8-bit pixels; from pixels to values; on the finished row; on the finished batch. */
const STAGES = ['pixels', 'values', 'final', 'batch'] as const

/** An operator of whole batches: a second pass over the finished slot. */
export interface BatchEffect {
  /** Its parameters with the fields that it means filled in; refuses fields that it can't take. `before`: the operators before it. */
  bind(op: NormalOp, fields: Fields, path: string, before: readonly NormalOp[]): NormalOp['params']
  /** The layout of a field, which may follow another, once it is done. */
  layout(layout: FieldLayout, op: NormalOp, follow: string | undefined): FieldLayout
  /** Changes the rows of a closed slot in place. Returns what is wrong with the batch as a whole, if anything. */
  run(op: NormalOp, batch: ClosedBatch): string | undefined
}

/** A batch of which all rows are made. */
export interface ClosedBatch {
  feed: NormalFeed
  layout: SlotLayout
  slot: Slot
  work: Workspace
  /** Keyed by the operator and the position at which the batch begins. */
  random: Random
}

/** The facts about one operator. */
export interface Operator<K extends Keys = Keys> {
  /** What it says in a chooser, a help text or a document. */
  says: string
  keys: K
  /** The parameter meant by a bare value: `{"resize": 256}` is `{"resize": {"size": 256}}`. */
  main?: keyof K & string
  /** Named sets of parameters: `{"normalize": "imagenet"}`. */
  presets?: Record<string, Record<string, unknown>>
  /** Moves pixels, so that followers do it too. */
  moves?: boolean
  /** Changes values of pixels, so that a mask can't have it. */
  colors?: boolean
  stage: (typeof STAGES)[number]
  /** What it does to a batch, at that stage. */
  batch?: BatchEffect
  /** What must hold between parameters; says what does not. */
  check?(params: Parsed<K>): string | undefined
  /** The size that comes out. Without it: the size that went in. Undefined: not known before the image is. */
  output?(before: Sides | undefined, params: Parsed<K>): Sides | undefined
}

/** The facts of an operator, without the types of its own parameters. */
export type OperatorFacts = Omit<Operator, 'check' | 'output'> & {
  check?(params: Record<string, unknown>): string | undefined
  output?(before: Sides | undefined, params: Record<string, unknown>): Sides | undefined
}

const operators = new Map<string, OperatorFacts>()

/** Makes operators known to all definitions of this thread. */
export function addOperators(table: Readonly<Record<string, OperatorFacts>>): void {
  for (const [name, facts] of Object.entries(table)) operators.set(name, facts)
}

/** The names of the operators for which `keep` holds, in the order of the table. */
export function operatorNames(keep: (facts: OperatorFacts) => boolean = () => true): string[] {
  return [...operators].flatMap(([name, facts]) => (keep(facts) ? [name] : []))
}

export function operatorFacts(name: string): OperatorFacts {
  return operators.get(name)!
}

/** One entry of `apply`, parsed: shorthands written out, defaults filled in. `allowed`: the names that an error lists. */
export function parseOperator(
  json: unknown,
  path: string,
  allowed: readonly string[] = operatorNames(),
): { name: string; params: Record<string, unknown>; path: string } {
  const names = isObject(json) ? Object.keys(json).filter(key => json[key] !== undefined) : [json]
  if (names.length !== 1 || typeof names[0] !== 'string') {
    throw wrong(path, 'one operator, such as {"flip": {"p": 0.5}}', json)
  }
  const name = names[0]
  const facts = operators.get(name)
  if (facts === undefined) throw unknownName(path, 'operator', name, allowed)
  const inside = at(path, name)
  let written: unknown = isObject(json) ? json[name] : {}
  if (facts.presets !== undefined && typeof written === 'string') {
    if (!Object.hasOwn(facts.presets, written))
      throw unknownName(inside, 'preset', written, Object.keys(facts.presets))
    written = facts.presets[written]
  } else if (facts.main !== undefined && !isObject(written)) {
    written = { [facts.main]: written }
  }
  const params = object(facts.keys)(written, inside)
  const problem = facts.check?.(params)
  if (problem !== undefined) throw new DefinitionError(inside, problem)
  return { name, params, path: inside }
}

/** A list of operators in normal form, each numbered among those of its name. */
export function normalOps(apply: readonly OpJson[], path: string): NormalOp[] {
  const seen = new Map<string, number>()
  return apply.map((json, i) => {
    const { name, params } = parseOperator(json, at(path, i))
    const ordinal = seen.get(name) ?? 0
    seen.set(name, ordinal + 1)
    return { name, ordinal, params }
  })
}

/** The operators of a batch in normal form, with the fields that they mean filled in and checked. */
export function batchOps(apply: readonly OpJson[], fields: Fields, path: string): NormalOp[] {
  const ops = normalOps(apply, path)
  for (const [i, op] of ops.entries())
    op.params = operatorFacts(op.name).batch!.bind(op, fields, at(at(path, i), op.name), ops.slice(0, i))
  return ops
}

/** The layout of a field once the operators of the batch are done. */
export function layoutInBatch(
  layout: FieldLayout,
  ops: readonly NormalOp[],
  follow: string | undefined,
): FieldLayout {
  return ops.reduce((before, op) => operatorFacts(op.name).batch!.layout(before, op, follow), layout)
}

/** Refuses an operator of a field that stands behind one of a later stage, or normalises a second time. */
export function checkStages(last: string | undefined, name: string, path: string): void {
  if (last === undefined) return
  const [before, now] = [last, name].map(one => STAGES.indexOf(operatorFacts(one).stage))
  if (now > before || (now === before && STAGES[now] !== 'values')) return
  const order = (['values', 'final'] as const).flatMap(one => operatorNames(({ stage }) => stage === one))
  throw new DefinitionError(path, `can't come after ${last}: the order is pixels, ${order.join(', ')}`)
}
