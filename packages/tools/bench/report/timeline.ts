/** The timeline of a run in four rows: setup, get-batch, train, epoch. Gaps in the row "train" are a trainer that waits. */
import { ms } from '../../../observe/verdict/units.js'
import type { RunTimes } from '../measure/task.js'
import { line, rect, svg, text, ticks } from './svg.js'

const WIDTH = 1100
const LEFT = 90
const ROW = 34
const BAR = 24
const TOP = 6
/** What is closer than this (px) is drawn as one. */
const CLOSE = 0.35

type Span = readonly [start: number, end: number]

/** `until`: ms that the row is long. */
export function timeline(name: string, times: RunTimes, until: number): string {
  const scale = ticks(until / 1000)
  const x = (value: number) => LEFT + ((WIDTH - LEFT - 10) * value) / until
  const lanes = 1 + Math.max(0, ...times.batches.map(({ worker }) => worker))
  const rows = 4
  const bottom = TOP + rows * ROW
  const row = (index: number, words: string, spans: readonly Span[], style: string, tip?: string) => [
    text(LEFT - 12, TOP + index * ROW + BAR - 7, words, 'name', 'end'),
    rect({ x: LEFT, y: TOP + index * ROW, width: WIDTH - LEFT - 10, height: BAR }, 'track'),
    ...bars(spans, x, TOP + index * ROW, BAR, style, until, tip),
  ]
  const made = Array.from({ length: lanes }, (_, lane) =>
    times.batches.filter(({ worker }) => worker === lane).map(({ start, end }): Span => [start, end]),
  )
  const steps = times.steps.map(([, got, done]): Span => [got, done])
  return svg(
    WIDTH,
    bottom + 24,
    `Timeline of ${name}`,
    ...scale
      .filter(second => second * 1000 <= until)
      .flatMap(second => [
        line(x(second * 1000), TOP - 2, x(second * 1000), bottom, 'grid'),
        text(x(second * 1000), bottom + 14, `${second} s`, 'tick', 'middle'),
      ]),
    ...row(0, 'setup', [times.setup], 'setup', `setup: ${ms(times.setup[1])}`),
    text(LEFT - 12, TOP + ROW + BAR - 7, 'get-batch', 'name', 'end'),
    rect({ x: LEFT, y: TOP + ROW, width: WIDTH - LEFT - 10, height: BAR }, 'track'),
    ...made.flatMap((spans, lane) =>
      bars(spans, x, TOP + ROW + (lane * BAR) / lanes, BAR / lanes - (lanes > 8 ? 0 : 0.6), 'made', until),
    ),
    ...row(2, 'train', steps, 'train'),
    ...row(3, 'epoch', [], 'epoch'),
    ...times.epochs
      .filter(({ start }) => start < until)
      .map(({ epoch, start, end }) =>
        rect(
          { x: x(start), y: TOP + 3 * ROW, width: x(Math.min(end, until)) - x(start) - 1, height: BAR },
          'epoch',
          `epoch ${epoch}: ${ms(end - start)}`,
        ),
      ),
    ...times.epochs
      .filter(({ start, end }) => x(Math.min(end, until)) - x(start) > 24 && start < until)
      .map(({ epoch, start }) => text(x(start) + 6, TOP + 3 * ROW + BAR - 7, String(epoch), 'on-bar')),
  )
}

/** Rectangles of a row; neighbours that no pixel lies between become one, so that a page stays small. */
function bars(
  spans: readonly Span[],
  x: (ms: number) => number,
  y: number,
  height: number,
  style: string,
  until: number,
  tip?: string,
): string[] {
  const joined: [number, number][] = []
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (start > until) continue
    const [from, to] = [x(start), x(Math.min(end, until))]
    const last = joined.at(-1)
    if (last !== undefined && from - last[1] < CLOSE) last[1] = Math.max(last[1], to)
    else joined.push([from, Math.max(to, from + 0.4)])
  }
  return joined.map(([from, to]) => rect({ x: from, y, width: to - from, height }, style, tip))
}
