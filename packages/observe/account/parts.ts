/** The parts of a step: ideal, slowed, hand-over, transfer, and supply in four. They always add up to the whole. */
import type { Parts, StepTimes } from '../evidence.js'
import { amount, ratio } from './numbers.js'
import type { MakerTime } from './slices.js'

export const PART_NAMES = [
  ...(['ideal', 'slowed', 'handOver', 'transfer'] as const),
  ...(['running', 'queued', 'blocked', 'noSlot'] as const),
] as const

/** Sums over steps (ms). */
export interface StepSums extends MakerTime {
  count: number
  samples: number
  handOver: number
  transfer: number
  compute: number
}

/** Sums of steps, each with the shares of its supply. */
export function sumSteps(steps: readonly StepTimes[], supply: readonly MakerTime[]): StepSums {
  const sums: StepSums = {
    ...{ count: 0, samples: 0, handOver: 0, transfer: 0, compute: 0 },
    ...{ running: 0, queued: 0, blocked: 0, noSlot: 0 },
  }
  for (const [i, step] of steps.entries()) {
    const waited = amount(step.supply)
    sums.count += countOf(step)
    sums.samples += amount(step.samples)
    sums.handOver += amount(step.handOver)
    sums.transfer += amount(step.transfer)
    sums.compute += amount(step.compute)
    sums.running += waited * supply[i].running
    sums.queued += waited * supply[i].queued
    sums.blocked += waited * supply[i].blocked
    sums.noSlot += waited * supply[i].noSlot
  }
  return sums
}

export function countOf(step: StepTimes): number {
  return Math.max(1, amount(step.count))
}

export function waitsOf({ handOver, transfer, running, queued, blocked, noSlot }: StepSums): number {
  return handOver + transfer + running + queued + blocked + noSlot
}

/**
 * The parts as shares. Where the ideal step is longer than what the trainer did between got and the next request, its GPU computed while it waited:
 * that much of the waiting cost nothing.
 */
export function partsOf(sums: StepSums, idealMs: number): Parts {
  const waits = waitsOf(sums)
  const whole = waits + sums.compute
  if (!(whole > 0))
    return {
      ...{ ideal: 1, slowed: 0, handOver: 0, transfer: 0 },
      ...{ running: 0, queued: 0, blocked: 0, noSlot: 0 },
    }
  const ideal = Math.min(amount(idealMs) * sums.count, whole)
  const slowed = Math.max(0, sums.compute - ideal)
  // What is left is for the waits, whatever they were: so the parts can't but add up.
  const factor = ratio(Math.max(0, whole - ideal - slowed), waits)
  const parts: Parts = {
    ideal,
    slowed,
    handOver: sums.handOver * factor,
    transfer: sums.transfer * factor,
    running: sums.running * factor,
    queued: sums.queued * factor,
    blocked: sums.blocked * factor,
    noSlot: sums.noSlot * factor,
  }
  const sum = PART_NAMES.reduce((total, name) => total + parts[name], 0)
  for (const name of PART_NAMES) parts[name] /= sum
  return parts
}
