/**
 * The dashboard of this machine's runs: finds one, looks at it every second, and tells the pages that are open. Only /proc and
 * the memory that engines share are read; a run is changed only where `control` allows it.
 */
import { hostname } from 'node:os'
import { MillraceError } from '../basics/errors.js'
import { controlledBy } from '../diagnose/attach/controller.js'
import { type FoundRun, findRun } from '../diagnose/attach/find-run.js'
import { gallery } from './gallery/gallery.js'
import { Alarms } from './run/alarms.js'
import { RunControl } from './run/control.js'
import { History, pointOf } from './run/history.js'
import { Logs } from './run/logs.js'
import { plainName, type RunHere, runsHere } from './run/runs.js'
import { timeline } from './run/timeline.js'
import { WatchedRun } from './run/watched-run.js'
import { DashboardServer } from './server/http.js'
import type { Shown, Snapshot } from './server/requests.js'
import type { Alert, Ended, Gallery, Hello, Now, RunName, Timeline } from './view.js'

/** How often the run is looked at (ms). */
const OFTEN = 1000
/** How often runs are looked for: while none is shown, and while one is (looks). /proc of a large machine takes a while. */
const SEEK = 2
const LIST = 15

export interface DashboardOptions {
  /** The trainer or engine to look at; its feed by name or number, where it has several. */
  attach?: number
  ring?: string
  /** Workers and depth may be changed. */
  control: boolean
  /** Dollars for an hour of a GPU. */
  price: number
  /** A folder of run logs. */
  log?: string
  /** Rules of alerts, and what is told of them. */
  alerts?: readonly string[]
  onAlert?: (alert: Alert) => void
  version: string
  host: string
  port?: number
  token?: string
}

export class Dashboard implements Shown {
  readonly control: RunControl | undefined
  private readonly server: DashboardServer
  private readonly history = new History()
  private run: WatchedRun | undefined
  private now: Now | null = null
  private ended: Ended | null = null
  private others: RunName[] = []
  private hello = ''
  private looks = 0
  private timer: NodeJS.Timeout | undefined
  private readonly alarms: Alarms
  /** Those that hold now, by rule. */
  private readonly alerts = new Map<string, Alert>()
  private readonly logs: Logs | undefined
  /** A run that is known by its log alone. */
  private logged: RunName | undefined

  private constructor(private readonly options: DashboardOptions) {
    if (options.control) this.control = new RunControl(() => this.controllable())
    this.alarms = new Alarms(options.alerts ?? [])
    this.logs = options.log === undefined ? undefined : new Logs(options.log)
    this.server = new DashboardServer(this, options)
  }

  /** Throws where the process to attach to has no feed. */
  static async start(options: DashboardOptions): Promise<Dashboard> {
    const dashboard = new Dashboard(options)
    const { attach, ring } = options
    if (attach !== undefined) dashboard.show(findRun(attach, ring))
    else dashboard.seek()
    try {
      dashboard.port = await dashboard.server.listen()
    } catch (error) {
      dashboard.close()
      throw error
    }
    dashboard.timer = setInterval(() => dashboard.look(), OFTEN)
    return dashboard
  }

  port = 0

  get token(): string {
    return this.server.guard.token
  }

  /** The run that is shown, if any; and those that could be. */
  get runs(): { run: RunName | null; others: RunName[] } {
    return { run: this.run?.name ?? this.logged ?? null, others: this.others }
  }

  /** Ends it: what was set and not kept is set back. Nothing is waited for. */
  close(): void {
    clearInterval(this.timer)
    this.control?.close()
    this.run?.close()
    this.run = undefined
    this.server.close()
  }

  // ---------------------------------------------------------------- what pages ask for

  snapshot(): Snapshot {
    return {
      saved: Date.now(),
      hello: this.greeting(),
      history: this.history.told(),
      now: this.now,
      recent: { seconds: this.now === null ? [] : [this.now], slots: [] },
      alerts: [...this.alerts.values()],
      ended: this.ended,
    }
  }

  timeline(seconds: number): Timeline {
    return timeline(this.run?.processes ?? [], seconds)
  }

  async gallery(rows: number): Promise<Gallery> {
    const { run } = this
    if (run === undefined || this.ended !== null)
      return { batch: -1, epoch: 0, step: 0, reason: this.ended?.reason ?? 'no run is shown', rows: [] }
    return gallery(run.engine, run.note, rows)
  }

  bad(number: number): { type: string; bytes: Uint8Array } | undefined {
    return this.run?.badPicture(number)
  }

  choose(text: string): boolean {
    const match = /^(\d{1,10})[.:](\d{1,10})$/.exec(text)
    if (match === null) return false
    const [pid, ring] = [Number(match[1]), Number(match[2])]
    const fits = (run: RunName) => (run.trainer === pid || run.engine === pid) && run.ring === ring
    const shown = this.run?.name
    if (shown !== undefined && fits(shown) && this.ended === null) return true
    const found = runsHere().find(fits)
    if (found === undefined || !this.tryShow(found, true)) return false
    this.tell()
    return true
  }

  // ---------------------------------------------------------------- looking

