/**
 * The dashboard of this machine's runs: finds one, looks at it every second, and tells the pages that are open. Pages that ask
 * for another run look at that. Only /proc and the memory that engines share are read.
 */

import { hostname } from 'node:os'
import { printable } from '../../core/basics/errors.js'
import { findRun } from '../diagnose/attach/find-run.js'
import { type LoggedRunHere, Logs } from './run/logs.js'
import { type RunHere, runsHere } from './run/runs.js'
import { ShownRun } from './run/shown-run.js'
import { DashboardServer } from './server/http.js'
import type { Shown } from './server/requests.js'
import type { RunName } from './view.js'

/** How often runs are looked at (ms). */
const LOOK_EVERY_MS = 1000
/** How often runs are looked for: while one is awaited, and while none is (looks). /proc of a large machine takes a while. */
const SEEK_EVERY_LOOKS = 2
const LIST_EVERY_LOOKS = 15
/** Runs that pages asked for: how many at most, and for how many looks one is watched that no page shows. */
const MOST_ASKED = 32
const MOST_IDLE_LOOKS = 600

export interface DashboardOptions {
  /** The trainer or engine to look at; its feed by name or number, where it has several. */
  attach?: number
  ring?: string
  /** Dollars for an hour of a GPU. */
  price: number
  /** A folder of run logs. */
  log?: string
  /** How long a step of the attached trainer takes with its batch at hand (ms), where that is known. */
  idealMs?: number
  version: string
  host: string
  port?: number
  token?: string
}

/** A run that pages asked for, and since when no page shows it (looks). */
interface Asked {
  shown: ShownRun
  idle: number
}

export class Dashboard implements Shown {
  private readonly server: DashboardServer
  private readonly logs: Logs | undefined
  /** The one that is shown to pages that don't ask for another. */
  private readonly main: ShownRun
  /** Others, by what was asked for. */
  private readonly asked = new Map<string, Asked>()
  private runsSeen: readonly RunHere[] = []
  private looks = 0
  private timer: NodeJS.Timeout | undefined

  private constructor(private readonly options: DashboardOptions) {
    this.logs = options.log === undefined ? undefined : new Logs(options.log)
    this.server = new DashboardServer(this, options)
    this.main = new ShownRun(options, this.server.streams, this.logs)
  }

  /** Throws where the process to attach to has no feed. */
  static async start(options: DashboardOptions): Promise<Dashboard> {
    const dashboard = new Dashboard(options)
    dashboard.list()
    if (options.attach !== undefined) dashboard.attach(options.attach, options.ring)
    else dashboard.seek()
    try {
      dashboard.port = await dashboard.server.listen()
    } catch (error) {
      dashboard.close()
      throw error
    }
    dashboard.timer = setInterval(() => dashboard.look(), LOOK_EVERY_MS)
    return dashboard
  }

  port = 0

  get token(): string {
    return this.server.guard.token
  }

  /** The run that is shown, if any; and those that could be. */
  get runs(): { run: RunName | null; ended: string | null; others: RunName[] } {
    const { hello, ended } = this.main.snapshot()
    return { run: hello.run, ended: ended?.reason ?? null, others: hello.others }
  }

  close(): void {
    clearInterval(this.timer)
    for (const shown of this.all) shown.close()
    this.server.close()
  }

  /** The run that a page asks for. */
  of(asked: string | null): ShownRun {
    if (asked === null) return this.main
    const match = /^(\d{1,10})[.:](\d{1,10})$/.exec(asked)
    const [pid, ring] = [Number(match?.[1]), Number(match?.[2])]
    const fits = (run: RunName) => (run.trainer === pid || run.engine === pid) && run.ring === ring
    const known = this.all.find(one => one.has(fits)) ?? this.asked.get(asked)?.shown
    if (known !== undefined && known.missing === null) return known
    const found = match === null ? undefined : runsHere().find(fits)
    // The first choice is the dashboard's own, where it had none.
    const shown = found && this.main.name === null ? this.main : (known ?? this.more(asked))
    if (found === undefined || !shown.tryShow(found))
      shown.missing = shown === this.main ? null : asked.slice(0, 40)
    shown.runs = this.runsSeen
    return shown
  }

  private get all(): ShownRun[] {
    return [this.main, ...[...this.asked.values()].map(({ shown }) => shown)]
  }

  private more(asked: string): ShownRun {
    // There are fewer streams than this: one at least is not shown by any page.
    if (this.asked.size >= MOST_ASKED)
      for (const [key, { shown }] of this.asked)
        if (this.server.streams.countOf(shown) === 0) {
          this.drop(key)
          break
        }
    const shown = new ShownRun(this.options, this.server.streams, this.logs)
    this.asked.set(asked, { shown, idle: 0 })
    return shown
  }

  private drop(key: string): void {
    this.asked.get(key)?.shown.close()
    this.asked.delete(key)
  }

  // ---------------------------------------------------------------- looking

  private look(): void {
    try {
      this.lookAtAll()
    } catch (error) {
      // Pages stay as they are: the next look may do better.
      process.stderr.write(`millrace dashboard: ${printable(`${(error as Error).stack}`, true)}\n`)
    }
  }

  private lookAtAll(): void {
    this.looks++
    this.logs?.look()
    const awaited = this.all.some(one => one.name === null || one.hasEnded || one.isLogged)
    if (this.looks % (awaited ? SEEK_EVERY_LOOKS : LIST_EVERY_LOOKS) === 0) {
      if (awaited || this.server.streams.count > 0) this.list()
      this.seek()
      for (const shown of this.all) shown.follow()
    }
    for (const shown of this.all) shown.look()
    for (const [key, one] of this.asked) {
      one.idle = this.server.streams.countOf(one.shown) === 0 ? one.idle + 1 : 0
      const isKept = one.shown.missing === null && one.idle < MOST_IDLE_LOOKS
      if (one.idle > 0 && !isKept) this.drop(key)
    }
  }

  private list(): void {
    this.runsSeen = runsHere()
    for (const shown of this.all) shown.runs = this.runsSeen
  }

  /** Ranks of one run are shown together: where a process has no others, none needs to be named. */
  private attach(pid: number, ring: string | undefined): void {
    const own = this.runsSeen.filter(({ trainer, engine }) => trainer === pid || engine === pid)
    if (ring !== undefined || own.length !== 1 || !this.main.tryShow(own[0]))
      this.main.show(findRun(pid, ring))
  }

  /** Looks for what is to be shown: a run of the logs, or else the only one that is here. */
  private seek(): void {
    const { main, runsSeen } = this
    const isOver = main.hasEnded && this.options.attach === undefined
    if (main.name !== null && !main.isLogged && !isOver) return
    const logged = this.logs?.newest()
    // A run that was seen to its end is better known than its log.
    if (logged?.ended && main.name !== null && !main.isLogged) return
    if (logged !== undefined) {
      const here = runsSeen.find(run => isSame(run, logged))
      if (here === undefined || !main.tryShow(here)) main.showLog(logged)
    } else if (main.name === null && runsSeen.length === 1) main.tryShow(runsSeen[0])
  }
}

/** Whether a run that writes a log is one of this machine's. */
function isSame({ feed, world, trainer }: RunHere, { name, ended, files }: LoggedRunHere): boolean {
  const trainers = files.filter(({ header }) => header.host === hostname()).map(one => one.header.trainer)
  return ended === null && name.feed === feed && name.world === world && trainers.includes(trainer)
}
