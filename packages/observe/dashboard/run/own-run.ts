/** A run that the dashboard starts itself: `millrace run FEED` in a process of its own, which ends with the dashboard. */
import { type ChildProcess, spawn } from 'node:child_process'
import { MillraceError } from '../../../core/basics/errors.js'
import { attachSpans } from '../../../core/spans/attach.js'
import { registryVariable } from '../../../core/system/node/registry.js'

/** Bytes of what it says at last that are kept, in case it fails. */
const KEPT_BYTES = 4096
/** How often it is looked whether it has begun (ms). */
const LOOK_EVERY_MS = 50

export class OwnRun {
  private said = ''
  private over: string | undefined

  private constructor(private readonly child: ChildProcess) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.said = (this.said + text).slice(-KEPT_BYTES)
    })
    child.on('error', error => {
      this.over ??= error.message
    })
    child.on('close', (code, signal) => {
      this.over ??= this.reason(code, signal)
    })
  }

  /** `cli`: the program of the command line. `options` are those of `millrace run`. Resolves when its feed is open. */
  static async start(cli: string, feed: string, options: readonly string[]): Promise<OwnRun> {
    const child = spawn(
      process.execPath,
      [cli, 'run', feed, '--endless', '--starter', String(process.pid), ...options],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...registryVariable() } },
    )
    const run = new OwnRun(child)
    while (!run.isOpen) {
      if (run.over !== undefined)
        throw new MillraceError(run.complaint ?? `${feed} can't be run: ${run.over}`)
      await new Promise(resolve => setTimeout(resolve, LOOK_EVERY_MS))
    }
    return run
  }

  get pid(): number {
    return this.child.pid ?? -1
  }

  /** Why it has ended; undefined while it has not. */
  get ended(): string | undefined {
    return this.over
  }

  stop(): void {
    this.child.kill('SIGTERM')
  }

  private get isOpen(): boolean {
    try {
      using spans = attachSpans(this.pid)
      return spans.rings().some(({ open }) => open)
    } catch {
      return false
    }
  }

  /** What the command line said was wrong, in its own words. */
  private get complaint(): string | undefined {
    return /^millrace: (.+)/m.exec(this.said)?.[1]
  }

  private reason(code: number | null, signal: string | null): string {
    // Lines of progress end with a carriage return.
    const lines = this.said.split(/[\r\n]+/).filter(line => /\S/.test(line))
    const last = lines.slice(-3).join(' ').trim()
    const how = signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`
    return last === '' ? how : `${how}: ${last}`
  }
}
