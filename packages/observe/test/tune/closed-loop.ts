/**
 * Drives a controller against a computed run, and compares: with the run left as it was set at first, and with the best settings
 * that a grid has. All see the same machine, which gets slower and faster at the same moments.
 */

import { Plant, type PlantSetting, type PlantWorkload } from '../../../../test/support/simulated/plant.js'
import type { Knob } from '../../../core/deliver/ring-tuner.js'
import type { Evidence, MakerSlice } from '../../evidence.js'
import type { TunerDecision } from '../../live/record.js'

/** As packages/observe/tune/seen.ts has it. */
export interface Seen {
  ring: number
  feed: string
  evidence: Evidence
  room: {
    workers: number
    depth: number
    claim: { rows: number; least: number; most: number } | null
    freeBytes: number
    workerBytes: number
    decoder?: number
  }
}

export interface Look {
  set: { ring: number; knob: Knob; value: number; found?: string }[]
  decisions: TunerDecision[]
  wake: number
}

/** What is driven: packages/observe/tune/tuner.ts is one. */
export interface Controller {
  look(now: number, see: (from: number, full: boolean) => Seen[]): Look
}

export interface Scenario {
  name: string
  workload: PlantWorkload
  /** Rows of a claim at first, the fewest and the most. */
  claim: { rows: number; least: number; most: number }
  /** What happens outside, at which moments (ms). */
  events?: { at: number; change: Partial<Omit<PlantWorkload, 'ranks' | 'rows'>> }[]
  /** It is open who decodes: what the work is while the CPU decodes so many twentieths of the images. */
  decoders?: (twentieths: number) => Partial<Omit<PlantWorkload, 'ranks' | 'rows'>>
  /** The trainer never opens another ring, whoever is to decode. */
  never?: true
  /** Most workers of the grid: with more, others on the machine would get less than their share. */
  mostWorkers?: number
}

export interface ClosedRun {
  /** Samples in each second. */
  samples: number[]
  stepsPerSecond: number
  decisions: TunerDecision[]
  /** When something was set (ms), and to what. */
  settings: { at: number; setting: PlantSetting }[]
  final: PlantSetting
  /** Who decodes at the end, in twentieths for the CPU, and why, where that was found. */
  decoder: { twentieths: number; found?: string }
  /** Cores that makers used in the last 30 s. */
  makerCores: number
}

/** The first look (ms), as of an engine. */
const FIRST_LOOK = 1000
/** So long a trainer takes to open another ring (ms), when another is to decode. */
const ANOTHER_RING = 700
/** What a worker takes, and what more slots may take (bytes), where the workload has no limit. */
const WORKER_BYTES = 48 * 2 ** 20
const FREE_BYTES = 32e9
/** Most workers and depth that may be set. */
const MOST_WORKERS = { perCore: 8, least: 32 }
export const MOST_DEPTH = 32
/** Looks that windows may begin at are remembered so long (ms). */
const MARKS = 45_000

/** A run of so many seconds; without a controller it stays as it is set. */
export function closedLoop(
  { workload, events = [], claim, decoders, never }: Scenario,
  start: PlantSetting,
  seconds: number,
  seed: number,
  controller?: Controller,
): ClosedRun {
  const plant = new Plant(workload, start, seed)
  const run: ClosedRun = {
    samples: [],
    decisions: [],
    settings: [{ at: 0, setting: start }],
    stepsPerSecond: 0,
    final: start,
    makerCores: 0,
    decoder: { twentieths: 20 },
  }
  const todo = [...events].sort((a, b) => a.at - b.at)
  const marks = [0]
  /** What was seen in this look, from each moment on: asking again is free. */
  const seen = new Map<number, Seen[]>()
  let wake = FIRST_LOOK
  let counted = 0
  let changing: { at: number; twentieths: number } | undefined
  for (let second = 1; second <= seconds; second++) {
    const end = second * 1000
    while (plant.now < end - 1e-6) {
      const next = Math.min(end, todo[0]?.at ?? Infinity, controller ? wake : Infinity)
      plant.advance(Math.max(0, next - plant.now))
      while (todo.length > 0 && todo[0].at <= plant.now + 1e-6) plant.disturb(todo.shift()!.change)
      if (controller && wake <= plant.now + 1e-6) wake = look(controller)
    }
    run.samples.push(plant.at(end).samples - counted)
    counted = plant.at(end).samples
  }
  const last = Math.max(0, plant.now - 30_000)
  run.makerCores = (plant.at(plant.now).engine - plant.at(last).engine) / (plant.now - last)
  run.final = plant.setting
  run.stepsPerSecond = plant.steps / seconds
  return run

  function look(controller: Controller): number {
    const { now } = plant
    if (changing && changing.at <= now) run.decoder.twentieths = changing.twentieths
    marks.push(now)
    while (marks.length > 2 && marks[1] < now - MARKS) marks.shift()
    seen.clear()
    const { set, decisions, wake } = controller.look(now, see)
    run.decisions.push(...decisions)
    for (const { knob, value, found } of set) {
      if (knob === 'workers') plant.set({ workers: value })
      else if (knob === 'depth') plant.set({ depth: Math.min(MOST_DEPTH, value) })
      else if (knob === 'claim') plant.set({ claimRows: value })
      else if (knob === 'ahead') plant.set({ ahead: value })
      else if (knob === 'decode' && decoders) decodeFrom(now + ANOTHER_RING, value, found)
      else throw new Error(`a computed run has no knob ${knob}`)
    }
    if (set.length > 0) run.settings.push({ at: now, setting: { ...plant.setting } })
    return Math.max(now + 20, wake)
  }

  /** The trainer changes to another ring in a moment. */
  function decodeFrom(at: number, twentieths: number, found: string | undefined): void {
    if (found !== undefined) run.decoder.found = found
    if (never || twentieths === run.decoder.twentieths) return
    todo.push({ at, change: decoders!(twentieths) })
    todo.sort((a, b) => a.at - b.at)
    changing = { at, twentieths }
  }

  /** Windows begin at looks, as those of an engine. */
  function see(from: number, full: boolean): Seen[] {
    const begin = marks.findLast(at => at <= from + 1) ?? 0
    if (plant.now - begin < 1) return []
    if (!seen.has(begin)) seen.set(begin, seeAll(begin))
    return full ? seen.get(begin)! : seen.get(begin)!.map(withoutClaims)
  }

  function seeAll(begin: number): Seen[] {
    const { cores, ranks = 1, memoryBytes = FREE_BYTES } = plant.workload
    return Array.from({ length: ranks }, (_, rank) => {
      const evidence = plant.evidence(begin, plant.now, rank)
      const { facts } = evidence
      const room = {
        workers: Math.max(MOST_WORKERS.least, MOST_WORKERS.perCore * cores),
        depth: MOST_DEPTH,
        claim: { ...claim, rows: plant.setting.claimRows },
        freeBytes: Math.max(0, memoryBytes - ranks * facts.depth * facts.slotBytes),
        workerBytes: WORKER_BYTES,
        ...(decoders && { decoder: run.decoder.twentieths }),
      }
      return {
        ring: rank,
        feed: 'computed',
        evidence: { ...evidence, makers: joined(evidence.makers) },
        room,
      }
    })
  }
}

