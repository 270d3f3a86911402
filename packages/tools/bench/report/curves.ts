/** Throughput against workers, with the knee; and how often steps waited how long. */
import { count, ms, rate } from '../../../observe/verdict/units.js'
import type { Summary } from '../result/summary.js'
import { circle, line, path, rect, svg, text, ticks } from './svg.js'

const WIDTH = 540
const HEIGHT = 280
const LEFT = 64
const RIGHT = 16
const TOP = 26
const BOTTOM = 40
/** The knee is where so much of the most is reached. */
const KNEE = 0.95

export interface Knee {
  workers: number
  samplesPerSecond: number
}

/** Configurations that differ in workers alone: as the default is otherwise. */
export function workersSeries(summaries: readonly Summary[]): Summary[] {
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')?.configuration
  const alike = summaries.filter(({ configuration: { workers, depth, affinity, cache } }) => {
    if (workers === 0) return cache === null
    return depth === usual?.depth && affinity === usual.affinity && cache === usual.cache
  })
  return alike.sort((a, b) => a.configuration.workers - b.configuration.workers)
}

/** The fewest workers that give nearly the most. */
export function kneeOf(series: readonly Summary[]): Knee | undefined {
  const most = Math.max(...series.map(one => one.samplesPerSecond.mean))
  const found = series.find(one => one.samplesPerSecond.mean >= KNEE * most)
  return found && { workers: found.configuration.workers, samplesPerSecond: found.samplesPerSecond.mean }
}

/** `demand`: samples/s that the trainer could take; undefined: it computes nothing. */
export function workersChart(series: readonly Summary[], demand: number | undefined): string {
  const most = Math.max(demand ?? 0, ...series.map(one => one.samplesPerSecond.max))
  const scale = ticks(most)
  const last = Math.max(1, ...series.map(one => one.configuration.workers))
  const x = (workers: number) => LEFT + 12 + ((WIDTH - LEFT - RIGHT - 24) * workers) / last
  const y = (value: number) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / scale[scale.length - 1]
  const knee = kneeOf(series)
  const shown: number[] = []
  for (const { configuration } of series)
    if (shown.every(other => x(configuration.workers) - x(other) >= 18)) shown.push(configuration.workers)
  return svg(
    WIDTH,
    HEIGHT,
    'Samples a second against workers',
    ...scale.flatMap(value => [
      line(LEFT, y(value), WIDTH - RIGHT, y(value), 'grid'),
      text(LEFT - 8, y(value) + 4, count(value), 'tick', 'end'),
    ]),
    ...(demand === undefined
      ? []
      : [
          line(LEFT, y(demand), WIDTH - RIGHT, y(demand), 'demand'),
          text(WIDTH - RIGHT, y(demand) - 6, `the trainer could take ${count(demand)}`, 'value', 'end'),
        ]),
    ...(knee === undefined
      ? []
      : [
          line(x(knee.workers), TOP, x(knee.workers), HEIGHT - BOTTOM, 'knee'),
          text(
            x(knee.workers) + (x(knee.workers) > WIDTH * 0.6 ? -6 : 6),
            HEIGHT - BOTTOM - 8,
            `knee: ${knee.workers}`,
            'knee-text',
            x(knee.workers) > WIDTH * 0.6 ? 'end' : 'start',
          ),
        ]),
    path(
      series.map(one => [x(one.configuration.workers), y(one.samplesPerSecond.mean)] as const),
      'curve',
    ),
    ...series.flatMap(({ configuration: { workers, name }, samplesPerSecond: { mean, min, max } }) => [
      line(x(workers), y(min), x(workers), y(max), 'whisker'),
      circle(x(workers), y(mean), 4.5, 'dot', `${name}: ${rate(mean)} (${count(min)} to ${count(max)})`),
    ]),
    ...shown.map(workers => text(x(workers), HEIGHT - BOTTOM + 18, String(workers), 'tick', 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, 'workers', 'tick', 'middle'),
    text(4, 14, 'samples/s', 'tick'),
  )
}

/** One configuration's waits, and how long its first batch took. */
export interface Waited {
  name: string
  waits: readonly (readonly [ms: number, steps: number])[]
  firstBatchMs: number
}

/** Two of these beside the chart of throughput: each is half as high. */
const HALF = 142

/** Steps by how long they waited, in steps of the logarithm. The first batch stands apart, as a mark. */
export function waitsChart({ name, waits, firstBatchMs }: Waited, range: readonly [number, number]): string {
  const [least, most] = range.map(value => Math.log10(value))
  const bins = 44
  const counts = new Array<number>(bins).fill(0)
  for (const [wait, steps] of waits) {
    const place = Math.floor((bins * (Math.log10(Math.max(wait, range[0])) - least)) / (most - least))
    counts[Math.min(bins - 1, Math.max(0, place))] += steps
  }
  const all = counts.reduce((sum, one) => sum + one, 0)
  const scale = ticks(Math.max(1, ...counts))
  const x = (log: number) => LEFT + ((WIDTH - LEFT - RIGHT) * (log - least)) / (most - least)
  const y = (value: number) => HALF - BOTTOM - ((HALF - TOP - BOTTOM) * value) / scale[scale.length - 1]
  const wide = (WIDTH - LEFT - RIGHT) / bins
  const decades = Array.from(
    { length: Math.floor(most) - Math.ceil(least) + 1 },
    (_, i) => Math.ceil(least) + i,
  )
  const first = x(Math.min(most, Math.max(least, Math.log10(Math.max(1e-3, firstBatchMs)))))
  return svg(
    WIDTH,
    HALF,
    `How long steps of ${name} waited`,
    ...scale
      .filter((_, i) => i % 2 === 0)
      .flatMap(value => [
        line(LEFT, y(value), WIDTH - RIGHT, y(value), 'grid'),
        text(LEFT - 8, y(value) + 4, count(value), 'tick', 'end'),
      ]),
    ...decades.map(log =>
      text(x(log), HALF - BOTTOM + 18, decade(log), 'tick', log === most ? 'end' : 'middle'),
    ),
    ...counts.map((steps, i) =>
      steps === 0
        ? ''
        : rect(
            { x: LEFT + i * wide + 0.5, y: y(steps), width: wide - 1, height: HALF - BOTTOM - y(steps) },
            'wait',
            `${count(steps)} of ${count(all)} steps waited about ${ms(10 ** (least + ((i + 0.5) * (most - least)) / bins))}`,
          ),
    ),
    line(first, TOP, first, HALF - BOTTOM, 'first'),
    text(
      first + (first > WIDTH / 2 ? -6 : 6),
      TOP - 8,
      `first batch: ${ms(firstBatchMs)}`,
      'first-text',
      first > WIDTH / 2 ? 'end' : 'start',
    ),
    text((LEFT + WIDTH - RIGHT) / 2, HALF - 4, 'wait for a batch', 'tick', 'middle'),
    text(4, 14, 'steps', 'tick'),
  )
}

/** One range for all histograms, so that they can be compared (ms). */
export function waitRange(all: readonly Waited[]): [number, number] {
  const longest = Math.max(10, ...all.flatMap(one => [one.firstBatchMs, ...one.waits.map(([wait]) => wait)]))
  return [0.01, 10 ** Math.ceil(Math.log10(longest) + 0.02)]
}

function decade(log: number): string {
  return log >= 3 ? `${10 ** (log - 3)} s` : log < -1 ? `${10 ** (log + 3)} µs` : `${10 ** log} ms`
}
