/** The rank that loses most, wherever it is known from: looked at here, or told by its log. All losses are of one window. */

import type { Now } from '../../dashboard/view.js'
import type { Parts } from '../../evidence.js'
import type { RunRecord } from '../../live/record.js'
import { type State, timeOf } from './store.js'

const HOURS = 24
/** A trainer that ends no step for so long (s), and for as long as so many of its steps take, stands still. */
const STILL = { seconds: 4, steps: 10 }

export interface Worst {
  rank: number
  /** The window (s): the last 15 s or so. */
  seconds: number
  lost: number
  stepMs: number
  parts: Parts
}

export function worstOf(now: Now | null): Worst | null {
  if (now === null) return null
  const { told, worst } = now
  if (told !== null) return told
  if (worst === null) return null
  const { rank, accounting } = worst
  return { ...accounting, rank }
}

/** What a rank loses, over the same window as the sentence. Null while too little was seen. */
export function lossOf(now: Now, { rank, why }: RunRecord): number | null {
  const worst = worstOf(now)
  return worst?.rank === rank ? worst.lost : (why?.lost ?? null)
}

/** What waiting costs a day. Each rank costs what it loses itself. Null while that is known of none. */
export function costOf(now: Now, dollarsPerHour: number): { dollars: number; ranks: number } | null {
  const losses = now.ranks.flatMap(record => lossOf(now, record) ?? [])
  if (losses.length === 0) return null
  const lost = losses.reduce((sum, one) => sum + one, 0)
  return { dollars: lost * dollarsPerHour * HOURS, ranks: losses.length }
}

/** The record of the rank that loses most; of the first one, while none is known. */
export function worstRecord(now: Now | null): RunRecord | undefined {
  const worst = worstOf(now)
  return now?.ranks.find(({ rank }) => rank === worst?.rank) ?? now?.ranks[0]
}

/** For how long no step has ended (s), where that is longer than steps take. Null: steps end, or the run has ended. */
export function stillFor({ now, history, ended }: State): number | null {
  const last = history.findLast(({ samplesPerSecond }) => samplesPerSecond > 0)
  if (now === null || last === undefined || now.ranks.length === 0 || ended !== null) return null
  const seconds = (timeOf(now) - last.time) / 1000
  const long = (STILL.steps * (worstOf(now)?.stepMs ?? 0)) / 1000
  return seconds < Math.max(STILL.seconds, long) ? null : seconds
}

/** Of which time losses are: `last 15 s`. Empty while none is known. */
export function windowOf(state: State): string {
  const worst = worstOf(state.now)
  if (worst === null) return ''
  if (stillFor(state) !== null) return 'before that'
  return `last ${Math.max(1, Math.round(worst.seconds))} s${state.ended === null ? '' : ' of the run'}`
}

/** How many engines feed the ranks: where it is one, they share its workers. */
export function enginesOf({ now }: State): number {
  return new Set((now?.ranks ?? []).map(({ host, engine }) => `${host} ${engine}`)).size
}