/** Single claims are there where they are asked for. */
function withoutClaims(one: Seen): Seen {
  const { claims: _, ...evidence } = one.evidence
  return { ...one, evidence }
}

/** An engine looks at its makers' counters: one slice for each maker. */
function joined(slices: readonly MakerSlice[]): MakerSlice[] {
  const makers = new Map<number, MakerSlice>()
  for (const slice of slices) {
    const one = makers.get(slice.maker)
    if (one === undefined) {
      makers.set(slice.maker, { ...slice, work: { ...slice.work } })
      continue
    }
    one.from = Math.min(one.from, slice.from)
    one.to = Math.max(one.to, slice.to)
    one.work.read += slice.work.read
    one.work.decode += slice.work.decode
    one.cpu = one.cpu === null || slice.cpu === null ? null : one.cpu + slice.cpu
    one.delay = one.delay === null || slice.delay === null ? null : one.delay + slice.delay
    for (const name of ['wait', 'idle', 'bytes', 'rows', 'claims', 'reads'] as const) one[name] += slice[name]
  }
  return [...makers.values()]
}

/** Samples/s of some seconds of a run. */
export function rateOf({ samples }: ClosedRun, from: number, to = samples.length): number {
  return samples.slice(from, to).reduce((sum, one) => sum + one, 0) / (to - from)
}

export interface Worst {
  /** Rate / rate of the run that was left as it began, where that is least. */
  ratio: number
  /** From when on, and how long the window is (s). */
  at: number
  window: number
}

/** The worst moments beside the run that was left alone: over windows of one check, and of enough steps to count. */
export function worstBeside(run: ClosedRun, alone: ClosedRun): Worst {
  const steps = 25 / Math.max(Math.min(run.stepsPerSecond, alone.stepsPerSecond), 1e-3)
  const window = Math.ceil(Math.max(10, longestCheck(run.decisions), steps))
  const worst: Worst = { ratio: Infinity, at: 0, window }
  for (let at = 0; at + window <= run.samples.length; at++) {
    const ratio = rateOf(run, at, at + window) / Math.max(rateOf(alone, at, at + window), 1e-9)
    if (ratio < worst.ratio) Object.assign(worst, { ratio, at })
  }
  return worst
}

/** From a try to its end (s). */
function longestCheck(decisions: readonly TunerDecision[]): number {
  let longest = 0
  let tried = Number.NaN
  for (const { event, at } of decisions) {
    if (event === 'tried') tried = at
    else if (event === 'kept' || event === 'reverted') longest = Math.max(longest, (at - tried) / 1000)
  }
  return longest
}

/** How often something was tried, and kept, in a time (s). */
export function changesIn(
  { decisions }: ClosedRun,
  from: number,
  to: number,
): { tried: number; kept: number } {
  const count = (event: TunerDecision['event']) =>
    decisions.filter(one => one.event === event && one.at >= from * 1000 && one.at < to * 1000).length
  return { tried: count('tried'), kept: count('kept') }
}
