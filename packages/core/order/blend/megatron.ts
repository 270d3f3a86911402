/**
 * The order of Megatron's BlendedDataset: at each place the source that lags most behind its weight, of several the first, in 64-bit floats
 * as there, so that ties fall as they do there. How often each source was drawn is kept for every 4,096th position, so that any other is
 * found by a short walk. Sources are drawn from their beginning and once: their rows are in Megatron's order already.
 */
import { DefinitionError, MillraceError } from '../../basics/errors.js'
import { normalized } from '../../basics/numpy.js'
import type { Draw, Order } from '../order.js'
import type { SourceOrder } from '../single.js'

/** Positions between two that are kept. */
const STRIDE = 4096

/** Plain data; the table is shared. */
export interface MegatronBlendData {
  /** Positions, and those of them that are delivered. */
  size: number
  length: number
  shares: number[]
  /** Samples that each source has, where all of them are drawn: a source that is spent is passed over. */
  limits?: number[]
  /** Draws of each source before each STRIDE-th position. */
  before: Float64Array
}

export interface MegatronBlendSpec {
  names: readonly string[]
  /** Absent: by the number of samples of each. */
  weights?: readonly number[]
  /** Samples that are wanted; absent: all. */
  samples?: number
  /** Samples that each source has. */
  counts: readonly number[]
  /** By what share each was built larger than needed. */
  surplus: number
}

export function planMegatronBlend(spec: MegatronBlendSpec): MegatronBlendData {
  const { weights, samples, counts } = spec
  const all = counts.reduce((a, b) => a + b, 0)
  if (weights === undefined) {
    if (samples === undefined) {
      const shares = counts.map(count => count / all)
      return walk(spec, { size: all, length: all, shares, limits: [...counts] })
    }
    const size = Math.min(samples, all)
    return walk(spec, { size, length: size, shares: normalized(counts) })
  }
  if (samples === undefined)
    throw new DefinitionError(
      'order.megatron.samples',
      'a blend with weights needs it, as in Megatron: how many samples the whole run has (global batch · iterations)',
    )
  const size = normalized(weights).reduce((sum, weight) => sum + Math.ceil(samples * weight), 0)
  // Megatron normalises the weights twice, which may change their last bits.
  return walk(spec, { size, length: samples, shares: normalized(normalized(weights)) })
}

/** Goes through all positions once, and keeps what was drawn before some of them. */
function walk(spec: MegatronBlendSpec, plan: Omit<MegatronBlendData, 'before'>): MegatronBlendData {
  const { counts, names, surplus } = spec
  const sources = counts.length
  const kept = Math.ceil(plan.size / STRIDE)
  const data = { ...plan, before: new Float64Array(new SharedArrayBuffer(8 * kept * sources)) }
  const drawn = new Float64Array(sources)
  for (let position = 0; position < plan.size; position++) {
    if (position % STRIDE === 0) data.before.set(drawn, (position / STRIDE) * sources)
    drawn[next(data, position, drawn)]++
  }
  const short = counts.findIndex((count, i) => drawn[i] > count)
  if (short >= 0)
    throw new DefinitionError(
      'order.megatron',
      `the blend draws ${drawn[short]} samples of "${names[short]}", which was built with ${counts[short]}: Megatron refuses this, too. ` +
        `Raise "surplus" (${surplus}), which is mid_level_dataset_surplus there, to what the run had`,
    )
  return data
}

/** The source of a position, of what was drawn before it. */
function next({ shares, limits }: MegatronBlendData, position: number, drawn: Float64Array): number {
  const place = Math.max(position, 1)
  let most = -Infinity
  let source = 0
  for (let i = 0; i < shares.length; i++) {
    if (limits !== undefined && drawn[i] >= limits[i]) continue
    const behind = shares[i] * place - drawn[i]
    if (behind > most) {
      most = behind
      source = i
    }
  }
  return source
}

export class MegatronBlendOrder implements Order {
  readonly length: number
  /** The stretches used last, by number modulo their number. */
  private readonly kept: (Stretch | undefined)[] = [undefined, undefined, undefined, undefined]

  constructor(
    private readonly data: MegatronBlendData,
    readonly sources: readonly SourceOrder[],
  ) {
    this.length = data.length
  }

  draw(_epoch: number, position: number, out: Draw): Draw {
    const number = Math.floor(position / STRIDE)
    const stretch = this.stretch(number)
    const i = position - number * STRIDE
    out.source = stretch.labels[i]
    out.row = out.drawn = stretch.ranks[i]
    out.epoch = 0
    out.epoch = 0
    return out
  }

  changed(): never {
    throw new MillraceError(
      "Megatron's order has the weights that the run began with: they can't be changed on the way. " +
        'To go on with others, open the feed with another order and without the state',
    )
  }

  drawnBefore(draw: number): Float64Array {
    const drawn = new Float64Array(this.sources.length)
    const number = Math.floor(Math.min(draw, this.data.size - 1) / STRIDE)
    drawn.set(this.data.before.subarray(number * drawn.length, (number + 1) * drawn.length))
    for (let position = number * STRIDE; position < draw; position++)
      drawn[next(this.data, position, drawn)]++
    return drawn
  }

  private stretch(number: number): Stretch {
    const way = number % this.kept.length
    const kept = this.kept[way]
    if (kept?.number === number) return kept
    return (this.kept[way] = new Stretch(this.data, number))
  }
}

/** The sources of STRIDE positions, and how often each was drawn before. */
class Stretch {
  readonly labels = new Uint16Array(STRIDE)
  readonly ranks = new Float64Array(STRIDE)

  constructor(
    data: MegatronBlendData,
    readonly number: number,
  ) {
    const sources = data.shares.length
    const drawn = data.before.slice(number * sources, (number + 1) * sources)
    const begin = number * STRIDE
    for (let i = 0; i < Math.min(STRIDE, data.size - begin); i++) {
      const source = next(data, begin + i, drawn)
      this.labels[i] = source
      this.ranks[i] = drawn[source]++
    }
  }
}
