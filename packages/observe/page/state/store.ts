/** What the page knows, and how each event changes it. Nothing here touches the document: tests call it as it is. */

import { pointOf } from '../../dashboard/run/history.js'
import type { Ended, Hello, HistoryPoint, Now, Recent } from '../../dashboard/view.js'
import type { RunRecord, TunerDecision } from '../../live/record.js'

/** How long the past is (ms): what is shown as the last hour. */
const HOUR = 3_600_000
/** Seconds that rates are means of: a second has few steps, and a number that jumps can't be read. */
const RECENT = 10

/** opening: nothing came yet. live: the stream is open. lost: it is not. paused: the page is hidden. */
export type Link = 'opening' | 'live' | 'lost' | 'paused'

export interface State {
  link: Link
  /** When the last news came, by this machine's clock (ms since 1970). Null: none came. */
  heard: number | null
  hello: Hello | null
  history: HistoryPoint[]
  now: Now | null
  /** The last seconds, oldest first. */
  recent: Recent
  ended: Ended | null
}

export const EMPTY: State = {
  link: 'opening',
  heard: null,
  hello: null,
  history: [],
  now: null,
  recent: [],
  ended: null,
}

export function withHello(state: State, hello: Hello): State {
  const before = state.hello?.run
  const same = before?.trainer === hello.run?.trainer && before?.ring === hello.run?.ring
  // A run that is gone stays as it was, to be read; another one begins anew.
  if (same || hello.run === null) return { ...state, hello: { ...hello, run: hello.run ?? before ?? null } }
  return { ...state, hello, history: [], now: null, recent: [], ended: null }
}

/** The first of a stream. */
export function withFirstHello(state: State, hello: Hello): State {
  return withHello({ ...state, ended: hello.run === null ? state.ended : null }, hello)
}

/** A second. It may be there already: a stream begins with the past, up to the second that follows. */
export function withNow(state: State, now: Now): State {
  const time = timeOf(now)
  const isNew = (last: { time: number } | undefined) => last === undefined || last.time < time
  const { recent, history } = state
  const last = recent.at(-1)
  const { ranks } = now
  const isPoint = ranks.length > 0 && isNew(history.at(-1))
  return {
    ...state,
    now,
    recent: isNew(last && { time: timeOf(last) }) ? [...recent, now].slice(-RECENT) : recent,
    history: isPoint
      ? lastHour([
          ...history,
          { ...pointOf(ranks), time, decisions: once(ranks.flatMap(one => one.decisions)) },
        ])
      : history,
  }
}

/** What the newest moment that is known is called. */
export function lastWord({ ended, link }: State): string {
  return ended !== null ? 'end' : link === 'live' || link === 'opening' ? 'now' : 'then'
}

/** When a second ended (ms since 1970). */
export function timeOf({ ranks }: Pick<Now, 'ranks'>): number {
  return ranks.length === 0 ? Date.now() : Math.max(...ranks.map(({ time }) => time))
}

/** Of all processes: ranks of one process tell the same memory each. The limit is that of all machines together. */
export function memoryOf(ranks: readonly RunRecord[]): { bytes: number; limit: number | null } | null {
  const processes = new Map<string, number>()
  const limits = new Map<string, number | null>()
  for (const { host, trainer, engine, memory } of ranks) {
    if (memory === null) continue
    processes.set(`${host} ${trainer} ${engine}`, memory.bytes)
    limits.set(host, memory.limit)
  }
  if (processes.size === 0) return null
  const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0)
  const known = [...limits.values()].filter(limit => limit !== null)
  return { bytes: sum(processes.values()), limit: known.length === limits.size ? sum(known) : null }
}

/** Ranks of one engine tell the same decision each. */
export function once(decisions: readonly TunerDecision[]): TunerDecision[] {
  const key = ({ at, ring, event, knob }: TunerDecision) => `${at} ${ring} ${event} ${knob}`
  return [...new Map(decisions.map(decision => [key(decision), decision])).values()]
}

function lastHour<T extends { time: number }>(points: T[]): T[] {
  const last = points[points.length - 1].time
  return points[0].time >= last - HOUR ? points : points.filter(({ time }) => time >= last - HOUR)
}
