/**
 * What could be changed, best first: the remedies of the judge that can be set, with what they are predicted to gain. Where these
 * promise too little and yet much is lost, the model may be wrong: then the neighbours of the present setting are tried.
 */

import type { Knob } from '../../core/deliver/ring-tuner.js'
import type { Accounting, Evidence } from '../evidence.js'
import { type Case, caseOf } from '../verdict/case.js'
import { supplyOf } from '../verdict/causes.js'
import { aheadOfTrainer, fewerWorkers, moreDepth, moreWorkers } from '../verdict/changes.js'
import type { Decoding } from './decoding.js'
import type { Candidate, Room, Weighed } from './seen.js'

/** A change is worth trying from this gain on, and from so many standard errors. */
const LEAST_GAIN = 0.03
const SIGMAS = 2
/** Loss of a step in waits for batches, from which neighbours are tried although nothing is promised. */
export const MUCH = 0.05
/** Neighbours: this many times the present setting. */
const WIDER = 1.4
/** Hints go so many times as far ahead, or back. */
const FURTHER = 4
/** Makers that queue for cores more than this are too many, not too few. */
const QUEUED = 0.35
/** A trainer that is slowed by so much by its makers, of a step, has too many of them. */
const SLOWED = 0.03
/** Makers that run or queue for so much of the time, and are so many times the cores, are too many as well. */
const BUSY = 0.7
const MANY = 1.25
/** When batches ahead are too few: at least this depth is tried, and at least so many times the present one. */
const LEAST_DEPTH = 4
const DEEPER = 3
/** From this loss in waits for batches on, a depth below `LEAST_DEPTH` is raised to it. */
const SHALLOW = 0.02
/** Workers without a slot for so much of the time, while the trainer waits at times. */
const UNEVEN = 0.2
/** Share of the time in which tasks waited for memory, from which less of it is taken. */
const MEMORY = 0.05

