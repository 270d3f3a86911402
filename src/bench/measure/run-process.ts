/**
 * The process of one run: its memory, CPU time and first batch are that configuration's own. It is told what to do by its parent,
 * answers once, and ends; also when its parent is gone.
 */
import { MillraceError } from '../../basics/errors.js'
import { exitNow, ownProcess } from '../../system/process/exit.js'
import { runOnce } from './one-run.js'
import type { RunMessage, RunTask } from './task.js'

/** Progress is told at most so often (ms). */
const OFTEN = 200

const send = (message: RunMessage): Promise<void> =>
  new Promise(resolve => (process.send ? process.send(message, () => resolve()) : resolve()))

ownProcess()
process.on('disconnect', () => exitNow(1))
let told = 0
process.once('message', (task: RunTask) => {
  runOnce(task, share => {
    if (performance.now() - told < OFTEN) return
    told = performance.now()
    void send({ type: 'progress', share })
  })
    .then(
      answer => send({ type: 'answer', answer }),
      error => send({ type: 'failed', ...failure(error) }),
    )
    .then(() => exitNow(0))
})

function failure(error: unknown): { message: string; tag: string } {
  if (error instanceof MillraceError) return { message: error.message, tag: error.tag }
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error), tag: '' }
}
