/**
 * Per-step records, a JSON line for each event, in the schema of Earthmover's dataloader-demo and of the notebooks that plot such logs: `run start`,
 * `setup start|end`, `epoch start|end`, `get-batch start|end`, `training start|end`, `run end`; times are seconds since 1970.
 */
import type { RunTimes } from '../measure/task.js'

/** One line. `duration` (s) is with what ends. */
export interface StepEvent {
  event: string
  time: number
  duration?: number
  epoch?: number
  /** The batch that workers worked on, and the worker. */
  idx?: number
  pid?: number
  /** The batch that the trainer took. */
  batch?: number
  data_params?: string
  locals?: Record<string, unknown>
}

/** In the order in which things happened. `locals`: all parameters of the run. */
export function stepEvents(times: RunTimes, feed: string, locals: Record<string, unknown>): StepEvent[] {
  const at = (ms: number) => (times.begun + ms) / 1000
  const events: StepEvent[] = []
  const between = (name: string, start: number, end: number, more: Partial<StepEvent>) => {
    events.push({ event: `${name} start`, time: at(start), ...more })
    events.push({ event: `${name} end`, time: at(end), ...more, duration: (end - start) / 1000 })
  }
  between('setup', ...times.setup, {})
  for (const { epoch, start, end } of times.epochs) between('epoch', start, end, { epoch })
  for (const { batch, worker, start, end } of times.batches)
    between('get-batch', start, end, { idx: batch, pid: worker })
  for (const [batch, [, got, done]] of times.steps.entries()) between('training', got, done, { batch })
  // What happens at once stays in the order in which it was put there.
  events.sort((a, b) => a.time - b.time)
  return [
    { event: 'run start', time: at(0), data_params: feed, locals },
    ...events,
    { event: 'run end', time: at(times.end), duration: times.end / 1000 },
  ]
}

export function stepLog(events: readonly StepEvent[]): string {
  return `${events.map(event => JSON.stringify(event)).join('\n')}\n`
}
