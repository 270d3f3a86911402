/**
 * The state of a run: where it stands, and by which order. Plain JSON, under 1 kB, and some 24 bytes more for each source
 * of a blend whose weights have changed. It counts samples that were handed out, so it can be taken up with other ranks, batch
 * sizes and workers; it can't be taken up with another order, and then it says what is different.
 */

import { StateError } from '../basics/errors.js'
import { explainOrderChange, type OrderDescription } from '../define/change.js'
import type { NormalBatch } from '../define/types.js'
import { type BlendChange, neededChanges } from './blend/changes.js'
import type { Place } from './steps.js'

export interface State extends Place {
  version: 1
  /** Hash of what decides which sample stands where. Must be equal. */
  order: string
  /** Hash of what decides the values. A difference is worth a notice. */
  content: string
  /** What the order hash was made from, in short, to say what differs. */
  describe: Omit<OrderDescription, 'hash'>
  /** Changes of a blend's weights that matter from there on. */
  changes?: BlendChange[]
  /** The share of images that the CPU decodes, 0…1, where the tuner has found out: it stays so when the run is taken up. */
  cpuShare?: number
}

/** The feed that a state is made from, or taken up by. */
export interface StateFeed {
  hashes: { order: string; content: string }
  /** By `describeOrder`, once per feed: it hashes, and a state should take microseconds. */
  description: OrderDescription
  /** Positions in an epoch. */
  length: number
  feed: { batch: Pick<NormalBatch, 'last'> }
  /** Parts of the source as it is now, so that a changed one can be named. */
  parts?: Parameters<typeof explainOrderChange>[2]
}

const VERSION = 1

export function makeState(
  feed: StateFeed,
  place: Place,
  changes: readonly BlendChange[] = [],
  cpuShare?: number,
): State {
  const { hash: _, ...describe } = feed.description
  const needed = neededChanges(changes, place, feed)
  return {
    version: VERSION,
    order: feed.hashes.order,
    content: feed.hashes.content,
    epoch: place.epoch,
    position: place.position,
    describe,
    ...(needed.length > 0 && { changes: needed }),
    ...(cpuShare !== undefined && { cpuShare }),
  }
}

/** One line of JSON. */
export function encodeState(state: State): string {
  return JSON.stringify(state)
}

/** Reads a state from JSON, as text or parsed, and refuses what isn't one. */
export function readState(from: unknown): State {
  const value = typeof from === 'string' ? parse(from) : from
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new StateError(`a state is a JSON object, not ${show(value)}`)
  const state = value as Record<string, unknown>
  if (state.version === undefined && state.order === undefined) {
    const keys = Object.keys(state)
    throw new StateError(
      `this is no state of a feed, but an object with ${keys.length === 0 ? 'nothing in it' : `the keys ${keys.slice(0, 6).join(', ')}`}: ` +
        'give what state() of a loader gave, or the file that --save wrote',
    )
  }
  if (state.version !== VERSION)
    throw new StateError(
      `the state has version ${show(state.version)}; this Millrace reads version ${VERSION}: ` +
        'use the version that saved it, or start anew',
    )
  for (const name of ['order', 'content'])
    if (typeof state[name] !== 'string') throw wrong(name, 'a hash', state[name])
  for (const name of ['epoch', 'position'])
    if (!isCount(state[name])) throw wrong(name, 'a whole number from 0', state[name])
  if (typeof state.describe !== 'object' || state.describe === null)
    throw wrong('describe', 'an object', state.describe)
  const { marks } = state.describe as { marks?: unknown }
  if (marks !== undefined && !isMarks(marks)) throw wrong('describe.marks', 'a list of digits', marks)
  if (state.changes !== undefined) {
    if (!Array.isArray(state.changes)) throw wrong('changes', 'a list', state.changes)
    state.changes.forEach(checkChange)
  }
  const { cpuShare } = state
  if (cpuShare !== undefined && !(typeof cpuShare === 'number' && cpuShare >= 0 && cpuShare <= 1))
    throw wrong('cpuShare', 'a number from 0 to 1', cpuShare)
  return value as State
}

/**
 * Throws unless the state can be taken up by this feed. Returns notices: what is different and no reason to refuse.
 */
export function checkState(state: State, feed: StateFeed): string[] {
  if (state.order !== feed.hashes.order) {
    const before = { ...state.describe, hash: state.order }
    const changes = explainOrderChange(before, feed.description, feed.parts)
    throw new StateError(
      `the state was saved from another order of samples. ${changes.join(' ')} ` +
        'Take the feed back to what it was, or start anew without the state.',
    )
  }
  if (state.position > feed.length)
    throw new StateError(
      `the state stands at position ${state.position}, but an epoch of this feed has ${feed.length} samples: ` +
        'the file was changed by hand; start anew without the state',
    )
  return state.content === feed.hashes.content
    ? []
    : [
        'The fields, functions or onError of the feed have changed since the state was saved: values may differ.',
      ]
}

/** Throws unless it is a change of a blend's weights. */
export function checkChange(change: unknown, i: number): void {
  const { at, weights, drawn } = (change ?? {}) as Partial<BlendChange>
  const place = typeof at === 'object' && at !== null ? [at.epoch, at.position] : [at]
  if (!place.every(isCount)) throw wrong(`changes[${i}].at`, 'a draw, or an epoch and a position', at)
  if (!Array.isArray(weights) || !weights.every(w => typeof w === 'number' && w >= 0))
    throw wrong(`changes[${i}].weights`, 'a list of numbers from 0', weights)
  if (drawn !== undefined && !(Array.isArray(drawn) && drawn.every(isCount) && isCount(at)))
    throw wrong(`changes[${i}].drawn`, 'a list of whole numbers from 0', drawn)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new StateError(
      `the state is no JSON (${(cause as Error).message}): it was cut short or is another file`,
      { cause },
    )
  }
}

function isMarks(value: unknown): boolean {
  return typeof (value as { digits?: unknown } | null)?.digits === 'string'
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function wrong(name: string, expected: string, value: unknown): StateError {
  return new StateError(`the state's "${name}" should be ${expected}, not ${show(value)}`)
}

/** A value in an error message: short, whatever was in the file. */
function show(value: unknown): string {
  const text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? 'missing')
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
