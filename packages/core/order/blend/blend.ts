/**
 * A blend of several sources, with random access. The *units* of a blend are its draws, counted through all epochs
 * (epoch · length + position), or groups of draws when each batch comes from one source. `schedule.ts` says from which source
 * any unit draws, and how many units of that source came before it, without walking. The k-th draw of a source of n rows is
 * draw k mod n of its own epoch ⌊k/n⌋.
 *
 * Weights may change at any unit: a *segment* begins there, with a schedule of its own, and goes on with the draws
 * that its sources had made until then. A change that says how many those were needs no change before it: so a state
 * keeps only the changes that still matter, however many there were.
 */

import { DefinitionError, MillraceError, StateError } from '../../basics/errors.js'
import type { Draw, Order } from '../order.js'
import type { SourceOrder } from '../single.js'
import { type BlendChange, changeWeights, drawOf } from './changes.js'
import type { Choice, ScheduleKind } from './choice.js'
import { makeTables, planSchedule, type ScheduleData, schedule } from './schedule.js'

/** A stretch of units with the same weights. */
interface Segment {
  /** Its first unit. */
  from: number
  weights: readonly number[]
  /** Units of each source before it. */
  carry: Float64Array
  schedule: ScheduleData
}

/** What a blend is made of. */
export interface BlendSpec {
  /** One for each source, with which its weight can be changed. */
  names: readonly string[]
  weights: readonly number[]
  /** Draws in an epoch of each source's own order. */
  lengths: readonly number[]
  seed: number
  /** Draws in an epoch of the blend: by default as many as its sources have together. */
  epoch?: number
  /** Consecutive draws that come from one source: 1, or the batch size. Epochs are rounded up to whole groups. */
  group?: number
  /** How sources alternate; shuffled unless said. */
  schedule?: ScheduleKind
  /** The corpus of each source, where several make up one: a draw chooses the corpus, then the source. */
  corpora?: readonly string[]
  /** Draws of each source for a weight of 1; 1 unless said. Weights that mean tokens have other ones. */
  scales?: readonly number[]
}

/** Plain data; the larger tables are shared. */
export interface BlendData extends BlendSpec {
  /** Draws in an epoch: a multiple of `group`. */
  length: number
  group: number
  segments: Segment[]
}

export function planBlend(spec: BlendSpec, changes: readonly BlendChange[] = []): BlendData {
  const { weights, lengths, group = 1 } = spec
  const wanted = spec.epoch ?? lengths.reduce((a, b) => a + b, 0)
  const length = Math.ceil(wanted / group) * group
  const data: BlendData = { ...spec, length, group, segments: [] }
  const placed = changes.map(change => ({ ...change, from: Math.ceil(drawOf(data, change.at) / group) }))
  placed.sort((a, b) => a.from - b.from)
  // What was drawn before a change is known from the change itself, as long as none was put in before it.
  let known = placed[0]?.drawn !== undefined
  if (!known) beginSegment(data, 0, weights)
  for (const { from, weights, drawn } of placed) {
    known &&= drawn !== undefined
    beginSegment(data, from, weights, known ? drawn : undefined)
  }
  // Only those of the last: those of earlier segments are hardly ever asked for.
  makeTables(data.segments.at(-1)!.schedule)
  return data
}

function beginSegment(
  data: BlendData,
  from: number,
  weights: readonly number[],
  drawn?: readonly number[],
): void {
  const { lengths, segments } = data
  if (weights.length !== lengths.length)
    throw new DefinitionError('source.blend', `${weights.length} weights for ${lengths.length} sources`)
  weights.forEach((weight, i) => {
    if (weight > 0 && lengths[i] === 0)
      throw new DefinitionError(
        `source.blend.entries[${i}]`,
        'the source is empty; remove it or set weight 0',
      )
  })
  if (drawn !== undefined && (drawn.length !== lengths.length || drawn.reduce((a, b) => a + b) !== from))
    throw new StateError(
      `the draws of the sources before the change of weights at ${from} don't add up to that`,
    )
  const carry = drawn === undefined ? unitsBefore(data, from) : Float64Array.from(drawn)
  const { schedule: kind = 'shuffled', corpora, scales } = data
  const drawing = scales === undefined ? weights : weights.map((weight, i) => weight * scales[i])
  // A change at the very place of another replaces it.
  if (segments.at(-1)?.from === from) segments.pop()
  segments.push({
    from,
    weights,
    carry,
    schedule: planSchedule({ kind, weights: drawing, corpora, from, carry }),
  })
}

/** Units of each source before a unit. */
function unitsBefore({ lengths, segments, seed }: BlendData, unit: number): Float64Array {
  const segment = segments.findLast(({ from }) => from <= unit)
  if (segment === undefined) return new Float64Array(lengths.length)
  const counts = schedule(segment.schedule, seed, lengths.length).counts(unit - segment.from)
  return counts.map((units, i) => segment.carry[i] + units)
}

export class BlendOrder implements Order {
  readonly length: number
  /** Of each segment, once it was asked for. */
  private readonly choices: (Choice | undefined)[] = []
  private readonly pick = { one: 0, before: 0 }

  constructor(
    private readonly data: BlendData,
    readonly sources: readonly SourceOrder[],
  ) {
    this.length = data.length
  }

  changed(
    changes: readonly BlendChange[],
    at: BlendChange['at'],
    weights: readonly number[] | Record<string, number>,
  ): readonly BlendChange[] {
    return changeWeights(this.data, changes, at, weights)
  }

  settled(): BlendChange[] {
    const { segments, weights, group } = this.data
    const [{ from, weights: first }, ...later] = segments
    if (from === 0 && later.length === 0 && first === weights) return []
    return segments.map(({ from, weights, carry }) => ({
      at: from * group,
      weights: [...weights],
      drawn: [...carry],
    }))
  }

  drawnBefore(draw: number): Float64Array {
    const { group } = this.data
    return unitsBefore(this.data, Math.ceil(draw / group)).map(units => units * group)
  }

  draw(epoch: number, position: number, out: Draw): Draw {
    const { group, length, segments } = this.data
    const draw = epoch * length + position
    const unit = Math.floor(draw / group)
    const number = this.segmentOf(unit)
    const segment = segments[number]
    const { one: source, before } = this.choice(number).at(unit - segment.from, this.pick)

    const drawn = (segment.carry[source] + before) * group + (draw - unit * group)
    const order = this.sources[source]
    const sourceEpoch = Math.floor(drawn / order.length)
    out.source = source
    out.row = order.at(sourceEpoch, drawn - sourceEpoch * order.length)
    out.drawn = drawn
    out.epoch = sourceEpoch
    return out
  }

  private choice(segment: number): Choice {
    const { segments, seed } = this.data
    this.choices[segment] ??= schedule(segments[segment].schedule, seed, this.sources.length)
    return this.choices[segment]
  }

  private segmentOf(unit: number): number {
    const { segments } = this.data
    for (let i = segments.length - 1; i >= 0; i--) if (segments[i].from <= unit) return i
    throw new MillraceError(
      `the weights of the blend at draw ${unit * this.data.group} are no longer known: they have changed too often since. ` +
        'Ask a batch for its ids before you change weights many times',
    )
  }
}