  private look(): void {
    this.looks++
    try {
      this.logs?.look()
      if (this.run === undefined || this.ended !== null) {
        if (this.looks % SEEK === 0) this.seek()
        if (this.run === undefined) this.lookAtLogs()
      } else {
        this.lookAtRun(this.run)
        if (this.looks % LIST === 0 && this.server.streams.count > 0) this.others = this.list(runsHere())
      }
    } catch (error) {
      // A trainer that is being killed can look like anything.
      this.end((error as Error).message)
    }
    this.greet()
  }

  private lookAtRun(run: WatchedRun): void {
    const { now, records: here } = run.look()
    const known = new Set(here.map(({ rank }) => rank))
    const { feed, world } = run.name
    const elsewhere = this.logs?.now(feed, world).filter(({ rank }) => !known.has(rank)) ?? []
    const ranks = [...here, ...elsewhere].sort((a, b) => a.rank - b.rank)
    this.tellNow({ ...now, ranks, controlledBy: controlledBy(run.engine) })
    if (run.ended !== undefined) this.end(run.ended)
  }

  /** No run is here, but its log is: its nodes are others. */
  private lookAtLogs(): void {
    const newest = this.logs?.newest()
    if (this.logs === undefined || newest === undefined) return
    const { feed, world, trainer } = newest.name
    if (this.logged?.feed !== feed || this.logged.trainer !== trainer) {
      this.logged = newest.name
      this.begin(feed, world)
    }
    this.logged = newest.name
    const ranks = this.logs.now(feed, world)
    const time = Math.max(0, ...ranks.map(one => one.time))
    if (time > (this.now?.ranks[0]?.time ?? 0) && newest.ended === null)
      this.tellNow({ ranks, worst: null, told: null, makers: [], tuner: null, bad: [], controlledBy: null })
    if (newest.ended !== null) this.end(newest.ended)
  }

  private tellNow(now: Now): void {
    this.now = now
    this.server.streams.send('now', now)
    if (now.ranks.length === 0) return
    this.history.add(pointOf(now.ranks))
    for (const alert of this.alarms.look(now.ranks)) {
      if (alert.since === null) this.alerts.delete(alert.rule)
      else this.alerts.set(alert.rule, alert)
      this.server.streams.send('alert', alert)
      this.options.onAlert?.(alert)
    }
  }

  /** Another feed is shown: its past is what logs know of it. */
  private begin(feed: string, world: number): void {
    this.history.clear()
    this.alarms.clear()
    this.alerts.clear()
    this.ended = null
    for (const point of this.logs?.history(feed, world) ?? []) this.history.add(point)
  }

  private end(reason: string): void {
    if (this.ended !== null) return
    this.control?.forget()
    this.ended = { reason, time: Date.now() }
    this.server.streams.send('ended', this.ended)
  }

  /** Looks for a run: the next one of the same feed, or the only one that is here. */
  private seek(): void {
    const runs = runsHere()
    const feed = this.run?.feed
    const fitting = feed === undefined ? runs : runs.filter(run => run.feed === feed)
    const next = feed === undefined ? (fitting.length === 1 ? fitting[0] : undefined) : fitting.at(-1)
    if (next !== undefined && this.tryShow(next, false)) this.tell()
    this.others = this.list(runs)
  }

  private tryShow({ trainer, trainerRing }: RunHere, chosen: boolean): boolean {
    let found: FoundRun
    try {
      found = findRun(trainer, String(trainerRing))
    } catch {
      return false // it has ended meanwhile
    }
    this.show(found, chosen)
    return true
  }

  private show(found: FoundRun, chosen = true): void {
    const run = new WatchedRun(found)
    // The next run of a feed goes on where the last one ended.
    if (chosen || run.feed !== this.run?.feed) this.begin(run.feed, run.name.world)
    this.control?.close()
    this.run?.close()
    this.run = run
    this.ended = null
    this.now = null
    this.others = this.list(runsHere())
  }

  private list(runs: readonly RunHere[]): RunName[] {
    const shown = this.ended === null ? this.run?.name : undefined
    return runs
      .filter(run => run.engine !== shown?.engine || run.ring !== shown.ring)
      .filter(run => !(shown && run.world > 1 && run.world === shown.world && run.feed === shown.feed))
      .map(plainName)
  }

  // ---------------------------------------------------------------- telling

  private greeting(): Hello {
    const { control, price, version } = this.options
    const { run } = this
    return {
      version,
      host: hostname(),
      control,
      dollarsPerHour: price,
      run: run?.name ?? this.logged ?? null,
      others: this.others,
      missing: null,
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
    if (this.hello !== '') this.server.streams.send('hello', { ...rest, run, others })
    this.hello = hello
  }

  /** Another run is shown: all that is open begins anew. */
  private tell(): void {
    this.server.streams.send('hello', this.greeting())
    this.server.streams.send('history', this.history.told())
  }

  private controllable() {
    const { run } = this
    const setting = this.ended === null ? run?.setting : undefined
    if (run === undefined || setting === undefined)
      throw new MillraceError('no run is shown that could be changed')
    const { trainer, trainerRing, engine, ring } = run
    return { trainer, trainerRing, engine, ring, workers: setting.workers, depth: setting.depth }
  }
}
