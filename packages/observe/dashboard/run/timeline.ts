/** The last seconds of all threads of a run, from their spans. */
import type { AttachedSpans } from '../../../core/spans/attach.js'
import { monotonicMs } from '../../../core/spans/clock.js'
import type { SpanRecord } from '../../../core/spans/reader.js'
import type { Timeline } from '../view.js'

/** Spans of a timeline at most: where there are more, neighbours are joined. */
const MOST_SPANS = 20_000
/** Records that a thread writes in a second at most, with some to spare. */
const RECORDS_A_SECOND = 1100

/** Spans of a process, and whose they are: rings by number, with their ranks. */
export interface SpansOfProcess {
  spans: AttachedSpans
  /** Before the names of its lanes: empty where there is one process. */
  prefix: string
  rings: ReadonlyMap<number, number>
}

type Lane = Timeline['lanes'][number]
type Span = Lane['spans'][number]

export function timeline(processes: readonly SpansOfProcess[], seconds: number): Timeline {
  const to = monotonicMs()
  const from = to - 1000 * seconds
  const lanes = processes.flatMap(one => lanesOf(one, from, seconds))
  const each = Math.floor(MOST_SPANS / Math.max(1, lanes.length))
  for (const lane of lanes) lane.spans = thinned(lane.spans, to - from, each)
  const since1970 = Date.now() - monotonicMs()
  return { from: from + since1970, to: to + since1970, lanes: lanes.sort(byKind) }
}

function lanesOf({ spans, prefix, rings }: SpansOfProcess, from: number, seconds: number): Lane[] {
  // Not all that is still there: as much as can be of these seconds.
  const cursor: number[] = []
  for (const { lane, written } of spans.lanes())
    cursor[lane] = Math.max(0, written - Math.ceil(RECORDS_A_SECOND * (seconds + 1)))
  const { records } = spans.readSince(Array.from(cursor, count => count ?? 0))
  const lanes = new Map<number, Lane>()
  for (const record of records) {
    const { lane: info, ring, start, duration, kind, batch, rows } = record
    if (start + duration < from || (ring !== 0 && !rings.has(ring))) continue
    const lane = lanes.get(info.lane) ?? { name: prefix + info.name, kind: info.kind, rank: null, spans: [] }
    lanes.set(info.lane, lane)
    if (info.kind === 'consumer') lane.rank ??= rings.get(ring) ?? null
    const begin = Math.max(0, start - from)
    lane.spans.push([round(begin), round(Math.max(0, endOf(record) - from - begin)), kind, batch, rows])
  }
  for (const lane of lanes.values()) lane.spans.sort(([a], [b]) => a - b)
  return [...lanes.values()]
}

function endOf({ start, duration }: SpanRecord): number {
  return start + duration
}

/** At most so many: spans that begin close to each other become one, of the kind that takes most of it. */
function thinned(spans: readonly Span[], length: number, most: number): Span[] {
  if (spans.length <= most) return [...spans]
  const grain = length / most
  const joined: Span[] = []
  let place = -1
  let longest = 0
  for (const [start, duration, kind, batch, rows] of spans) {
    const last = joined.at(-1)
    if (last === undefined || Math.floor(start / grain) !== place) {
      joined.push([start, duration, kind, batch, rows])
      place = Math.floor(start / grain)
      longest = duration
      continue
    }
    last[1] = round(Math.max(last[0] + last[1], start + duration) - last[0])
    last[4] += rows
    if (duration > longest) {
      longest = duration
      last[2] = kind
    }
  }
  return joined
}

const KINDS: readonly Lane['kind'][] = ['consumer', 'device', 'worker', 'reader']

function byKind(a: Lane, b: Lane): number {
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.name.localeCompare(b.name, 'en', { numeric: true })
  )
}

/** µs will do. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
