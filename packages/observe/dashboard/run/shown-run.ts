/**
 * A run as pages see it: what is known of it, and its past. It is here, or known by its log alone. When it has ended it stays as it was last seen, until the next run of its feed takes its place.
 */
import { hostname } from 'node:os'
import { type FoundRun, findRun } from '../../diagnose/attach/find-run.js'
import type { Parts } from '../../evidence.js'
import type { RunRecord } from '../../live/record.js'
import { gallery } from '../gallery/gallery.js'
import type { Snapshot, View } from '../server/requests.js'
import type { Streams } from '../server/streams.js'
import type { Ended, Gallery, Hello, Now, Recent, RunName, Timeline, Told } from '../view.js'
import { History, pointOf } from './history.js'
import { endOf, isFresh, type LoggedRunHere, type Logs, lastOf } from './logs.js'
import { plainName, type RunHere } from './runs.js'
import { timeline } from './timeline.js'
import { WatchedRun } from './watched-run.js'

/** A rank elsewhere is told of before those here where it loses so much more (0…1): less is within what seconds vary by. */
const MORE = 0.02
/** A run that was begun so long (s) before the last second of the shown one may be its successor: looks are a second apart. */
const SLACK = 1

export interface ShownOptions {
  price: number
  version: string
  /** How long a step takes with its batch at hand (ms), where that is known. */
  idealMs?: number
}

export class ShownRun implements View {
  /** What the address asked for and is not here. */
  missing: string | null = null
  /** The runs on this machine, as far as they were looked for. */
  runs: readonly RunHere[] = []
  private run: WatchedRun | undefined
  private logged: LoggedRunHere | undefined
  private now: Now | null = null
  private ended: Ended | null = null
  private readonly history = new History()
  private readonly recently = new Recently()
  /** All runs that it has shown: addresses may still ask for them. */
  private readonly former: RunName[] = []
  private hello = ''

  constructor(
    private readonly options: ShownOptions,
    private readonly streams: Streams,
    private readonly logs: Logs | undefined,
  ) {}

  get name(): RunName | null {
    return this.run?.name ?? this.logged?.name ?? null
  }

  get isLogged(): boolean {
    return this.logged !== undefined
  }

  get hasEnded(): boolean {
    return this.ended !== null
  }

  /** Whether it shows such a run, or did. */
  has(fits: (run: RunName) => boolean): boolean {
    return this.former.some(fits)
  }

  close(): void {
    this.run?.close()
    this.run = undefined
  }

  // ---------------------------------------------------------------- what pages ask for

  snapshot(): Snapshot {
    return {
      saved: Date.now(),
      hello: this.greeting(),
      history: this.history.told(),
      recent: this.recently.seconds,
      now: this.now,
      ended: this.ended,
    }
  }

  timeline(seconds: number): Timeline {
    return timeline(this.run?.processes ?? [], seconds)
  }

  async gallery(rows: number): Promise<Gallery> {
    const { run } = this
    if (run === undefined || this.ended !== null) {
      const none = this.logged === undefined ? 'no run is shown' : 'of this run only the log can be read here'
      return { batch: -1, epoch: 0, step: 0, reason: this.ended?.reason ?? none, rows: [] }
    }
    return gallery(run.engine, run.note, rows)
  }

  bad(rank: number, number: number): { type: string; bytes: Uint8Array } | undefined {
    return this.run?.badPicture(rank, number)
  }

  // ---------------------------------------------------------------- looking

  /** Once a second. */
  look(): void {
    try {
      if (this.run !== undefined && this.ended === null) this.lookAtRun(this.run)
      else if (this.logged !== undefined) this.lookAtLog(this.logged)
      this.greet()
    } catch (error) {
      // A trainer that is being killed can look like anything.
      this.end({ reason: (error as Error).message, time: this.lastSeen })
    }
  }

  /** The run of a process. */
  show(found: FoundRun): void {
    const run = new WatchedRun(found, this.options.idealMs)
    // The next run of a feed goes on where the last one ended.
    if (run.feed !== this.run?.feed) this.begin(run.feed, run.name.world)
    this.leave()
    this.run = run
    this.former.push(run.name)
    this.tell()
  }

