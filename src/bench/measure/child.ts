/** Runs a configuration in a process of its own. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MillraceError } from '../../basics/errors.js'
import type { RunAnswer, RunMessage, RunTask } from './task.js'

const SCRIPT = fileURLToPath(new URL('./run-process.js', import.meta.url))
/** Of what a process says on stderr, so much is kept for the message when it fails. */
const TAIL = 2000

/** A run that could not be made, and why: too little memory, for example. */
export class RunFailed extends MillraceError {}

export interface Child {
  answer: Promise<RunAnswer>
  /** Ends it at once. */
  kill(): void
}

export function startRun(task: RunTask, progress: (share: number) => void): Child {
  // What a user's functions print on stdout is no word of ours.
  const child = spawn(process.execPath, [...process.execArgv, SCRIPT], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-TAIL)
  })
  const answer = new Promise<RunAnswer>((resolve, reject) => {
    let failed = ''
    child.on('message', (message: RunMessage) => {
      if (message.type === 'progress') progress(message.share)
      else if (message.type === 'answer') resolve(message.answer)
      else failed = message.message
    })
    child.on('error', error => reject(new RunFailed(`can't start a process: ${error.message}`)))
    child.on('close', (code, signal) => {
      const how = signal === null ? `it left with code ${code}` : `it was ended by ${signal}`
      reject(new RunFailed(failed || `${how}${said.trim() === '' ? '' : `: ${said.trim()}`}`))
    })
    child.send(task, error => {
      if (error) reject(new RunFailed(`can't tell a process what to do: ${error.message}`))
    })
  })
  return { answer, kill: () => child.kill('SIGKILL') }
}
