/** The rank that loses most, wherever it is known from: looked at here, or told by its log. All losses are of one window. */
import type { Parts } from '../../../observe/evidence.js'
import type { RunRecord } from '../../../observe/live/record.js'
import type { Now } from '../../view.js'

const HOURS = 24

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

/** `last 15 s`. */
export function windowOf({ seconds }: { seconds: number }): string {
  return `last ${Math.max(1, Math.round(seconds))} s`
}
