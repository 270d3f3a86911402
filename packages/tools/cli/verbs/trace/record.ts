/** `millrace trace record`: writes the trace of processes that run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { MillraceError } from '../../../../core/basics/errors.js'
import { command, UsageError } from '../../command.js'
import { endsItself, onInterrupt } from '../../interrupt.js'
import { say } from '../../say.js'
import { bytes, counted } from '../../units.js'
import { checkTracePlace, TRACE_LIMIT } from './file.js'

const LOOK_EVERY_MS = 500
/** People read what is waited for after this time without a feed. */
const PATIENCE_MS = 3000

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
    // Ctrl-C and SIGTERM are the ways to end a recording: it is written to its end, and the program ends as asked.
    const asked = new AbortController()
    const forgetEnd = endsItself(() => asked.abort(), 'by SIGTERM too')
    const until = performance.now() + 1000 * (values.seconds ?? Infinity)
    let patient: number | undefined = performance.now() + PATIENCE_MS
    let said = 0
    try {
      for (;;) {
        recorder.look()
        said = tell(recorder.attached, said, values.out)
        if (said === 0 && patient !== undefined && performance.now() >= patient) {
          say(`waiting until ${namesOf([...pids])} opens a feed`)
          patient = undefined
        }
        const left = until - performance.now()
        if (recorder.full || !recorder.alive || left <= 0) break
        await sleep(Math.min(LOOK_EVERY_MS, left), undefined, { signal: asked.signal }).catch(() => {})
        if (asked.signal.aborted) break
      }
    } finally {
      forgetEnd()
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
