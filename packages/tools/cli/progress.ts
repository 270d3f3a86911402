/**
 * Progress of long work on stderr, with rate and time to go. On a terminal one line is drawn again and again;
 * elsewhere (a log file, CI) a line every few seconds says the same. All verbs show it, unless --no-progress or
 * MILLRACE_PROGRESS=0 is given.
 */
import { printable } from '../../core/basics/errors.js'
import { say } from './say.js'
import { bar } from './table.js'
import { bytes, count, duration, rate } from './units.js'

const REDRAW_MS = 100
const LOG_MS = 5000
/** The rate is that of the last seconds, not of the whole: it has to show when something slows down. */
const RATE_WINDOW_MS = 10_000

let shown: boolean | undefined

/** What --progress and --no-progress say: it goes before MILLRACE_PROGRESS. */
export function showProgress(show: boolean): void {
  shown = show
}

/** Whether progress is shown. */
export function progressShown(): boolean {
  return shown ?? process.env.MILLRACE_PROGRESS !== '0'
}

export interface ProgressOptions {
  /** What is counted: `samples`. `bytes` shows amounts of data. */
  unit: string
  total?: number
  /** Where to write; stderr by default. */
  stream?: { isTTY?: boolean; columns?: number; write(text: string): unknown }
  /** Milliseconds, for tests. */
  now?: () => number
}

export class Progress {
  private done = 0
  private what: string
  private total: number
  private unit: string
  private drawnAt = Number.NEGATIVE_INFINITY
  private drawn = false
  private reported = ''
  private readonly marks: { at: number; done: number; tokens: number }[] = []
  private readonly stream: NonNullable<ProgressOptions['stream']>
  private readonly now: () => number

  constructor(what: string, options: ProgressOptions) {
    this.what = printable(what)
    this.unit = options.unit
    this.stream = options.stream ?? process.stderr
    this.now = options.now ?? (() => performance.now())
    this.total = options.total ?? 0
    this.marks.push({ at: this.now(), done: 0, tokens: 0 })
    if (!this.stream.isTTY) this.drawnAt = this.now() // the first line of a log waits until there is something to say
  }

  /**
   * Shows how much is done in all. A verb that goes through several stages also says of how much, the stage, and its unit. `tokens`
   * are counted beside it: their rate is shown as well.
   */
  set(done: number, total = this.total, what = this.what, unit = this.unit, tokens = 0): void {
    const now = this.now()
    if (printable(what) !== this.what) this.marks.splice(0, this.marks.length, { at: now, done, tokens }) // the rate of this work alone
    this.done = done
    this.total = total
    this.what = printable(what)
    this.unit = unit
    if (!progressShown() || now - this.drawnAt < (this.stream.isTTY ? REDRAW_MS : LOG_MS)) return
    this.marks.push({ at: now, done, tokens })
    while (this.marks.length > 2 && now - this.marks[0].at > RATE_WINDOW_MS) this.marks.shift()
    this.drawnAt = now
    this.draw()
  }

  add(more: number): void {
    this.set(this.done + more)
  }

  /** Says so much in place of the rate, from now on: `1,363 samples/s  lost 8.1 %: …`. */
  tell(text: string): void {
    this.reported = printable(text)
  }

  /** Takes the line away, so that what follows stands alone. */
  end(): void {
    if (this.drawn && this.stream.isTTY) this.stream.write('\r\x1b[K')
    this.drawn = false
  }

  private draw(): void {
    const columns = this.stream.isTTY ? (this.stream.columns ?? 80) - 1 : Infinity
    const line = this.line(columns)
    this.drawn = true
    if (this.stream.isTTY) {
      this.stream.write(`\r\x1b[K${line.slice(0, columns)}`)
    } else {
      this.stream.write(`${line}\n`)
    }
  }

  /** Where a line is too narrow, the text of `tell` is cut, and the time that is left stays. */
  private line(columns: number): string {
    const inBytes = this.unit === 'bytes'
    const amount = (n: number) => (inBytes ? bytes(n) : count(n))
    const unit = inBytes ? '' : ` ${this.unit}`
    const first = this.marks[0]
    const last = this.marks[this.marks.length - 1]
    const perMs = (amount: 'done' | 'tokens') =>
      last.at > first.at ? (last[amount] - first[amount]) / (last.at - first.at) : 0
    const perSecond = 1000 * perMs('done')
    const tokens = perMs('tokens') > 0 ? `  ${rate(1000 * perMs('tokens'), 'tokens')}` : ''
    const rates = perSecond === 0 ? '' : `  ${inBytes ? `${bytes(perSecond)}/s` : rate(perSecond)}${tokens}`
    const speed = this.reported === '' ? rates : `  ${this.reported}`
    const within = (before: string, after: string) =>
      before + cut(speed, columns - before.length - after.length) + after
    if (this.total <= 0) return within(`${this.what}  ${amount(this.done)}${unit}`, '')
    const fraction = Math.min(1, this.done / this.total)
    const left =
      perSecond > 0 && this.done < this.total
        ? `  ${duration((this.total - this.done) / perSecond)} left`
        : ''
    const share = `${Math.floor(fraction * 100)} %`
    const gauge = this.stream.isTTY ? ` ▕${bar(fraction, 24).padEnd(24)}▏${share.padStart(5)}` : `  ${share}`
    return within(`${this.what}${gauge}  ${amount(this.done)} of ${amount(this.total)}${unit}`, left)
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`
}

/** Notices of a verb: each is shown at once, and kept for `--json`. */
export function keptNotices(): { notices: string[]; onNotice: (text: string) => void } {
  const notices: string[] = []
  const onNotice = (text: string): void => {
    notices.push(text)
    notice(text)
  }
  return { notices, onNotice }
}

/** A message on stderr that is no error. */
export function notice(text: string): void {
  say(`notice: ${printable(text)}`)
}
