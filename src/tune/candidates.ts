/**
 * What could be changed, best first: the remedies of the judge that can be set, with what they are predicted to gain. Where these
 * promise too little and yet much is lost, the model may be wrong: then the neighbours of the present setting are tried.
 */
import type { Evidence } from '../observe/evidence.js'
import type { Knob } from '../observe/live/decision.js'
import { type Case, caseOf } from '../observe/verdict/case.js'
import { supplyOf } from '../observe/verdict/causes.js'
import { aheadOfTrainer, moreDepth, moreWorkers } from '../observe/verdict/changes.js'
import type { Candidate, Room, Weighed } from './seen.js'

/** A change is worth trying from this gain on, and from so many standard errors. */
const LEAST_GAIN = 0.03
const SIGMAS = 2
/** Loss of a step in waits for batches, from which neighbours are tried although nothing is promised. */
const MUCH = 0.05
/** Neighbours: this many times the present setting. */
const WIDER = 1.5
/** Makers that queue for cores more than this are too many, not too few. */
const QUEUED = 0.35
/** A trainer that is slowed by so much by its makers, of a step, has too many of them. */
const SLOWED = 0.03

/** `rings` are those that the workers serve at present. */
export function candidatesFor(seen: Weighed, rings: number): Candidate[] {
  const promised = promisedBy(seen, rings)
  const worth = promised.filter(({ predicted }) => predicted !== null && isWorth(predicted))
  worth.sort((a, b) => b.predicted!.gain - a.predicted!.gain)
  const { parts } = seen.accounting
  const supply = supplyOf(parts)
  const tries = supply >= MUCH || parts.slowed >= SLOWED ? neighbours(seen) : []
  return [...worth, ...tries].filter(({ from, to }) => from !== to)
}

function isWorth({ gain, interval }: { gain: number; interval: [number, number] }): boolean {
  const sigma = (interval[1] - interval[0]) / 3.92
  return gain >= Math.max(LEAST_GAIN, SIGMAS * sigma)
}

function promisedBy({ ring, evidence, accounting, room }: Weighed, rings: number): Candidate[] {
  const { facts } = evidence
  const e = alone(evidence, rings, room)
  const c: Case = caseOf(e, accounting)
  const share = e.facts.workers / Math.max(1, facts.workers)
  const remedies = [
    ...(room.workers > 0 ? moreWorkers(c) : []),
    ...(room.depth > 0 ? [...aheadOfTrainer(c), ...moreDepth(c)] : []),
  ]
  return remedies.flatMap(({ set, predictedGain, interval }): Candidate[] => {
    if (set === undefined || predictedGain === null || interval === null) return []
    const predicted = { gain: predictedGain, interval }
    if (set.workers !== undefined) {
      const to = fewest(Math.round(set.workers / share), mostWorkers(facts.workers, room))
      return [{ ring, knob: 'workers', from: facts.workers, to, predicted }]
    }
    if (set.depth === undefined) return []
    return [{ ring, knob: 'depth', from: facts.depth, to: fewest(set.depth, room.depth), predicted }]
  })
}

/**
 * The evidence of one ring, as if its share of the workers were its own: what workers do for other rings is, for this one, the
 * work of others.
 */
function alone(e: Evidence, rings: number, { freeBytes }: Room): Evidence {
  const facts = { ...e.facts, freeBytes }
  if (rings < 2) return { ...e, facts }
  const { host } = e
  const workers = Math.max(1, Math.round(e.facts.workers / rings))
  const elsewhere = host === null ? 0 : host.engineCores * (1 - 1 / rings)
  return {
    ...e,
    facts: { ...facts, workers },
    host: host && { ...host, otherCores: host.otherCores + elsewhere },
  }
}

function neighbours({ ring, evidence, accounting, room }: Weighed): Candidate[] {
  const { workers, depth } = evidence.facts
  const { makers, parts } = accounting
  const queued = makers.queued / Math.max(makers.running + makers.queued, 1e-9)
  const more = fewest(Math.max(workers + 1, Math.ceil(WIDER * workers)), mostWorkers(workers, room))
  const less = Math.max(1, Math.min(workers - 1, Math.floor(workers / WIDER)))
  const crowded = queued > QUEUED || parts.slowed >= SLOWED
  const change = (knob: Knob, from: number, to: number): Candidate[] =>
    to > 0 && to !== from ? [{ ring, knob, from, to, predicted: null }] : []
  // Where there is but one worker, another one gets a share of the cores that neighbours would have.
  const to = crowded && less < workers ? less : more
  const ofWorkers = room.workers === 0 ? [] : change('workers', workers, to)
  const ofDepth = room.depth === 0 ? [] : change('depth', depth, mostDepth(depth, evidence, room))
  return [...claims(ring, evidence, room), ...ofWorkers, ...ofDepth]
}

/**
 * Smaller claims where workers have none to take: fewer claims are open than there are workers. Larger ones where claims are so
 * short that taking them costs more than making them.
 */
function claims(ring: number, { facts, claims: single = [] }: Evidence, { claim }: Room): Candidate[] {
  if (claim === null) return []
  const open = facts.claims * Math.max(1, facts.depth - 1)
  const { rows, least, most } = claim
  if (open < 2 * facts.workers && rows > least) {
    const to = Math.max(least, Math.floor((rows * open) / (3 * facts.workers)))
    return [{ ring, knob: 'claim', from: rows, to, predicted: null }]
  }
  const mean = single.reduce((sum, { ms }) => sum + ms, 0) / Math.max(1, single.length)
  const roomy = facts.claims > 4 * facts.workers && rows < most
  if (single.length > 0 && mean < SHORT && roomy)
    return [{ ring, knob: 'claim', from: rows, to: Math.min(most, 2 * rows), predicted: null }]
  return []
}
/** A claim that is made in less (ms) costs about as much to take. */
const SHORT = 0.05

function mostWorkers(now: number, { workers, freeBytes, workerBytes }: Room): number {
  return Math.max(now, Math.min(workers, now + Math.floor(freeBytes / 2 / Math.max(1, workerBytes))))
}

function mostDepth(depth: number, { facts }: Evidence, room: Room): number {
  const affordable = depth + Math.floor(room.freeBytes / 2 / Math.max(1, facts.slotBytes))
  return Math.max(depth, Math.min(2 * depth, room.depth, affordable))
}

function fewest(...values: number[]): number {
  return Math.min(...values)
}
