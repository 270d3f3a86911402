/** One event of any trace that we read, in one form: times in µs. */
import { MISSING, PROCESS_NAME } from '../vocabulary.js'

export type ReadEvent =
  | {
      type: 'slice'
      pid: number
      tid: number
      cat: string
      name: string
      ts: number
      dur: number
      args: Args
    }
  | { type: 'counter'; pid: number; name: string; ts: number; values: Record<string, number> }
  | { type: 'instant'; pid: number; tid: number; cat: string; name: string; ts: number; args: Args }
  | { type: 'flow'; phase: 's' | 't' | 'f'; id: string; pid: number; tid: number; ts: number }
  | { type: 'thread' | 'process'; pid: number; tid: number; name: string }
  | { type: 'clock'; monotonicMs: number; realtimeMs: number }
  | { type: 'missing'; lost: number; full: boolean }

type Args = Record<string, unknown>

/** Phases of DFTracer 2, which are numbers; AGGREGATED folds many calls into one. */
const NUMBERS: Readonly<Record<number, string>> = { 1: 'X', 2: 'C', 3: 'X', 4: 'M' }

/** Gives the events of a file one after the other. Those that begin and end apart (B, E) are put together. */
export class EventReader {
  /** Events that make no sense, and kinds that are not read. */
  bad = 0
  other = 0
  /** Names by their hashes. */
  private readonly files = new Map<unknown, string>()
  private readonly open = new Map<string, { name: string; cat: string; ts: number; args: Args }[]>()

  constructor(private readonly out: (event: ReadEvent) => void) {}

  /** Slices that began and never ended. */
  get unfinished(): number {
    let count = 0
    for (const list of this.open.values()) count += list.length
    return count
  }

  readonly read = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.bad++
      return
    }
    const event = value as Args
    const phase = typeof event.ph === 'number' ? NUMBERS[event.ph] : event.ph
    const args = this.named(object(event.args), event.cat)
    const pid = number(event.pid) ?? 0
    const tid = number(event.tid) ?? 0
    const name = text(event.name) ?? ''
    if (phase === 'M') {
      this.metadata(name, pid, tid, args)
      return
    }
    const ts = number(event.ts)
    if (ts === undefined || typeof phase !== 'string') {
      this.bad++
      return
    }
    this.timed(phase, { pid, tid, name, cat: text(event.cat) ?? '', ts, args }, event)
  }

  private timed(
    phase: string,
    about: { pid: number; tid: number; name: string; cat: string; ts: number; args: Args },
    event: Args,
  ): void {
    const { pid, tid, name, cat, ts, args } = about
    const key = `${pid}/${tid}`
    switch (phase) {
      case 'X': {
        const dur = number(event.dur) ?? number(args.dur_sum) ?? 0
        if (dur < 0) this.bad++
        // DFTracer's lines have no marks: ours are slices without a length there.
        else if (dur === 0 && cat === 'pipeline') this.out({ type: 'instant', ...about })
        else this.out({ type: 'slice', ...about, dur })
        return
      }
      case 'B': {
        const list = this.open.get(key) ?? []
        list.push({ name, cat, ts, args })
        this.open.set(key, list)
        return
      }
      case 'E': {
        const begun = this.open.get(key)?.pop()
        if (begun === undefined || ts < begun.ts) this.bad++
        else this.out({ type: 'slice', pid, tid, ...begun, dur: ts - begun.ts })
        return
      }
      case 'C': {
        const values: Record<string, number> = {}
        // DFTracer's hash of the host is no figure.
        for (const [word, value] of Object.entries(args))
          if (word !== 'hhash' && typeof value === 'number' && Number.isFinite(value)) values[word] = value
        this.out({ type: 'counter', pid, name, ts, values })
        return
      }
      case 'i':
      case 'I':
        this.out({ type: 'instant', ...about })
        return
      case 's':
      case 't':
      case 'f':
        this.out({ type: 'flow', phase, id: String(event.id), pid, tid, ts })
        return
      default:
        this.other++
    }
  }

  /** Where lines of DFTracer name a feed, or a file, by its hash: with its name as well. */
  private named(args: Args, cat: unknown): Args {
    const name = args.fhash === undefined ? undefined : this.files.get(args.fhash)
    if (name === undefined) return args
    return cat === 'POSIX' || cat === 'STDIO' ? { file: name, ...args } : { feed: name, ...args }
  }

  private metadata(name: string, pid: number, tid: number, args: Args): void {
    const called = text(args.name)
    if (name === 'FH' && called !== undefined) this.files.set(args.value, called)
    else if (
      name === 'clock_sync' &&
      number(args.monotonicMs) !== undefined &&
      number(args.realtimeMs) !== undefined
    )
      this.out({
        type: 'clock',
        monotonicMs: number(args.monotonicMs) as number,
        realtimeMs: number(args.realtimeMs) as number,
      })
    else if (called !== undefined && name === 'thread_name')
      this.out({ type: 'thread', pid, tid, name: called })
    else if (called !== undefined && name === 'process_name')
      this.out({ type: 'process', pid, tid, name: called })
    else if (name === 'PR') this.aboutProcess(pid, tid, args)
    else if (name === MISSING)
      this.out({ type: 'missing', lost: number(args.lost) ?? 0, full: number(args.full) === 1 })
  }

  /** DFTracer's metadata of a process are keys and values, such as core_affinity. Our old traces have the name as both. */
  private aboutProcess(pid: number, tid: number, { name: key, value }: Args): void {
    const called = text(value)
    if (called !== undefined && (key === PROCESS_NAME || key === value))
      this.out({ type: 'process', pid, tid, name: called })
  }
}

/** Old traces of DFTracer have numbers as texts. */
function number(value: unknown): number | undefined {
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function object(value: unknown): Args {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Args) : {}
}
