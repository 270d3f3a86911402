/** A simulated run as it is looked at: its account, its diagnosis, and seconds, points and spans of it. */

import { simulate, type Workload } from '../../../../../test/support/simulated/simulate.js'
import { account } from '../../../account/account.js'
import type { HistoryPoint, Now, Timeline } from '../../../dashboard/view.js'
import type { Accounting, Diagnosis, Evidence, Probes, StepTimes } from '../../../evidence.js'
import type { RunRecord, TunerDecision } from '../../../live/record.js'
import { type Fit, fitModel } from '../../../model/fit.js'
import { conclude } from '../../../verdict/judge.js'
import { sentence } from '../../../verdict/words.js'
import { FEED } from './feed.js'

/** When scenes play: pictures of them don't change from day to day. */
export const START = Date.UTC(2026, 0, 15, 14, 5)
const HOUR = 3_600_000
/** How long runs are looked at (s). */
const WINDOW = 15
/** Points of an hour: one for 10 s. */
const EVERY = 10_000

export interface Looked {
  evidence: Evidence
  accounting: Accounting
  diagnosis: Diagnosis
  fit: Fit
  workload: Workload
}

export function look(
  workload: Workload,
  { probes = {}, copies = false }: { probes?: Probes; copies?: boolean } = {},
): Looked {
  const made = simulate({ ...workload, steps: stepsOf(workload) })
  const steps = copies
    ? made.steps.map(step => ({ ...step, transfer: step.handOver - 0.05, handOver: 0.05 }))
    : made.steps
  const device = { name: 'cuda:0', decode: 'cpu' as const }
  const evidence = { ...made, steps, facts: { ...made.facts, device }, probes: { ...made.probes, ...probes } }
  const accounting = account(evidence)
  const diagnosis = conclude(evidence, accounting)
  return { evidence, accounting, diagnosis, fit: fitModel(evidence, accounting), workload }
}

/** Steps of a window of some 15 s, as runs are looked at. */
function stepsOf(workload: Workload): number {
  const few = account(simulate({ ...workload, steps: 200 }))
  return Math.round((1000 * WINDOW) / few.stepMs)
}

const whole = ({ supply, handOver, transfer, compute }: StepTimes) => supply + handOver + transfer + compute

/** The steps of one second of a run; seconds go round. The first steps, which wait for the first batch, are left out. */
function secondOf({ evidence }: Looked, second: number): StepTimes[] {
  const steps = evidence.steps.slice(30)
  const seconds = Math.max(1, Math.floor((steps[steps.length - 1].asked - steps[0].asked) / 1000))
  const from = steps[0].asked + (second % seconds) * 1000
  return steps.filter(({ asked }) => asked >= from && asked < from + 1000)
}

function lostOf({ accounting }: Looked, steps: StepTimes[]): number {
  const all = steps.reduce((sum, step) => sum + whole(step), 0)
  return Math.max(0, 1 - (steps.length * accounting.idealMs) / all)
}

export function recordOf(
  looked: Looked,
  { rank, world, second, bad }: { rank: number; world: number; second: number; bad: number },
): RunRecord {
  const { accounting, diagnosis, evidence, workload } = looked
  const steps = secondOf(looked, second)
  const busy = accounting.parts.ideal + accounting.parts.slowed
  const host = evidence.host!
  return {
    version: 1,
    time: START + second * 1000,
    at: second * 1000,
    seconds: 1,
    host: 'node-17',
    trainer: 41823 + rank,
    engine: 41850 + rank,
    ring: 0,
    feed: FEED,
    rank,
    world,
    step: 48_210 + second * steps.length,
    steps: steps.length,
    samples: steps.length * workload.rows,
    bytes: steps.length * workload.rows * 1.1e5,
    stepMs: steps.reduce((sum, step) => sum + whole(step), 0) / steps.length,
    idealMs: accounting.idealMs,
    idealFrom: accounting.idealFrom,
    lost: lostOf(looked, steps),
    parts: accounting.parts,
    wait: { p50: accounting.wait.p50, p95: accounting.wait.p95, max: accounting.wait.max },
    workers: workload.workers,
    depth: workload.depth,
    slots: slotsOf(looked, second),
    cores: {
      allowed: host.allowed,
      engine: host.engineCores,
      trainer: host.trainerCores,
      // Other ranks are others to this one.
      others: host.otherCores + (world - 1) * (host.engineCores + host.trainerCores),
    },
    memory: { bytes: memoryOf(looked), limit: 64e9 },
    gpu: {
      name: 'NVIDIA H200',
      hasWork: busy,
      smActive: busy * 0.87,
      memoryBytes: 6.5e9,
      watts: 120 + 480 * busy,
    },
    bad,
    why: {
      verdict: diagnosis.verdict,
      second: diagnosis.second,
      sentence: sentence(diagnosis),
      remedy: diagnosis.remedies[0] ?? null,
      lost: diagnosis.lost,
      seconds: 15,
    },
    decisions: [],
  }
}

