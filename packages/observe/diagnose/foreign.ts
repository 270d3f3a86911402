/** A loader that is not ours (`--loader module:object`): a Python process runs and watches it, and what it saw is judged here. */
import { spawn } from 'node:child_process'
import { MillraceError } from '../../core/basics/errors.js'
import { type Findings, findings } from './findings.js'
import { checkEvidence } from './recorded.js'

export interface DiagnoseLoaderOptions {
  stepMs: number
  seconds: number
  steps?: number
}

/** Its output, but for one line, belongs to the loader; so much of it is kept. */
const KEPT = 64 * 2 ** 20

export async function diagnoseLoader(loader: string, options: DiagnoseLoaderOptions): Promise<Findings> {
  const python = process.env.MILLRACE_PYTHON || 'python3'
  const { stepMs, seconds, steps } = options
  const words = ['-m', 'millrace._diagnose.loader', loader, '--seconds', String(seconds)]
  if (stepMs > 0) words.push('--step-ms', String(stepMs))
  if (steps !== undefined) words.push('--steps', String(steps))
  const lines = (await output(python, words)).trimEnd().split('\n')
  // A loader may print when its process ends.
  const line = lines.findLast(one => /^\{"version": ?1,/.test(one))
  if (line === undefined)
    throw new MillraceError(`${loader}: its process printed no evidence, but ${lines.at(-1)?.slice(0, 200)}`)
  return findings(checkEvidence(JSON.parse(line), loader))
}

/** What a command prints. Its stderr is ours. */
function output(python: string, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(python, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (more: string) => {
      text = (text + more).slice(-KEPT)
    })
    child.on('error', error =>
      reject(
        new MillraceError(
          `can't run ${python}: ${error.message}; MILLRACE_PYTHON names the interpreter that has your loader`,
        ),
      ),
    )
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(text)
      const how = signal === null ? `with status ${code}` : `by ${signal}`
      reject(new MillraceError(`${python} -m millrace._diagnose.loader ended ${how}: see what it said above`))
    })
  })
}