  /** False: it has ended meanwhile, or is another version's. */
  tryShow({ trainer, trainerRing }: RunHere): boolean {
    let found: FoundRun | undefined
    try {
      found = findRun(trainer, String(trainerRing))
      this.show(found)
      return true
    } catch {
      found?.close()
      return false
    }
  }

  /** A run that is known by its log alone; or the same one again, with what was found of it since. */
  showLog(logged: LoggedRunHere): void {
    const before = this.logged?.name
    const { feed, trainer, world } = logged.name
    const isSame = before?.feed === feed && before.trainer === trainer
    if (isSame) {
      this.logged = logged
      return
    }
    this.begin(feed, world)
    this.leave()
    this.logged = logged
    this.former.push(logged.name)
    this.lookAtLog(logged)
    this.tell()
  }

  /** Shows the next run of its feed, if there is one. */
  follow(): void {
    const { run, ended } = this
    if (run === undefined || ended === null) return
    const since = (Date.now() - ended.time) / 1000 + SLACK
    const next = this.runs.findLast(one => one.feed === run.feed && one.age < since)
    if (next !== undefined) this.tryShow(next)
  }

  private lookAtRun(run: WatchedRun): void {
    const { now, records: here } = run.look()
    const { feed, world } = run.name
    const elsewhere = this.logs?.writing(feed, world) ?? new Map<number, RunRecord[]>()
    for (const { rank } of here) elsewhere.delete(rank)
    const ranks = [...here, ...lastEach(elsewhere)].sort((a, b) => a.rank - b.rank)
    const told = toldOf(elsewhere)
    const isWorse = told !== null && told.lost > (now.worst?.accounting.lost ?? -1) + MORE
    // What is left of a process that has ended is no picture of the run: the last second of its life stays.
    if (this.now !== null && (run.ended !== undefined || !run.isOpen))
      this.now = { ...this.now, tuner: now.tuner, bad: now.bad }
    else this.tellNow({ ...now, told: isWorse ? told : null, ranks })
    if (run.ended !== undefined) this.end({ reason: run.ended, time: this.lastSeen })
  }

  /** The run is not here, but its log is: its nodes are others, or it has ended. */
  private lookAtLog({ files }: LoggedRunHere): void {
    for (const file of files) file.readHour()
    const fresh = files.filter(file => isFresh(file, Date.now()))
    const ranks = lastOf(fresh.length === 0 ? files : fresh)
    const last = lastEach(ranks)
    if (this.now === null || last.some(record => this.recently.isNews(record)))
      this.tellNow({ ranks: last, worst: null, told: toldOf(ranks), makers: [], tuner: null, bad: [] })
    if (fresh.length > 0) this.ended = null
    else this.end(endOf(files))
  }

  private tellNow(now: Now): void {
    this.now = this.recently.add(now)
    this.streams.send(this, 'now', this.now)
    if (this.now.ranks.length > 0) this.history.add(pointOf(this.now.ranks))
  }

  /** When the last second of the run ended that was told. */
  private get lastSeen(): number {
    const times = this.now?.ranks.map(({ time }) => time) ?? []
    return times.length === 0 ? Date.now() : Math.max(...times)
  }

  /** Another feed is shown: its past is what logs know of it. */
  private begin(feed: string, world: number): void {
    this.history.begin(this.logs?.history(feed, world) ?? [])
  }

  private leave(): void {
    this.run?.close()
    this.run = undefined
    this.logged = undefined
    this.missing = null
    this.ended = null
    this.now = null
    this.recently.clear()
  }

  private end(ended: Ended): void {
    if (this.ended !== null) return
    this.ended = ended
    this.streams.send(this, 'ended', ended)
  }

  // ---------------------------------------------------------------- telling

  private greeting(): Hello {
    const { price, version } = this.options
    const { run } = this
    return {
      version,
      host: hostname(),
      dollarsPerHour: price,
      run: this.name,
      others: this.others(),
      missing: this.missing,
      definition: run?.definition ?? null,
      fields: run?.fields ?? [],
    }
  }

