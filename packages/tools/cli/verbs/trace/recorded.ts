/**
 * `--trace FILE`: a process of its own records this one (`millrace trace record`). It takes no time of the trainer's thread,
 * and when this process is killed, all that it had written down still comes into the trace.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MillraceError } from '../../../../core/basics/errors.js'
import { SpanFile } from '../../../../core/spans/file.js'
import { registryVariable } from '../../../../core/system/node/registry.js'

/** Longer (ms) than a worker that has nothing to do holds spans back. */
const HELD = 30

export interface RecordedTrace {
  /** Writes the rest and ends the file. */
  end(): Promise<EndedTrace>
}

/** What is missing: the file was full before the end; records that were written over before they were read. */
export interface EndedTrace {
  file: string
  full: boolean
  lost: number
  /** Why the recorder failed. The file then lacks its end, and more. */
  failed?: string
}

/** Begins to record this process; comes back when it is recorded. */
export async function recordTrace(path: string, limit?: number): Promise<RecordedTrace> {
  if (SpanFile.shared() === undefined)
    throw new MillraceError(
      '--trace is made of spans, and those are turned off (MILLRACE_SPANS=0) or have no memory',
    )
  const main = fileURLToPath(new URL('../../main.js', import.meta.url))
  const words = ['trace', 'record', String(process.pid), '--out', path, '--json']
  if (limit !== undefined) words.push('--limit', String(limit))
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...registryVariable() },
  })
  let said = ''
  let result = ''
  child.stdout.on('data', data => {
    result += data
  })
  const ended = new Promise<number | null>(resolve => child.on('close', code => resolve(code)))
  const reason = () => {
    const { signalCode, exitCode } = child
    const words = said.replace(/^(recording .*\n|waiting .*\n|millrace: )/gm, '').trim()
    const how = signalCode === null ? `ended with status ${exitCode}` : `was killed (${signalCode})`
    return words === '' ? `its recorder ${how}` : words
  }
  const begun = new Promise<void>(resolve => {
    child.stderr.on('data', data => {
      said += data
      if (/^recording /m.test(said)) resolve()
    })
    child.on('error', error => {
      said += error.message
      resolve()
    })
  })
  await Promise.race([begun, ended])
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
    throw new MillraceError(`--trace ${path} can't be written: ${reason()}`)
  return {
    async end() {
      await new Promise(resolve => setTimeout(resolve, HELD))
      child.kill('SIGTERM')
      if ((await ended) !== 0) return { file: path, full: false, lost: 0, failed: reason() }
      const { full, lost } = JSON.parse(result) as EndedTrace
      return { file: path, full, lost }
    },
  }
}