/** The slots of a run, and what engine and trainer hold beside them. */
function memoryOf({ workload, evidence }: Looked): number {
  return 4.2e9 + workload.depth * evidence.facts.slotBytes + workload.workers * 40e6
}

/** Where nothing is waited for, all slots but one or two are ready; where much is, hardly one. */
function slotsOf({ accounting, workload }: Looked, second: number) {
  const waits = accounting.lost > 0.05
  const ready = waits ? second % 2 : workload.depth - 2 - (second % 2)
  return { ready, filling: workload.depth - 1 - ready, held: 1 }
}

/** A setting that a run had until a moment (ms since 1970). */
export interface Stage {
  looked: Looked
  until: number
}

/** An hour of a run. */
export function pointsOf(stages: Stage[], ranks: number, decisions: TunerDecision[]): HistoryPoint[] {
  const count = HOUR / EVERY
  return Array.from({ length: count }, (_, i): HistoryPoint => {
    const time = START - HOUR + (i + 1) * EVERY - 1000
    const { looked } = stages.find(({ until }) => time < until) ?? stages[stages.length - 1]
    const steps = secondOf(looked, i)
    return {
      time,
      lost: lostOf(looked, steps),
      parts: looked.accounting.parts,
      samplesPerSecond: ranks * steps.length * looked.workload.rows,
      workers: looked.workload.workers,
      depth: looked.workload.depth,
      decisions: decisions.filter(decision => decision.time >= time && decision.time < time + EVERY),
    }
  })
}

/** What each worker did in a second of the window. */
export function makersOf({ evidence, workload }: Looked, second: number): Now['makers'] {
  const from = evidence.from + 1000 + (second % 5) * 1000
  return Array.from({ length: workload.workers }, (_, number) => {
    const slices = evidence.makers.filter(
      ({ maker, from: begun }) => maker === number && begun >= from && begun < from + 1000,
    )
    const time = slices.reduce((sum, slice) => sum + slice.to - slice.from, 0) || 1
    const sum = (of: (slice: (typeof slices)[number]) => number) =>
      slices.reduce((all, slice) => all + of(slice), 0) / time
    // The simulator knows reading and decoding alone; a seventh of the latter is transforming here.
    const decode = sum(({ work }) => work.decode)
    const work = { read: sum(({ work }) => work.read), decode: (decode * 6) / 7, transform: decode / 7 }
    return { number, work, wait: sum(({ wait }) => wait), idle: 0, cpu: sum(({ cpu }) => cpu ?? 0) }
  })
}

/** The last seconds of the window, as spans. */
export function timelineOf({ evidence, workload }: Looked, seconds: number): Timeline {
  // Slices of workers that were not over at the end are not among them.
  const to = evidence.to - 200
  const from = to - seconds * 1000
  type Spans = Timeline['lanes'][number]['spans']
  const consumer: Spans = evidence.steps.flatMap(
    ({ asked, supply, handOver, transfer, compute }, batch): Spans => {
      const parts: [string, number][] = [
        ['wait', supply],
        ['hand', handOver],
        ['copy', transfer],
        ['step', compute],
      ]
      let at = asked - from
      return parts.flatMap(([kind, ms]): Spans => {
        at += ms
        return ms > 0.02 && at > 0 ? [[at - ms, ms, kind, batch, kind === 'wait' ? 0 : workload.rows]] : []
      })
    },
  )
  const workers = Array.from({ length: workload.workers }, (_, number) => {
    const rows = workload.rows / workload.claims
    const spans = evidence.makers
      .filter(({ maker, to: end }) => maker === number && end > from)
      .flatMap(({ from: begun, work, wait, claims }): Spans => {
        const each = Math.max(1, claims)
        const batch = Math.max(
          0,
          evidence.steps.findIndex(({ asked }) => asked > begun),
        )
        let at = begun - from
        return Array.from({ length: each }, (): Spans => {
          const kinds: [string, number][] = [
            ['wait', wait / each],
            ['read', work.read / each],
            ['decode', (work.decode * 6) / 7 / each],
            ['transform', work.decode / 7 / each],
          ]
          return kinds.flatMap(([kind, ms]): Spans => {
            at += ms
            return ms > 0.005 ? [[at - ms, ms, kind, batch, rows]] : []
          })
        }).flat()
      })
    return { name: `worker ${number}`, kind: 'worker' as const, rank: null, spans }
  })
  return { from, to, lanes: [{ name: 'trainer', kind: 'consumer', rank: 0, spans: consumer }, ...workers] }
}
