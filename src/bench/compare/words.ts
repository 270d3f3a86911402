/** The comparison in one sentence. */
import type { Parts } from '../../observe/evidence.js'
import { count, ms } from '../../observe/verdict/units.js'
import type { Estimate } from '../statistics.js'
import { mainCause, type PartChange } from './blocks.js'
import type { Kind, Pair } from './pair.js'

/** What the trainer does, or waits for, in each part. */
export const PART_NAMES: Record<keyof Parts | 'step', string> = {
  step: 'a step',
  ideal: 'training',
  slowed: 'slowed',
  handOver: 'hand-over',
  transfer: 'copy to device',
  running: 'waiting while workers ran',
  queued: 'waiting while workers queued for a core',
  blocked: 'waiting while workers were blocked',
  noSlot: 'waiting while workers had no slot',
}

export function conclusionOf(kind: Kind, pairs: readonly Pair[]): string {
  const [{ name, comparison, a, b }, ...others] = pairs
  const { rate, step } = comparison
  const about = kind === 'bench' ? ` with ${name}` : ''
  const rates = `${figure(rate.a)} and ${figure(rate.b)} ${rate.of}/s`
  if (!rate.significant)
    return `No difference that is more than noise${about}: ${rates}${noise(rate.ratio)}.${othersOf(others)}`
  const faster = rate.ratio.value > 1
  const cause = mainCause(comparison)
  const why = cause === undefined ? '' : `; ${causeText(cause, step)}`
  const verdict =
    a.verdict !== b.verdict && a.verdict !== null && b.verdict !== null
      ? ` The verdict was ${a.verdict}, and is ${b.verdict}.`
      : ''
  return `B is ${gain(rate.ratio)} ${faster ? 'faster' : 'slower'}${about}: ${rates}${why}.${verdict}${othersOf(others)}`
}

function causeText({ part, a, b }: PartChange, step: PartChange): string {
  return `a step takes ${ms(step.b)} in place of ${ms(step.a)}, most of it by ${PART_NAMES[part]}, ${ms(a)} before and ${ms(b)} now`
}

/** `12 % (±3)`. */
function gain({ value, interval }: Estimate): string {
  const half = interval === null ? '' : ` (±${Math.max(1, Math.round(50 * (interval[1] - interval[0])))})`
  return `${Math.abs(Math.round(100 * (value - 1)))} %${half}`
}

function noise({ interval }: Estimate): string {
  if (interval === null) return ', and one block each says nothing of the noise'
  return `, the noise is ±${Math.round(50 * (interval[1] - interval[0]))} %`
}

function othersOf(others: readonly Pair[]): string {
  const told = others.filter(({ comparison }) => comparison.rate.significant)
  if (told.length === 0) return ''
  const [up, down] = [1, -1].map(sign =>
    told
      .filter(({ comparison }) => Math.sign(comparison.rate.ratio.value - 1) === sign)
      .map(({ name }) => name),
  )
  const list = [
    ...(up.length > 0 ? [`faster: ${up.join(', ')}`] : []),
    ...(down.length > 0 ? [`slower: ${down.join(', ')}`] : []),
  ]
  return ` Also ${list.join('; ')}.`
}

function figure(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(3))) : count(value)
}
