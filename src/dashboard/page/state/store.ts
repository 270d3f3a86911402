/** What the page knows, and how each event changes it. Nothing here touches the document: tests call it as it is. */
import type { TunerDecision } from '../../../observe/live/decision.js'
import type { RunRecord } from '../../../observe/live/record.js'
import type { Alert, Gallery, Hello, HistoryPoint, Now, Snapshot, Timeline } from '../../view.js'

/** How long the past is (ms): what is shown as the last hour. */
const HOUR = 3_600_000
/** Seconds that rates are means of: a second has few steps, and a number that jumps can't be read. */
const RECENT = 10

/** opening: nothing came yet. live: the stream is open. lost: it is not. saved: a file, without a server. */
export type Link = 'opening' | 'live' | 'lost' | 'saved'

/** Batches of all ranks in one second. */
export interface SlotPoint {
  time: number
  ready: number
  filling: number
  held: number
}

export interface State {
  link: Link
  /** When the last news came, by this machine's clock (ms since 1970). Null: none came. */
  heard: number | null
  saved: number | null
  hello: Hello | null
  history: HistoryPoint[]
  now: Now | null
  /** The last seconds, oldest first. */
  recent: Now[]
  /** Since the page was opened. */
  slots: SlotPoint[]
  alerts: Alert[]
  ended: { reason: string; time: number } | null
  timeline: Timeline | null
  gallery: Gallery | null
}

export const EMPTY: State = {
  link: 'opening',
  heard: null,
  saved: null,
  hello: null,
  history: [],
  now: null,
  recent: [],
  slots: [],
  alerts: [],
  ended: null,
  timeline: null,
  gallery: null,
}

export function withHello(state: State, hello: Hello): State {
  const before = state.hello?.run
  const same = before?.trainer === hello.run?.trainer && before?.ring === hello.run?.ring
  // A run that is gone stays as it was, to be read; another one begins anew.
  if (same || hello.run === null) return { ...state, hello: { ...hello, run: hello.run ?? before ?? null } }
  return { ...state, hello, history: [], now: null, recent: [], slots: [], alerts: [], ended: null }
}

export function withNow(state: State, now: Now): State {
  const time = timeOf(now)
  const point = pointOf(now, time)
  const slots = slotsOf(now.ranks, time)
  return {
    ...state,
    now,
    recent: [...state.recent, now].slice(-RECENT),
    history: point === null ? state.history : lastHour([...state.history, point]),
    slots: slots === null ? state.slots : lastHour([...state.slots, slots]),
  }
}

export function withAlert(state: State, alert: Alert): State {
  const others = state.alerts.filter(({ rule }) => rule !== alert.rule)
  return { ...state, alerts: alert.since === null ? others : [...others, alert] }
}

export function ofSnapshot(snapshot: Snapshot): State {
  const { saved, hello, history, now, alerts, ended, timeline = null, gallery = null } = snapshot
  const recent = now === null ? [] : [now]
  const slots = now === null ? null : slotsOf(now.ranks, timeOf(now))
  return {
    ...EMPTY,
    ...{ link: 'saved', heard: saved, saved, hello, history, now, recent, alerts, timeline, gallery },
    slots: slots === null ? [] : [slots],
    ended,
  }
}

/** What a file holds, where the server can't be asked: what the page has. */
export function toSnapshot(state: State, saved: number): Snapshot | null {
  const { hello, history, now, alerts, ended, timeline, gallery } = state
  if (hello === null) return null
  const recent = { seconds: state.recent, slots: state.slots }
  return { saved, hello, history, now, recent, alerts, ended, timeline, gallery }
}

/** When a second ended (ms since 1970). */
export function timeOf(now: Now): number {
  return now.ranks.length === 0 ? Date.now() : Math.max(...now.ranks.map(({ time }) => time))
}

/** A second of the whole run: the rank that loses most decides. */
function pointOf({ ranks }: Now, time: number): HistoryPoint | null {
  if (ranks.length === 0) return null
  const worst = ranks.reduce((most, rank) => ((rank.lost ?? -1) > (most.lost ?? -1) ? rank : most))
  const memories = ranks.flatMap(({ memory }) => (memory === null ? [] : [memory.bytes]))
  return {
    time,
    lost: worst.lost,
    samplesPerSecond: samplesPerSecond(ranks),
    parts: worst.parts,
    workers: worst.workers,
    depth: worst.depth,
    rssBytes: memories.length === 0 ? null : memories.reduce((sum, bytes) => sum + bytes, 0),
    decisions: once(ranks.flatMap(({ decisions }) => decisions)),
  }
}

export function samplesPerSecond(ranks: readonly RunRecord[]): number {
  return ranks.reduce((sum, { samples, seconds }) => sum + samples / Math.max(seconds, 1e-3), 0)
}

/** Ranks of one engine tell the same decision each. */
export function once(decisions: readonly TunerDecision[]): TunerDecision[] {
  const key = ({ at, ring, event, knob }: TunerDecision) => `${at} ${ring} ${event} ${knob}`
  return [...new Map(decisions.map(decision => [key(decision), decision])).values()]
}

function slotsOf(ranks: readonly RunRecord[], time: number): SlotPoint | null {
  const seen = ranks.flatMap(({ slots }) => (slots === null ? [] : [slots]))
  if (seen.length === 0) return null
  const sum = (of: (slots: (typeof seen)[number]) => number) =>
    seen.reduce((all, slots) => all + of(slots), 0)
  return { time, ready: sum(s => s.ready), filling: sum(s => s.filling), held: sum(s => s.held) }
}

function lastHour<T extends { time: number }>(points: T[]): T[] {
  const last = points[points.length - 1].time
  return points[0].time >= last - HOUR ? points : points.filter(({ time }) => time >= last - HOUR)
}
