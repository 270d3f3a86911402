/** Changes of a blend's weights on the way: where each begins, which of them still matter, and one more. */
import { DefinitionError, nearest } from '../../basics/errors.js'
import type { NormalBatch } from '../../define/types.js'
import type { Place } from '../step.js'

/** What must be known of a blend. */
interface Blend {
  names: readonly string[]
  weights: readonly number[]
  lengths: readonly number[]
  corpora?: readonly string[]
  /** Draws in an epoch, and in a unit. */
  length: number
  group: number
}

/** New weights from a place on: a draw counted through all epochs, or a position in an epoch. */
export interface BlendChange {
  at: number | { epoch: number; position: number }
  weights: number[]
  /** Units of each source before it. Where it is left out, it follows from the changes before. */
  drawn?: number[]
}

/** Digits of a weight that count: more than the 2^20 draws of a round can tell apart. */
const DIGITS = 9

/**
 * Those of some changes that matter from a place on. With "pad" the epoch's end is filled with its first samples, so all
 * changes of the epoch matter until it ends.
 */
export function neededChanges(
  changes: readonly BlendChange[],
  { epoch, position }: Place,
  { length, feed }: { length: number; feed: { batch: Pick<NormalBatch, 'last'> } },
): BlendChange[] {
  const draw = epoch * length + (feed.batch.last === 'pad' ? 0 : position)
  const first = changes.findLastIndex(({ at, drawn }) => drawn !== undefined && (at as number) <= draw)
  return changes.slice(Math.max(0, first))
}

/**
 * The changes after one more; the same list where nothing changes. Weights by name leave those of the other sources as
 * they were at that place.
 */
export function changeWeights(
  data: Blend,
  changes: readonly BlendChange[],
  at: BlendChange['at'],
  weights: readonly number[] | Record<string, number>,
): readonly BlendChange[] {
  const draw = Math.ceil(drawOf(data, at) / data.group) * data.group
  const before = changes.filter(change => drawOf(data, change.at) <= draw)
  before.sort((a, b) => drawOf(data, a.at) - drawOf(data, b.at))
  const present = before.at(-1)?.weights ?? data.weights
  const wanted = Array.isArray(weights) ? weights : named(data, present, weights as Record<string, number>)
  const changed = wanted.map(weight => Number(Number(weight).toPrecision(DIGITS)))
  const same = changed.length === present.length && changed.every((weight, i) => weight === present[i])
  return same ? changes : [...changes, { at: draw, weights: changed }]
}

/** Weights of which some are changed. That of a corpus is divided among its sources as it was, or by their sizes. */
function named(
  { names, corpora = [], lengths }: Blend,
  present: readonly number[],
  weights: Readonly<Record<string, number>>,
): number[] {
  const changed = [...present]
  for (const [name, weight] of Object.entries(weights)) {
    const one = names.indexOf(name)
    const members = one >= 0 ? [one] : names.flatMap((_, i) => (corpora[i] === name ? [i] : []))
    if (members.length === 0) throw noSource(name, [...new Set([...corpora, ...names])])
    const shares = members.some(i => changed[i] > 0) ? [...changed] : lengths
    const sum = members.reduce((all, i) => all + shares[i], 0)
    for (const i of members) changed[i] = members.length === 1 ? weight : (weight * shares[i]) / sum
  }
  return changed
}

function noSource(name: string, known: readonly string[]): DefinitionError {
  const close = nearest(name, known)
  const meant = close === undefined ? `they are ${known.join(', ')}` : `did you mean "${close}"?`
  return new DefinitionError('weights', `the blend has no source "${name}"; ${meant}`)
}

/** A place as a draw counted through all epochs. */
export function drawOf({ length }: Pick<Blend, 'length'>, at: BlendChange['at']): number {
  const draw = typeof at === 'number' ? at : at.epoch * length + at.position
  if (!Number.isSafeInteger(draw) || draw < 0)
    throw new DefinitionError('changes', `weights can't change at draw ${draw}`)
  return draw
}
