/** Runs a measurement in a process of its own (`startChild`), and what that process does (`serve`): it gets one task, answers once, and ends. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BudgetError, DefinitionError, MillraceError } from '../../../build/core/basics/errors.js'
import { loadRegistry, registryVariable } from '../../../build/core/system/node/registry.js'
import { exitNow, ownProcess } from '../../../build/core/system/process/exit.js'

/** The end of what a process writes to stderr is kept for the message when it fails. */
const STDERR_CHARACTERS = 2000

/** `report`: called with what the process says meanwhile. */
export function startChild(script, task, report) {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(script)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    env: { ...process.env, ...registryVariable() },
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-STDERR_CHARACTERS)
  })
  const answer = new Promise((resolve, reject) => {
    let failed
    child.on('message', message => {
      if (message.type === 'report') report(message.what)
      else if (message.type === 'answer') resolve(message.answer)
      else failed = errorOf(message)
    })
    child.on('error', error => reject(new MillraceError(`can't start a process: ${error.message}`)))
    child.on('close', (code, signal) => {
      const how = signal === null ? `it left with code ${code}` : `it was ended by ${signal}`
      reject(failed ?? new MillraceError(`${how}${said.trim() === '' ? '' : `: ${said.trim()}`}`))
    })
    child.send(task, error => {
      if (error) reject(new MillraceError(`can't send a process its task: ${error.message}`))
    })
  })
  return { answer, kill: () => child.kill('SIGKILL') }
}

/** The error that ended the other process, as one of this one. */
function errorOf({ tag, message }) {
  const [, path, problem] = /^(options\.\w+): (.*)$/s.exec(message) ?? []
  if (tag === 'Definition' && path !== undefined) return new DefinitionError(path, problem)
  return new (tag === 'Budget' ? BudgetError : MillraceError)(message)
}

/** The other side: `measure` gets the task, and a function to report by. */
export function serve(measure) {
  const send = message => new Promise(resolve => process.send(message, () => resolve()))
  ownProcess()
  process.on('disconnect', () => exitNow(1))
  process.once('message', task => {
    loadRegistry()
      .then(() => measure(task, what => void send({ type: 'report', what })))
      .then(
        answer => send({ type: 'answer', answer }),
        error => send({ type: 'failed', ...failure(error) }),
      )
      .then(() => exitNow(0))
  })
}

function failure(error) {
  if (error instanceof MillraceError) return { message: error.message, tag: error.tag }
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error), tag: '' }
}
