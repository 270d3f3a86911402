/** Runs a measurement in a process of its own: its memory, CPU time and first batch are that measurement's alone. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MillraceError } from '../../../core/basics/errors.js'
import { registryVariable } from '../../../core/system/node/registry.js'
import type { Message, RunAnswer, RunTask } from './task.js'

/** The end of what a process writes to stderr is kept for the message when it fails. */
const STDERR_CHARACTERS = 2000

/** A run that could not be made, and why. */
export class RunFailed extends MillraceError {}

export interface Child {
  /** Rejects with RunFailed. */
  answer: Promise<RunAnswer>
  /** Ends it at once. */
  kill(): void
}

/** One run of a configuration. */
export function startRun(task: RunTask, progress: (share: number) => void): Child {
  const script = fileURLToPath(new URL('./run-process.js', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, script], {
    // Stdout is ignored, since a user's functions may print there.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // NaN and Infinity stay what they are.
    serialization: 'advanced',
    env: { ...process.env, ...registryVariable() },
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-STDERR_CHARACTERS)
  })
  const answer = new Promise<RunAnswer>((resolve, reject) => {
    let failed: string | undefined
    child.on('message', (message: Message) => {
      if (message.type === 'progress') progress(message.share)
      else if (message.type === 'answer') resolve(message.answer)
      else failed = message.message
    })
    child.on('error', error => reject(new RunFailed(`can't start a process: ${error.message}`)))
    child.on('close', (code, signal) => {
      const how = signal === null ? `it left with code ${code}` : `it was ended by ${signal}`
      reject(new RunFailed(failed ?? `${how}${said.trim() === '' ? '' : `: ${said.trim()}`}`))
    })
    child.send(task, error => {
      if (error) reject(new RunFailed(`can't send a process its task: ${error.message}`))
    })
  })
  return { answer, kill: () => child.kill('SIGKILL') }
}
