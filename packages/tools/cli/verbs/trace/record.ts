/** `millrace trace record`: writes the trace of processes that run. */
import { MillraceError } from '../../../../core/basics/errors.js'
import { command, UsageError } from '../../command.js'
import { onInterrupt } from '../../interrupt.js'
import { say } from '../../say.js'
import { bytes, counted } from '../../units.js'
import { TRACE_LIMIT } from './limit.js'
import { checkTracePlace } from './place.js'

/** The file grows this often (ms). */
const OFTEN = 500
/** After so long (ms) without a feed, people are told what is waited for. */
const PATIENCE = 3000

export const record = command({
  name: 'trace record',
  summary: 'writes the trace of a trainer that runs',
  about:
    'Reads the spans of running processes and writes them to a trace, until the processes end, or Ctrl-C. It changes nothing in ' +
    'them. Engines that feed a trainer and processes that it started belong to it. A process that has opened no feed yet is ' +
    'waited for. The file grows twice a second; when a process is killed, all that it had written down is still recorded.',
  args: [{ name: 'PID', about: 'a trainer, a launcher of trainers, or an engine', many: true }],
  options: {
    out: { type: 'text', value: 'FILE', about: 'run.json, run.json.gz, run.pfw or run.pfw.gz' },
    seconds: { type: 'number', value: 'S', about: 'stop after so many seconds' },
    limit: { ...TRACE_LIMIT, about: 'stop before the file gets larger than this' },
  },
  examples: [
    ['millrace trace record 4711 --out run.json.gz', 'then open run.json.gz in ui.perfetto.dev'],
    ['millrace trace record 4711 --out run.pfw.gz --seconds 60', 'a minute, for DFAnalyzer'],
  ],
  async run({ args, values }) {
    const [{ Recorder }, { isAlive }, { spanWriters }] = await Promise.all([
      import('../../../../observe/trace/recorder.js'),
      import('../../../../observe/trace/processes.js'),
      import('../../../../core/spans/attach.js'),
    ])
    if (values.out === undefined)
      throw new UsageError('trace record needs --out FILE, such as --out run.json.gz')
    await checkTracePlace('--out', values.out)
    const pids = new Set(args.map(pidOf))
    for (const pid of pids)
      if (!isAlive(pid)) throw new MillraceError(`there is no process ${pid}; ${feeding(spanWriters())}`)
    const recorder = new Recorder(pids, { path: values.out, limit: values.limit })
    // Whatever ends the program, the file gets its end.
    const forget = onInterrupt(() => recorder.end())
    const ended = new Ended(values.seconds)
    let said = 0
    const patience = new Patience([...pids])
    try {
      for (;;) {
        recorder.look()
        said = tell(recorder.attached, said, values.out)
        if (said === 0) patience.look()
        if (recorder.full || !recorder.alive) break
        if (await ended.within(OFTEN)) break
      }
    } finally {
      ended.forget()
      forget()
      recorder.end()
    }
    const { attached, records, lost, full } = recorder
    if (attached.length === 0)
      throw new MillraceError(
        `nothing was recorded: ${namesOf([...pids])} opened no feed meanwhile, or spans are turned off there (MILLRACE_SPANS=0); ` +
          feeding(spanWriters()),
      )
    const json = { out: values.out, processes: attached, records, lost, bytes: recorder.bytes, full }
    const text =
      `${values.out}: ${counted(records, 'record')} of ${counted(attached.length, 'process', 'processes')}, ${bytes(recorder.bytes)}` +
      (lost > 0 ? `; ${counted(lost, 'record')} came too fast and are missing` : '') +
      (full ? '; it ended at --limit' : '')
    return { json, text }
  },
})

/** Which processes could have been named. */
function feeding(writers: readonly { pid: number }[]): string {
  const pids = [...new Set(writers.map(({ pid }) => pid))].filter(pid => pid !== process.pid)
  return pids.length === 0
    ? 'no process on this machine has a feed open'
    : `these have a feed open: ${pids.join(', ')}`
}

function namesOf(pids: readonly number[]): string {
  return `${pids.length === 1 ? 'process' : 'processes'} ${pids.join(', ')}`
}

/** Says once that no feed is open yet. */
class Patience {
  private readonly until = performance.now() + PATIENCE
  private said = false

  constructor(private readonly pids: readonly number[]) {}

  look(): void {
    if (this.said || performance.now() < this.until) return
    this.said = true
    say(`waiting until ${namesOf(this.pids)} opens a feed`)
  }
}

function pidOf(text: string): number {
  const pid = Number(text)
  if (!Number.isInteger(pid) || pid <= 0)
    throw new UsageError(`PID is the number of a process, not "${text}"`)
  return pid
}

/** Tells of new processes: the program that started the recorder knows by this that it is attached. */
function tell(attached: readonly number[], said: number, out: string): number {
  if (attached.length > said) say(`recording ${attached.join(', ')} to ${out}`)
  return attached.length
}

/** Ctrl-C and SIGTERM are the ways to end a recording: what is there is written, and the program ends as asked. */
class Ended {
  private asked = false
  private wake = (): void => {}
  private readonly before = (['SIGINT', 'SIGTERM'] as const).map(
    signal => [signal, process.listeners(signal) as NodeJS.SignalsListener[]] as const,
  )
  private readonly hear = (): void => {
    this.asked = true
    this.wake()
  }
  private readonly until: number

  constructor(seconds: number | undefined) {
    this.until = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
    for (const [signal] of this.before) {
      process.removeAllListeners(signal)
      process.on(signal, this.hear)
    }
  }

  /** Waits so many ms. True: it is time to end. */
  async within(ms: number): Promise<boolean> {
    const left = Math.min(ms, this.until - performance.now())
    if (!this.asked && left > 0) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, left)
        this.wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.asked || performance.now() >= this.until
  }

  forget(): void {
    for (const [signal, listeners] of this.before) {
      process.off(signal, this.hear)
      for (const listener of listeners) process.on(signal, listener)
    }
  }
}
