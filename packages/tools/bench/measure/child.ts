/** Runs a measurement in a process of its own: its memory, CPU time and first batch are that measurement's alone. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BudgetError, DefinitionError, MillraceError } from '../../../core/basics/errors.js'
import { registryVariable } from '../../../core/system/node/registry.js'
import type { Message, RunAnswer, RunTask } from './task.js'

/** Of what a process says on stderr, so much is kept for the message when it fails. */
const TAIL = 2000

/** A run that could not be made, and why. */
export class RunFailed extends MillraceError {}

export interface Child<Answer> {
  /** Rejects with BudgetError where there was too little memory, with DefinitionError for a wrong option, with RunFailed otherwise. */
  answer: Promise<Answer>
  /** Ends it at once. */
  kill(): void
}

/** One run of a configuration. All reasons why it could not run are alike. */
export function startRun(task: RunTask, progress: (share: number) => void): Child<RunAnswer> {
  const script = new URL('./run-process.js', import.meta.url)
  const { answer, kill } = startChild<RunTask, RunAnswer, number>(script, task, progress)
  return {
    kill,
    answer: answer.catch(error => {
      throw error instanceof RunFailed ? error : new RunFailed((error as Error).message)
    }),
  }
}

/** `script` calls `serve` of child-process.ts. `told`: what it says meanwhile. */
export function startChild<Task, Answer, Report>(
  script: URL,
  task: Task,
  report: (what: Report) => void,
): Child<Answer> {
  // What a user's functions print on stdout is no word of ours. By "advanced", NaN and Infinity stay what they are.
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(script)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    env: { ...process.env, ...registryVariable() },
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-TAIL)
  })
  const answer = new Promise<Answer>((resolve, reject) => {
    let failed: MillraceError | undefined
    child.on('message', (message: Message<Answer, Report>) => {
      if (message.type === 'told') report(message.what)
      else if (message.type === 'answer') resolve(message.answer)
      else failed = errorOf(message.tag, message.message)
    })
    child.on('error', error => reject(new RunFailed(`can't start a process: ${error.message}`)))
    child.on('close', (code, signal) => {
      const how = signal === null ? `it left with code ${code}` : `it was ended by ${signal}`
      reject(failed ?? new RunFailed(`${how}${said.trim() === '' ? '' : `: ${said.trim()}`}`))
    })
    child.send(task as object, error => {
      if (error) reject(new RunFailed(`can't tell a process what to do: ${error.message}`))
    })
  })
  return { answer, kill: () => child.kill('SIGKILL') }
}

/** The error that ended the other process, as one of this one. */
function errorOf(tag: string, message: string): MillraceError {
  const [, path, problem] = /^(options\.\w+): (.*)$/s.exec(message) ?? []
  if (tag === 'Definition' && path !== undefined) return new DefinitionError(path, problem)
  return new (tag === 'Budget' ? BudgetError : RunFailed)(message)
}