  /** Says hello again where runs have come or gone. */
  private greet(): void {
    const { run, others, ...rest } = this.greeting()
    const plain = (one: RunName | null) => one && { ...one, age: 0 }
    const hello = JSON.stringify({ ...rest, run: plain(run), others: others.map(plain) })
    if (hello === this.hello) return
    if (this.hello !== '') this.streams.send(this, 'hello', { ...rest, run, others })
    this.hello = hello
  }

  /** Another run is shown: all that is open begins anew. */
  private tell(): void {
    this.streams.send(this, 'hello', this.greeting())
    this.streams.send(this, 'history', this.history.told())
    this.streams.send(this, 'recent', this.recently.seconds)
    if (this.now !== null) this.streams.send(this, 'now', this.now)
    if (this.ended !== null) this.streams.send(this, 'ended', this.ended)
  }

  /** Runs to choose from: without this one and its other ranks. */
  private others(): RunName[] {
    const shown = this.ended === null ? this.name : null
    return this.runs
      .filter(run => run.engine !== shown?.engine || run.ring !== shown.ring)
      .filter(run => !(shown && run.world > 1 && run.world === shown.world && run.feed === shown.feed))
      .map(plainName)
  }
}

function lastEach(ranks: ReadonlyMap<number, readonly RunRecord[]>): RunRecord[] {
  return [...ranks.values()].flatMap(records => records.slice(-1))
}

/** Seconds that are kept. */
const SECONDS = 10

class Recently {
  seconds: Recent = []
  /** When the last record of each rank ended. */
  private readonly times = new Map<number, number>()

  /** Whether a record was not told yet. */
  isNews({ rank, time }: RunRecord): boolean {
    return time > (this.times.get(rank) ?? Number.NEGATIVE_INFINITY)
  }

  /** Keeps a second, and gives it back as it is told: what the tuner did is told once, though a record may come again. */
  add(now: Now): Now {
    const ranks = now.ranks.map(record => (this.isNews(record) ? record : { ...record, decisions: [] }))
    for (const { rank, time } of ranks) this.times.set(rank, time)
    this.seconds = [...this.seconds, { ranks }].slice(-SECONDS)
    return { ...now, ranks }
  }

  /** Another run begins. */
  clear(): void {
    this.seconds = []
    this.times.clear()
  }
}

/** So far back from its last record (ms): about what a diagnosis is made of. */
const WINDOW = 15_000

/** `ranks`: records of each, oldest first. Null: no step has ended in their last seconds. */
export function toldOf(ranks: ReadonlyMap<number, readonly RunRecord[]>): Told | null {
  const all = [...ranks.values()].flatMap(records => toldOfRank(records) ?? [])
  return all.length === 0 ? null : all.reduce((worst, one) => (one.lost > worst.lost ? one : worst))
}

function toldOfRank(records: readonly RunRecord[]): Told | undefined {
  const last = records.at(-1)
  if (last === undefined) return undefined
  const window = records.slice(records.findIndex(({ time }) => time > last.time - WINDOW))
  const known = window.flatMap(({ parts, lost, stepMs, steps }) =>
    parts === null || lost === null || stepMs === null || steps === 0 ? [] : [{ parts, lost, stepMs, steps }],
  )
  const steps = known.reduce((sum, one) => sum + one.steps, 0)
  const time = known.reduce((sum, one) => sum + one.stepMs * one.steps, 0)
  if (!(time > 0)) return undefined
  // Shares of a step count by the time of the steps that they are of.
  const mean = (of: (one: (typeof known)[number]) => number) =>
    known.reduce((sum, one) => sum + of(one) * one.stepMs * one.steps, 0) / time
  const names = Object.keys(known[0].parts) as (keyof Parts)[]
  const parts = Object.fromEntries(names.map(name => [name, mean(one => one.parts[name])]))
  const why = window.findLast(one => one.why !== null)?.why ?? null
  return {
    rank: last.rank,
    host: last.host,
    stepMs: time / steps,
    why,
    seconds: why?.seconds ?? window.reduce((sum, one) => sum + one.seconds, 0),
    lost: why?.lost ?? mean(one => one.lost),
    parts: parts as unknown as Parts,
  }
}
