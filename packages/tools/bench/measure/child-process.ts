/**
 * The other side of child.ts, in the process of one measurement: it is told what to do by its parent, answers once, and ends; also when its
 * parent is gone.
 */
import { MillraceError } from '../../../core/basics/errors.js'
import { loadRegistry } from '../../../core/system/node/registry.js'
import { exitNow, ownProcess } from '../../../core/system/process/exit.js'
import type { Message } from './task.js'

export function serve<Task, Answer, Report>(
  measure: (task: Task, report: (what: Report) => void) => Promise<Answer>,
): void {
  const send = (message: Message<Answer, Report>): Promise<void> =>
    new Promise(resolve => (process.send ? process.send(message, () => resolve()) : resolve()))
  ownProcess()
  process.on('disconnect', () => exitNow(1))
  process.once('message', (task: Task) => {
    loadRegistry()
      .then(() => measure(task, what => void send({ type: 'told', what })))
      .then(
        answer => send({ type: 'answer', answer }),
        error => send({ type: 'failed', ...failure(error) }),
      )
      .then(() => exitNow(0))
  })
}

function failure(error: unknown): { message: string; tag: string } {
  if (error instanceof MillraceError) return { message: error.message, tag: error.tag }
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error), tag: '' }
}
