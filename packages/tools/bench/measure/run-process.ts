/**
 * The process of one run of a configuration: the other side of child.ts. It gets its task from its parent, answers once, and ends; also when
 * its parent is gone.
 */
import { MillraceError } from '../../../core/basics/errors.js'
import { loadRegistry } from '../../../core/system/node/registry.js'
import { exitNow, ownProcess } from '../../../core/system/process/exit.js'
import { runOnce } from './one-run.js'
import type { Message, RunTask } from './task.js'

const PROGRESS_EVERY_MS = 200

const send = (message: Message): Promise<void> =>
  new Promise(resolve => (process.send ? process.send(message, () => resolve()) : resolve()))

let last = 0
const progress = (share: number): void => {
  if (performance.now() - last < PROGRESS_EVERY_MS) return
  last = performance.now()
  void send({ type: 'progress', share })
}

ownProcess()
process.on('disconnect', () => exitNow(1))
process.once('message', (task: RunTask) => {
  loadRegistry()
    .then(() => runOnce(task, progress))
    .then(
      answer => send({ type: 'answer', answer }),
      error => send({ type: 'failed', message: failure(error) }),
    )
    .then(() => exitNow(0))
})

function failure(error: unknown): string {
  if (error instanceof MillraceError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
