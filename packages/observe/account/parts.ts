/** The parts of a step: ideal, slowed, hand-over, transfer, and supply in four. They always add up to the whole. */
import type { Parts, StepTimes } from '../evidence.js'
import { amount, ratio } from './numbers.js'
import type { MakerTime } from './slices.js'

/** A part of a step, for whatever shows it: text, pages, and clients in Python, which get lines made of these words. */
export interface Part {
  /** In a list; `alone`: where the trainer's thread makes the batches itself. */
  name: string
  alone?: string
  /** Within a bar. */
  word: string
  /** What the trainer does meanwhile: `lost 5 %, mostly to taking finished batches`. */
  help: string
  /** On a light page, and on a dark one. */
  colour: readonly [light: string, dark: string]
}

/** In the order in which a bar shows them: neighbours differ in lightness. */
export const PARTS: Readonly<Record<keyof Parts, Part>> = {
  ideal: { name: 'training', word: 'training', help: 'training', colour: ['#2b6e68', '#4aa89d'] },
  slowed: {
    name: 'slowed by workers',
    alone: 'slowed',
    word: 'slowed',
    help: 'training that the workers slow down',
    colour: ['#d3c5ea', '#d3c5ea'],
  },
  handOver: {
    name: 'hand-over',
    word: 'hand-over',
    help: 'taking finished batches',
    colour: ['#8672bf', '#8672bf'],
  },
  transfer: {
    name: 'copy to device',
    word: 'copy',
    help: 'copying batches to the device',
    colour: ['#a5cfee', '#a5cfee'],
  },
  running: {
    name: 'workers running',
    alone: 'making batches',
    word: 'making batches',
    help: 'waiting for workers that are busy with a batch',
    colour: ['#e49a2c', '#d98f24'],
  },
  queued: {
    name: 'workers queued for a core',
    alone: 'queued for a core',
    word: 'no core',
    help: 'waiting for workers that wait for a core',
    colour: ['#8c2f39', '#b04552'],
  },
  blocked: {
    name: 'workers blocked',
    alone: 'blocked',
    word: 'storage',
    help: 'waiting for workers that wait for storage or a function',
    colour: ['#f4d984', '#f4d984'],
  },
  noSlot: {
    name: 'workers without a slot',
    word: 'no slot',
    help: 'waiting for workers that have no free slot',
    colour: ['#b9c0bb', '#707a76'],
  },
}

export const PART_NAMES = Object.keys(PARTS) as (keyof Parts)[]

/** The name of a part. Without workers, the trainer's thread makes batches itself. */
export function partName(part: keyof Parts, workers?: number): string {
  const { name, alone = name } = PARTS[part]
  return workers === 0 ? alone : name
}

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
    count: 0,
    samples: 0,
    handOver: 0,
    transfer: 0,
    compute: 0,
    running: 0,
    queued: 0,
    blocked: 0,
    noSlot: 0,
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
      ideal: 1,
      slowed: 0,
      handOver: 0,
      transfer: 0,
      running: 0,
      queued: 0,
      blocked: 0,
      noSlot: 0,
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
