/**
 * A strict reader of Chrome's JSON, as Perfetto's trace processor reads it: throws at the first thing that it would complain
 * about or draw elsewhere.
 */
import { gunzipSync } from 'node:zlib'

export interface CheckedSlice {
  pid: number
  tid: number
  cat: string
  name: string
  ts: number
  dur: number
  args: Record<string, number | string>
}

export interface CheckedTrace {
  slices: CheckedSlice[]
  /** Arrows: the slices that each goes through. */
  flows: CheckedSlice[][]
  counters: Map<string, number[]>
  instants: { name: string; cat: string; ts: number; args?: Record<string, unknown> }[]
  /** Names of threads by `pid/tid`, and of processes. */
  threads: Map<string, string>
  processes: Map<number, string>
}

interface Raw {
  [key: string]: unknown
  ph: string
  pid: number
  tid: number
  ts: number
  name: string
}

/** `ended`: the file must have its bracket at the end. */
export function checkTrace(bytes: Uint8Array, ended = true): CheckedTrace {
  const data = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
  const text = new TextDecoder('utf-8', { fatal: true }).decode(data).trimEnd()
  if (ended && !text.endsWith(']')) fail('the array has no end')
  const events: Raw[] = JSON.parse(text.endsWith(']') ? text : `${text}]`)
  if (!Array.isArray(events)) fail('no array of events')
  const checked: CheckedTrace = {
    slices: [],
    flows: [],
    counters: new Map(),
    instants: [],
    threads: new Map(),
    processes: new Map(),
  }
  const arrows = new Map<number, Raw[]>()
  for (const event of events) {
    if (!Number.isInteger(event.pid) || !Number.isInteger(event.tid)) fail('no pid or tid', event)
    if (typeof event.name !== 'string' || event.name === '') fail('no name', event)
    if (event.ph !== 'M' && !(Number.isFinite(event.ts) && event.ts >= 0)) fail('no time', event)
    // Perfetto multiplies by 1000 and cuts: what is not exact may overlap by a nanosecond.
    if (event.ph !== 'M' && !Number.isInteger(event.ts * 1000)) fail('a time that is not exact', event)
    take(event, checked, arrows)
  }
  checkNesting(checked)
  for (const [id, parts] of arrows) checked.flows.push(follow(id, parts, checked.slices))
  return checked
}

function take(event: Raw, checked: CheckedTrace, arrows: Map<number, Raw[]>): void {
  const args = event.args as Record<string, unknown> | undefined
  switch (event.ph) {
    case 'X':
      if (!(Number.isFinite(event.dur) && (event.dur as number) > 0)) fail('no duration', event)
      if (!Number.isInteger((event.dur as number) * 1000)) fail('a duration that is not exact', event)
      if (typeof event.cat !== 'string') fail('no category', event)
      checked.slices.push(event as unknown as CheckedSlice)
      return
    case 'M':
      if (event.name === 'thread_name') checked.threads.set(`${event.pid}/${event.tid}`, String(args?.name))
      if (event.name === 'process_name') checked.processes.set(event.pid, String(args?.name))
      return
    case 'C':
      for (const [name, value] of Object.entries(args ?? {})) {
        if (typeof value !== 'number' || !Number.isFinite(value)) fail('a counter without a number', event)
        const key = `${event.name}/${name}`
        checked.counters.set(key, [...(checked.counters.get(key) ?? []), value])
      }
      return
    case 's':
    case 't':
    case 'f':
      if (!Number.isInteger(event.id)) fail('an arrow without an id', event)
      arrows.set(event.id as number, [...(arrows.get(event.id as number) ?? []), event])
      return
    case 'i':
      checked.instants.push({ name: event.name, cat: String(event.cat), ts: event.ts, args })
      return
    default:
      fail('an unknown phase', event)
  }
}

/** Slices of a thread lie within each other, or apart; each thread and process has a name. */
function checkNesting({ slices, threads, processes }: CheckedTrace): void {
  const open = new Map<string, number[]>()
  for (const slice of [...slices].sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    const key = `${slice.pid}/${slice.tid}`
    if (!threads.has(key)) fail('a thread without a name', slice)
    if (!processes.has(slice.pid)) fail('a process without a name', slice)
    const ends = open.get(key) ?? []
    open.set(key, ends)
    while (ends.length > 0 && ends[ends.length - 1] <= slice.ts) ends.pop()
    const end = slice.ts + slice.dur
    if (ends.length > 0 && ends[ends.length - 1] < end) fail('slices that overlap', slice)
    ends.push(end)
  }
}

/** An arrow begins once, ends once, goes forwards in time, and touches a slice at each of its parts. */
function follow(id: number, parts: Raw[], slices: readonly CheckedSlice[]): CheckedSlice[] {
  const phases = parts.map(({ ph }) => ph).join('')
  if (!/^st*f$/.test(phases)) fail(`arrow ${id} has the parts "${phases}"`)
  return parts.map((part, i) => {
    if (i > 0 && part.ts <= parts[i - 1].ts) fail('an arrow that goes back', part)
    if (part.ph === 'f' && part.bp !== 'e') fail('an arrow whose end is bound to the next slice', part)
    const under = slices.filter(
      ({ pid, tid, ts, dur }) => pid === part.pid && tid === part.tid && ts <= part.ts && part.ts < ts + dur,
    )
    if (under.length === 0) return fail('an arrow that touches no slice', part)
    return under.reduce((a, b) => (b.dur <= a.dur ? b : a))
  })
}

function fail(what: string, event?: object): never {
  throw new Error(event === undefined ? what : `${what}: ${JSON.stringify(event)}`)
}
