/** Rows of the timeline: spans in columns that are quick to search, and how much of each pixel each kind takes. */
import type { Timeline } from '../../dashboard/view.js'

/** How spans are painted, in the order in which they are stacked where a pixel holds several. */
export const PAINTS = [
  ...(['setup', 'waiting', 'step', 'hand', 'copy', 'stage', 'make', 'open', 'read', 'decode'] as const),
  ...(['transform', 'map', 'close', 'gc', 'epoch', 'wait', 'idle'] as const),
] as const
export type Paint = (typeof PAINTS)[number]

export interface Row {
  name: string
  kind: Timeline['lanes'][number]['kind']
  paints: Uint8Array
  starts: Float64Array
  ends: Float64Array
  batches: Float64Array
  counts: Float64Array
}

export interface View {
  from: number
  to: number
}

/** The trainer first, then what brings batches to it, then workers: the way that a wait is followed back. */
const ORDER = ['consumer', 'device', 'worker', 'reader', 'epochs']

export function rowsOf(timeline: Timeline): Row[] {
  const lanes = [...timeline.lanes].sort((x, y) => ORDER.indexOf(x.kind) - ORDER.indexOf(y.kind))
  return lanes.map(({ name, kind, spans }) => {
    const all = spans
      .map(([start, duration, what, batch, rows]) => {
        const paint = PAINTS.indexOf((kind === 'consumer' && what === 'wait' ? 'waiting' : what) as Paint)
        return { paint, start: timeline.from + start, end: timeline.from + start + duration, batch, rows }
      })
      .filter(({ paint, start, end }) => paint >= 0 && end > start)
      .sort((x, y) => x.start - y.start)
    return {
      name,
      kind,
      paints: Uint8Array.from(all, span => span.paint),
      starts: Float64Array.from(all, span => span.start),
      ends: Float64Array.from(all, span => span.end),
      batches: Float64Array.from(all, span => span.batch),
      counts: Float64Array.from(all, span => span.rows),
    }
  })
}

/** The first span that ends after a moment. Spans of a row follow each other, so ends ascend as well. */
export function firstAfter({ ends }: Row, at: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ends[middle] <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** Shares of each paint in each column of pixels: `share[paint * width + x]`. */
export function sharesOf(row: Row, view: View, width: number): Float32Array {
  const share = new Float32Array(PAINTS.length * width)
  const perPixel = (view.to - view.from) / width
  for (let i = firstAfter(row, view.from); i < row.starts.length && row.starts[i] < view.to; i++) {
    const from = Math.max(0, (row.starts[i] - view.from) / perPixel)
    const to = Math.min(width, (row.ends[i] - view.from) / perPixel)
    const base = row.paints[i] * width
    for (let x = Math.floor(from); x < to; x++) share[base + x] += Math.min(to, x + 1) - Math.max(from, x)
  }
  return share
}
