/**
 * Runs that the page is shown: simulated, then accounted and judged by the same code as real ones, so that all figures of a
 * scene agree with each other.
 */

import type { Workload } from '../../../../../test/support/simulated/simulate.js'
import type { Ended, Hello, HistoryPoint, Now } from '../../../dashboard/view.js'
import type { TunerDecision } from '../../../live/record.js'
import { predict } from '../../../model/predict.js'
import { definition, FEED, FIELDS } from './feed.js'
import { type Looked, look, makersOf, pointsOf, recordOf, START, type Stage } from './looks.js'

/** All that a server tells of a run. */
export interface Scene {
  hello: Hello
  history: HistoryPoint[]
  /** Seconds that come one after the other, again and again. */
  nows: Now[]
  ended: Ended | null
  looked: Looked | null
}

/** ResNet-18 on an H200, pictures of 110 kB, on a machine with 16 cores; with 64, where there are four ranks. */
const RUN: Workload = {
  workers: 4,
  depth: 8,
  claims: 8,
  rows: 256,
  cores: 16,
  steps: 600,
  cpu: 0.42,
  blocked: 0.02,
  step: 18.6,
  handOver: 0.1,
  spread: 0.2,
}

export function hello(more: Partial<Hello> = {}, world = 1): Hello {
  return {
    version: '0.1.0',
    host: 'node-17',
    dollarsPerHour: 3,
    run: { trainer: 41823, engine: 41850, ring: 0, feed: FEED, world, age: 4210 },
    others: [],
    missing: null,
    definition,
    fields: FIELDS,
    ...more,
  }
}

interface Given {
  decisions?: TunerDecision[]
  tuner?: string
  bad?: Now['bad']
  /** The past before the last minutes: other settings, oldest first. */
  past?: Stage[]
}

/** A run whose ranks were looked at; the first is the one that loses most. */
export function sceneOf(ranks: Looked[], given: Given = {}): Scene {
  const { decisions = [], bad = [], past = [] } = given
  const worst = ranks.reduce((most, one) => (one.accounting.lost > most.accounting.lost ? one : most))
  const history = pointsOf([...past, { looked: worst, until: Infinity }], ranks.length, decisions)
  const nows = Array.from(
    { length: 20 },
    (_, second): Now => ({
      ranks: ranks.map((looked, rank) =>
        recordOf(looked, { rank, world: ranks.length, second, bad: bad.length }),
      ),
      worst: {
        rank: ranks.indexOf(worst),
        accounting: worst.accounting,
        diagnosis: worst.diagnosis,
        evidence: { facts: worst.evidence.facts, fit: worst.fit },
      },
      told: null,
      makers: makersOf(worst, second),
      tuner: given.tuner === undefined ? null : { state: given.tuner, decisions },
      bad,
    }),
  )
  return {
    hello: hello({}, ranks.length),
    history,
    nows,
    ended: null,
    looked: worst,
  }
}

const healthy = () => sceneOf([look({ ...RUN, workers: 7 })])

const underParallel = () =>
  sceneOf(
    [0.4, 0.405, 0.42, 0.4].map((cpu, seed) =>
      look({ ...RUN, cores: 64, cpu: cpu * (seed === 2 ? 1.12 : 1), seed: seed + 1 }),
    ),
  )

/** Twice the workers were tried, as `millrace diagnose` does: that tells latency from bandwidth. */
const ioLatency = () => {
  const run = { ...RUN, workers: 6, cpu: 0.05, blocked: 0.7 }
  const [before, after] = [look(run), look({ ...run, workers: 12 })].map(
    ({ accounting }) => accounting.samplesPerSecond,
  )
  const doubled = { workers: 6, doubledWorkers: 12, before: [before], after: [after] }
  return sceneOf([look(run, { probes: { doubled } })])
}

const cpuSaturated = () => sceneOf([look({ ...RUN, workers: 6, cores: 4, stepCpu: 0.3 })])

/** What the simulator calls hand-over is the copy to the device here. */
const transferBound = () => sceneOf([look({ ...RUN, workers: 9, handOver: 8.5 }, { copies: true })])

