/** A timeline in Chrome's JSON form, which Perfetto opens as it is: the trainer on one row, each worker on its own. */

import { SPAN_NAMES, type Span } from '../basics/spans.js'
import { writeWhole } from '../system/files/draft.js'

export interface TraceData {
  /** Steps of the trainer, in ms since `begun`. */
  steps: readonly { start: number; wait: number; compute: number }[]
  /** Beginning of the run, in ms since 1970. */
  begun: number
  /** The spans of each worker. */
  lanes: readonly (readonly Span[])[]
}

/** Spans of the trainer carry the names that DFTracer's vocabulary has for them. */
const TRAINER = 0

export function writeTrace(path: string, data: TraceData): void {
  writeWhole(path, renderTrace(data))
}

function renderTrace({ steps, begun, lanes }: TraceData): string {
  const lines = [named(TRAINER, 'trainer'), ...lanes.map((_, i) => named(i + 1, `worker ${i}`))]
  for (const [i, { start, wait, compute }] of steps.entries()) {
    lines.push(event(TRAINER, 'fetch', 'dataloader', start, wait, i))
    lines.push(event(TRAINER, 'step', 'compute', start + wait, compute, i))
  }
  for (const [i, spans] of lanes.entries()) {
    for (const { kind, start, duration, batch } of spans) {
      if (start < begun) continue
      lines.push(event(i + 1, SPAN_NAMES[kind], 'data', start - begun, duration, batch))
    }
  }
  return `[\n${lines.join(',\n')}\n]\n`
}

function named(tid: number, name: string): string {
  return JSON.stringify({ ph: 'M', pid: 1, tid, name: 'thread_name', args: { name } })
}

function event(tid: number, name: string, cat: string, startMs: number, ms: number, batch: number): string {
  const ts = Math.round(startMs * 1000 * 10) / 10
  return JSON.stringify({
    ph: 'X',
    pid: 1,
    tid,
    name,
    cat,
    ts,
    dur: Math.round(ms * 1e4) / 10,
    args: { batch },
  })
}