/** `rings` are those that the workers serve at present; `decoding`: it is open who decodes. */
export function candidatesFor(seen: Weighed, rings: number, decoding?: Decoding): Candidate[] {
  const decoder = decoding?.next(seen)
  // Once the decoders are compared, that comes first: all else depends on it.
  if (decoder && decoding?.begun) return [decoder]
  const promised = promisedBy(seen, rings)
  const worth = promised.filter(({ predicted }) => predicted !== null && isWorth(predicted))
  worth.sort((a, b) => b.predicted!.gain - a.predicted!.gain)
  const { parts } = seen.accounting
  const slowed = Math.max(parts.slowed, seen.evidence.host?.trainerDelay ?? 0)
  const tries = supplyOf(parts) >= MUCH ? neighbours(seen) : slowed >= SLOWED ? fewer(seen) : deeper(seen)
  return [...worth, ...(decoder ? [decoder] : []), ...tries].filter(({ from, to }) => from !== to)
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

/** Settings beside the present one, the likeliest first. */
function neighbours({ ring, evidence, accounting, room }: Weighed): Candidate[] {
  const { workers, depth } = evidence.facts
  const change = (knob: Knob, from: number, to: number): Candidate[] =>
    to > 0 && to !== from ? [{ ring, knob, from, to, predicted: null }] : []
  const more = fewest(Math.max(workers + 1, Math.ceil(WIDER * workers)), mostWorkers(workers, room))
  const less = lessWorkers(evidence, accounting)
  // Where there is but one worker, another one gets a share of the cores that neighbours would have.
  const both = tooMany(evidence, accounting) && less < workers ? [less, more] : [more, less]
  const ofWorkers = room.workers === 0 ? [] : both.flatMap(to => change('workers', workers, to))
  const ofDepth = room.depth === 0 ? [] : change('depth', depth, nextDepth(depth, evidence, room))
  const { claim } = room
  const sizes =
    claim === null ? [] : [Math.min(claim.most, 2 * claim.rows), Math.max(claim.least, claim.rows >> 1)]
  const ofClaims = sizes.flatMap(to => change('claim', claim!.rows, to))
  const ofAhead = accounting.parts.blocked >= MUCH && room.ahead ? furtherAhead(room.ahead, change) : []
  // Workers that have no slot while the trainer waits are many enough: some batches take longer than others.
  const uneven = accounting.makers.noSlot >= UNEVEN
  const first = uneven ? [...ofDepth, ...ofWorkers] : [...ofWorkers, ...ofDepth]
  return [...lackingClaims(ring, evidence, room), ...first, ...ofAhead, ...ofClaims]
}

/** Where storage is waited for, it may be told earlier of what comes, or less early. */
function furtherAhead(
  { rows, most }: { rows: number; most: number },
  change: (knob: Knob, from: number, to: number) => Candidate[],
): Candidate[] {
  const sizes = [Math.min(most, FURTHER * rows), Math.ceil(rows / FURTHER)]
  return sizes.flatMap(to => change('ahead', rows, to))
}

/** With two or three slots a batch that comes late is waited for: a few more cost little. */
function deeper({ ring, evidence, accounting, room }: Weighed): Candidate[] {
  const { depth } = evidence.facts
  const to = Math.min(nextDepth(depth, evidence, room), LEAST_DEPTH)
  if (room.depth === 0 || to <= depth || supplyOf(accounting.parts) < SHALLOW) return []
  return [{ ring, knob: 'depth', from: depth, to, predicted: null }]
}

/** The trainer hardly waits for batches, but workers slow it: fewer of them are tried. */
function fewer({ ring, evidence, accounting, room }: Weighed): Candidate[] {
  const { workers } = evidence.facts
  const to = lessWorkers(evidence, accounting)
  return room.workers === 0 || to >= workers
    ? []
    : [{ ring, knob: 'workers', from: workers, to, predicted: null }]
}

/** Fewer workers: as many as the trainer needs, where it is they that slow it; otherwise some fewer. */
function lessWorkers(evidence: Evidence, accounting: Accounting): number {
  const { workers } = evidence.facts
  const [needed] = fewerWorkers(caseOf(evidence, accounting))
  const some = Math.max(1, Math.min(workers - 1, Math.floor(workers / WIDER)))
  return Math.max(1, Math.min(some, needed?.set?.workers ?? some))
}

/** Whether there are more workers than cores for them, or than the trainer can bear. */
function tooMany({ facts, host }: Evidence, { makers, parts }: Accounting): boolean {
  const wanted = makers.running + makers.queued
  const queued = makers.queued / Math.max(wanted, 1e-9)
  const crowded = facts.workers > MANY * facts.cores && wanted > BUSY
  return crowded || queued > QUEUED || parts.slowed >= SLOWED || (host?.trainerDelay ?? 0) >= SLOWED
}

/** Smaller claims where workers have none to take: fewer claims are open than there are workers. */
function lackingClaims(ring: number, { facts }: Evidence, { claim }: Room): Candidate[] {
  if (claim === null) return []
  const open = facts.claims * Math.max(1, facts.depth - 1)
  const { rows, least } = claim
  if (open >= facts.workers || rows <= least) return []
  const to = Math.max(least, Math.floor((rows * open) / (2 * facts.workers)))
  return to === rows ? [] : [{ ring, knob: 'claim', from: rows, to, predicted: null }]
}

function mostWorkers(now: number, { workers, freeBytes, workerBytes }: Room): number {
  return Math.max(now, Math.min(workers, now + Math.floor(freeBytes / 2 / Math.max(1, workerBytes))))
}

/** Much deeper, since slow batches come seldom; half as deep where memory is short. */
function nextDepth(depth: number, { facts, host }: Evidence, room: Room): number {
  if ((host?.psi.memory ?? 0) >= MEMORY) return Math.max(2, depth >> 1)
  const affordable = depth + Math.floor(room.freeBytes / 2 / Math.max(1, facts.slotBytes))
  return Math.max(depth, Math.min(Math.max(LEAST_DEPTH, DEEPER * depth), room.depth, affordable))
}

function fewest(...values: number[]): number {
  return Math.min(...values)
}