/** From 2 workers, step by step: what was predicted is the model's, what was measured is the simulator's. */
const tunerAtWork = () => {
  const counts = [2, 5, 7]
  const stages = counts.map(workers => look({ ...RUN, workers }))
  const decisions: TunerDecision[] = []
  const minutes = [38, 21]
  stages.slice(1).forEach((after, i) => {
    const before = stages[i]
    const [from, to] = [counts[i], counts[i + 1]]
    const { gain, interval } = predict(before.fit, { workers: to })
    const measured = after.accounting.samplesPerSecond / before.accounting.samplesPerSecond - 1
    const time = START - minutes[i] * 60_000
    const about = { ring: 0, feed: FEED, knob: 'workers' as const, from, to, lost: before.accounting.lost }
    const expected = { gain, interval }
    decisions.push(
      {
        ...about,
        at: time,
        time,
        event: 'tried',
        predicted: expected,
        measured: null,
        reason: `${from} workers lose ${Math.round(100 * before.accounting.lost)} %: ${before.diagnosis.evidence[0]}`,
      },
      {
        ...about,
        at: time + 40_000,
        time: time + 40_000,
        event: 'kept',
        predicted: expected,
        measured: { gain: measured, interval: [measured - 0.03, measured + 0.03] },
        reason: `Checked four times in turns: ${to} workers are faster than ${from} by ${Math.round(100 * measured)} %`,
      },
    )
  })
  const time = START - 4 * 60_000
  decisions.push({
    at: time,
    time,
    ring: 0,
    feed: FEED,
    event: 'frozen',
    knob: null,
    from: null,
    to: null,
    predicted: null,
    measured: null,
    lost: stages[2].accounting.lost,
    reason: 'Less than 2 % is lost: nothing is tried while it stays so',
  })
  const decided = { ring: 0, feed: FEED, knob: 'decode' as const, from: 20, predicted: null, lost: 0.06 }
  const tried = START - 14 * 60_000
  decisions.push(
    {
      ...decided,
      at: tried,
      time: tried,
      event: 'tried',
      to: 0,
      measured: null,
      reason: 'The trainer loses 6 % (under-parallel): what decoding on the GPU brings can only be measured.',
    },
    {
      ...decided,
      at: tried + 20_000,
      time: tried + 20_000,
      event: 'reverted',
      to: 0,
      measured: { gain: -0.08, interval: [-0.1, -0.06] },
      reason: 'Not on the GPU: it came −8 % against the CPU.',
    },
  )
  decisions.sort((x, y) => x.time - y.time)
  const [first, second, last] = stages
  return sceneOf([last], {
    decisions,
    tuner: 'At rest: less than 2 % is lost. It looks again when the work changes.',
    past: [
      { looked: first, until: START - minutes[0] * 60_000 },
      { looked: second, until: START - minutes[1] * 60_000 },
    ],
  })
}

/** While it checks: the newest decision is open. */
const tunerChecks = () => {
  const before = look({ ...RUN, workers: 2 })
  const to = before.diagnosis.remedies[0].set?.workers ?? 7
  const { gain, interval } = predict(before.fit, { workers: to })
  const time = START - 6000
  const tried: TunerDecision = {
    at: time,
    time,
    ring: 0,
    feed: FEED,
    event: 'tried',
    knob: 'workers',
    from: 2,
    to,
    measured: null,
    lost: before.accounting.lost,
    predicted: { gain, interval },
    reason: `2 workers lose ${Math.round(100 * before.accounting.lost)} %, and cores are free`,
  }
  return sceneOf([before], {
    decisions: [tried],
    tuner: `Trying ${to} workers in place of 2: checked in turns for 6 s.`,
  })
}

const starting = (): Scene => ({
  hello: hello(),
  history: [],
  nows: [{ ranks: [], worst: null, told: null, makers: [], tuner: null, bad: [] }],
  ended: null,
  looked: null,
})

const nothing = (): Scene => ({ ...starting(), hello: hello({ run: null, definition: null, fields: [] }) })

/** Several runs, of which none is chosen. */
const choose = (): Scene => {
  const run = { ...hello().run!, age: 4210 }
  const others = [
    run,
    { ...run, trainer: 51200, engine: 51210, feed: 'laion.feed.json', world: 8, age: 95 },
    { ...run, trainer: 52877, engine: 52877, feed: 'cats.json', age: 12 },
  ]
  return { ...starting(), hello: hello({ run: null, others, definition: null, fields: [] }), nows: [] }
}

/** The rank that loses most is on another node: only its log is here. */
const told = (): Scene => {
  const scene = underParallel()
  const nows = scene.nows.map((now): Now => {
    const { rank, accounting } = now.worst!
    const { host, why } = now.ranks[rank]
    const { lost, stepMs, parts } = accounting
    return { ...now, worst: null, told: { rank, host, seconds: 15, lost, stepMs, parts, why }, makers: [] }
  })
  return { ...scene, nows }
}

/** A trainer that ends no step, with batches that lie ready (SIGSTOP, a checkpoint). */
const still = (): Scene => {
  const scene = healthy()
  const nows = scene.nows.map(now => ({
    ...now,
    ranks: now.ranks.map(rank => ({
      ...rank,
      steps: 0,
      samples: 0,
      lost: null,
      parts: null,
      stepMs: null,
      time: rank.time + 25_000,
      slots: { ready: 7, filling: 0, held: 1 },
    })),
  }))
  return { ...scene, nows }
}

const ended = (): Scene => ({
  ...underParallel(),
  ended: { reason: 'the trainer ended after 90 epochs', time: START - 120_000 },
})

export const SCENES = {
  healthy,
  underParallel,
  ioLatency,
  cpuSaturated,
  transferBound,
  tunerAtWork,
  tunerChecks,
  starting,
  nothing,
  choose,
  told,
  still,
  ended,
}
export type SceneName = keyof typeof SCENES
