/** A timeline in Chrome's JSON form, which Perfetto opens as it is: the trainer on one row, each worker on its own. */
import type { SpanRecord } from '../spans/reader.js'
import { writeWhole } from '../system/files/draft.js'
import { byWorker } from './worker-spans.js'

export interface TraceData {
  /** Steps of the trainer, in ms since `begun`. */
  steps: readonly { start: number; wait: number; compute: number }[]
  /** Beginning of the run, in ms of CLOCK_MONOTONIC. */
  begun: number
  /** The spans of the feed, and how many workers it had. */
  records: readonly SpanRecord[]
  workers: number
}

/** Spans of the trainer carry the names that DFTracer's vocabulary has for them. */
const TRAINER = 0

export function writeTrace(path: string, data: TraceData): void {
  writeWhole(path, renderTrace(data))
}

function renderTrace({ steps, begun, records, workers }: TraceData): string {
  const lanes = byWorker(records, workers).map((spans, i) => ({ name: `worker ${i}`, spans }))
  const staged = records.filter(({ lane }) => lane.kind === 'device')
  if (staged.length > 0) lanes.push({ name: 'device', spans: staged })
  const lines = [named(TRAINER, 'trainer'), ...lanes.map(({ name }, i) => named(i + 1, name))]
  for (const [i, { start, wait, compute }] of steps.entries()) {
    lines.push(event(TRAINER, 'fetch', 'dataloader', start, wait, i))
    lines.push(event(TRAINER, 'step', 'compute', start + wait, compute, i))
  }
  for (const [i, { spans }] of lanes.entries()) {
    for (const { kind, start, duration, batch } of spans) {
      if (start < begun) continue
      lines.push(event(i + 1, kind, 'data', start - begun, duration, batch))
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
