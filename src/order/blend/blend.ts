/**
 * A blend of several sources, with random access. The *units* of a blend are its draws, counted through all epochs
 * (epoch · length + position), or groups of draws when each batch comes from one source. Units are cut into
 * blocks of 1,024; `apportion.ts` says how many of a block belong to each source, and how many did before it; inside
 * the block the sources are shuffled. So the source of any draw, and how many draws of that source came before
 * it, are known without walking. The k-th draw of a source of n rows is draw k mod n of its own epoch ⌊k/n⌋.
 *
 * Weights may change at any unit: a *segment* begins there, with blocks of its own, and goes on with the draws
 * that its sources had made until then. A change that says how many those were needs no change before it: so a state
 * keeps only the changes that still matter, however many there were.
 */

import { DefinitionError, MillraceError, nearest, StateError } from '../../basics/errors.js'
import { hashText, Random } from '../../basics/random.js'
import type { Draw, Order } from '../order.js'
import { shuffle } from '../permutation.js'
import type { SourceOrder } from '../single.js'
import { BLOCK, BLOCKS, quantise, scheduleExtras } from './apportion.js'

/** New weights from a place on: a draw counted through all epochs, or a position in an epoch. */
export interface BlendChange {
  at: number | { epoch: number; position: number }
  weights: number[]
  /** Units of each source before it. Where it is left out, it follows from the changes before. */
  drawn?: number[]
}

/** A stretch of units with the same weights. */
interface Segment {
  /** Its first unit. */
  from: number
  weights: readonly number[]
  /** Units of each source before it. */
  carry: Float64Array
  /** Units of each source in a round of 2^20. */
  shares: Uint32Array
  /** Extra units of each source before each block of a round; made when they are first needed. */
  extras?: Uint16Array
}

/** Digits of a weight that count: more than the 2^20 draws of a round can tell apart. */
const DIGITS = 9

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
}

/** Plain data; the larger tables are shared. */
export interface BlendData extends BlendSpec {
  /** Draws in an epoch: a multiple of `group`. */
  length: number
  group: number
  segments: Segment[]
}

const BLEND_KEY = hashText('blend')

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
  // Here, so that threads share it; those of earlier segments are hardly ever asked for.
  extrasOf(data.segments.at(-1)!)
  return data
}

/** Those of some changes that matter from a draw on. */
export function neededChanges(changes: readonly BlendChange[], draw: number): BlendChange[] {
  const first = changes.findLastIndex(({ at, drawn }) => drawn !== undefined && (at as number) <= draw)
  return changes.slice(Math.max(0, first))
}

/**
 * The changes after one more; the same list where nothing changes. Weights by name leave those of the other sources as
 * they were at that place.
 */
function changeWeights(
  data: BlendData,
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

/** Weights of which some are changed. */
function named(
  data: BlendData,
  present: readonly number[],
  weights: Readonly<Record<string, number>>,
): number[] {
  const changed = [...present]
  for (const [name, weight] of Object.entries(weights)) {
    const i = data.names.indexOf(name)
    if (i < 0) {
      const close = nearest(name, data.names)
      const meant = close === undefined ? `they are ${data.names.join(', ')}` : `did you mean "${close}"?`
      throw new DefinitionError('weights', `the blend has no source "${name}"; ${meant}`)
    }
    changed[i] = weight
  }
  return changed
}

/** A place as a draw counted through all epochs. */
function drawOf({ length }: BlendData, at: BlendChange['at']): number {
  const draw = typeof at === 'number' ? at : at.epoch * length + at.position
  if (!Number.isSafeInteger(draw) || draw < 0)
    throw new DefinitionError('changes', `weights can't change at draw ${draw}`)
  return draw
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
  // A change at the very place of another replaces it.
  if (segments.at(-1)?.from === from) segments.pop()
  segments.push({ from, weights, carry, shares: quantise(weights) })
}

function extrasOf(segment: Segment): Uint16Array {
  segment.extras ??= scheduleExtras(segment.shares)
  return segment.extras
}

/** Units of each source before a unit. */
function unitsBefore(data: BlendData, unit: number): Float64Array {
  const sources = data.lengths.length
  const segment = data.segments.at(-1)
  if (segment === undefined) return new Float64Array(sources)
  const block = Math.floor((unit - segment.from) / BLOCK)
  const counts = Float64Array.from({ length: sources }, (_, source) => beforeBlock(segment, source, block))
  const { labels } = new Block(data.seed, segment, block)
  for (let i = 0; i < unit - segment.from - block * BLOCK; i++) counts[labels[i]]++
  return counts
}

/** Units of a source before a block of a segment. */
function beforeBlock(segment: Segment, source: number, block: number): number {
  const { shares, carry } = segment
  const round = Math.floor(block / BLOCKS)
  const inRound = block - round * BLOCKS
  const share = shares[source]
  const even = Math.floor(share / BLOCKS) * inRound
  return carry[source] + round * share + even + extrasOf(segment)[inRound * shares.length + source]
}

/** The sources of 1,024 units, shuffled, and for each unit how many of its source come before it in the block. */
class Block {
  readonly labels = new Uint16Array(BLOCK)
  readonly ranks = new Uint16Array(BLOCK)

  constructor(
    seed: number,
    readonly segment: Segment,
    readonly block: number,
  ) {
    let filled = 0
    const sources = segment.shares.length
    for (let source = 0; source < sources; source++) {
      const count = beforeBlock(segment, source, block + 1) - beforeBlock(segment, source, block)
      this.labels.fill(source, filled, (filled += count))
    }
    // Keyed by the first unit, which no other block of any segment has.
    shuffle(this.labels, new Random().key(seed, 0, segment.from + block * BLOCK, BLEND_KEY))
    const seen = new Uint16Array(sources)
    for (let i = 0; i < BLOCK; i++) this.ranks[i] = seen[this.labels[i]]++
  }
}

export class BlendOrder implements Order {
  readonly length: number
  /** The blocks used last, by number modulo their number. */
  private readonly kept: (Block | undefined)[] = [undefined, undefined, undefined, undefined]

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

  draw(epoch: number, position: number, out: Draw): Draw {
    const { group, length } = this.data
    const draw = epoch * length + position
    const unit = Math.floor(draw / group)
    const segment = this.segmentOf(unit)
    const inSegment = unit - segment.from
    const number = Math.floor(inSegment / BLOCK)
    const block = this.block(segment, number)
    const inBlock = inSegment - number * BLOCK

    const source = block.labels[inBlock]
    const drawn =
      (beforeBlock(segment, source, number) + block.ranks[inBlock]) * group + (draw - unit * group)
    const order = this.sources[source]
    const sourceEpoch = Math.floor(drawn / order.length)
    out.source = source
    out.row = order.at(sourceEpoch, drawn - sourceEpoch * order.length)
    out.drawn = drawn
    return out
  }

  private segmentOf(unit: number): Segment {
    const { segments } = this.data
    for (let i = segments.length - 1; i >= 0; i--) if (segments[i].from <= unit) return segments[i]
    throw new MillraceError(
      `the weights of the blend at draw ${unit * this.data.group} are no longer known: they have changed too often since. ` +
        'Ask a batch for its ids before you change weights many times',
    )
  }

  private block(segment: Segment, number: number): Block {
    const way = number % this.kept.length
    const kept = this.kept[way]
    if (kept !== undefined && kept.block === number && kept.segment === segment) return kept
    return (this.kept[way] = new Block(this.data.seed, segment, number))
  }
}
