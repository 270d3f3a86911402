/** Arithmetic of charts: paths, steps of an axis, points joined where there are more than pixels. */

export type Point = [time: number, value: number | null]

export interface Plot {
  from: number
  to: number
  top: number
  width: number
  height: number
}

/** Means of the points of each `step` pixels: a line can't show more. A gap stays a gap. */
export function thinned(points: readonly Point[], { from, to, width }: Plot, step = 2): Point[] {
  if (points.length <= width / step) return [...points]
  const found: Point[] = []
  let column = Number.NaN
  let [sum, known, time, all] = [0, 0, 0, 0]
  const end = () => {
    if (all > 0) found.push([time / all, known === 0 ? null : sum / known])
  }
  for (const [at, value] of points) {
    const x = Math.floor((((at - from) / (to - from)) * width) / step)
    if (x !== column) {
      end()
      column = x
      ;[sum, known, time, all] = [0, 0, 0, 0]
    }
    time += at
    all++
    if (value !== null) {
      sum += value
      known++
    }
  }
  end()
  return found
}

export function xOf({ from, to, width }: Plot, time: number): number {
  return ((time - from) / (to - from)) * width
}

export function yOf({ top, height }: Plot, value: number): number {
  return height - (Math.min(value, top) / top) * height
}

/** Places of signs that must not overlap: as near to their own place as there is room, in their order. `places` ascend. */
export function apart(places: readonly number[], distance: number, width: number): number[] {
  const least = Math.min(distance, width / Math.max(1, places.length - 1))
  const found: number[] = []
  for (const place of places) found.push(Math.max(place, (found.at(-1) ?? -least) + least))
  // What was moved beyond the end comes back, and moves those before it.
  let end = width
  for (let i = found.length - 1; i >= 0; i--) {
    found[i] = Math.min(found[i], end)
    end = found[i] - least
  }
  return found
}

/** Points in pieces without gaps: null ends one, and so does a hole that is many times as long as usual. */
function pieces(points: readonly Point[], plot: Plot): [number, number][][] {
  const found: [number, number][][] = [[]]
  const usual = points.length < 2 ? 0 : (points[points.length - 1][0] - points[0][0]) / (points.length - 1)
  let before = Number.NaN
  for (const [time, value] of points) {
    if (value === null || time - before > Math.max(6 * usual, 5000)) found.push([])
    if (value !== null) found[found.length - 1].push([xOf(plot, time), yOf(plot, value)])
    before = time
  }
  return found.filter(piece => piece.length > 0)
}

const write = (points: [number, number][]) =>
  points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')

export function linePath(points: readonly Point[], plot: Plot): string {
  return pieces(thinned(points, plot), plot)
    .map(piece => `M${write(piece.length === 1 ? [piece[0], [piece[0][0] + 1, piece[0][1]]] : piece)}`)
    .join('')
}

export function areaPath(points: readonly Point[], plot: Plot): string {
  return pieces(thinned(points, plot), plot)
    .map(piece => {
      const [first, last] = [piece[0][0], piece[piece.length - 1][0]]
      return `M${first.toFixed(1)} ${plot.height}L${write(piece)}L${last.toFixed(1)} ${plot.height}Z`
    })
    .join('')
}

/** Columns from the ground, each around its place. One that is cut off at the top has a point on it: it goes on. */
export function columnsPath(points: readonly Point[], columns: number, plot: Plot): string {
  const wide = (columns / (plot.to - plot.from)) * plot.width
  const width = Math.max(0.75, wide - (wide > 4 ? 1 : 0))
  return points
    .filter(([, value]) => value !== null && value > 0)
    .map(([at, value]) => {
      const x = (xOf(plot, at) - width / 2).toFixed(1)
      const cut = value! <= plot.top ? '' : `M${x} -2h${width.toFixed(1)}l${(-width / 2).toFixed(1)} -5Z`
      return `M${x} ${plot.height}V${yOf(plot, value!).toFixed(1)}h${width.toFixed(1)}V${plot.height}Z${cut}`
    })
    .join('')
}

/** The top of a scale of waits (ms): 99 of 100 after the first of a run stay below, in the run that waits most. */
export function topOfWaits(runs: readonly (readonly number[])[]): number {
  const usual = runs.map(waits => {
    const sorted = (waits.length > 1 ? waits.slice(1) : [...waits]).sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
  })
  return roundUp(Math.max(0.001, ...usual))
}

/** A round number near `value`, not below it: 1, 2, 5 times a power of ten. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find(factor => factor * power >= value * (1 - 1e-9)) ?? 10) * power
}

const MINUTE = 60_000
const STEPS = [0.25, 0.5, 1, 2, 5, 10, 15, 30].map(minutes => minutes * MINUTE)

/** Round times of an axis, by the reader's clock. */
export function times({ from, to, width }: Plot, apart: number): number[] {
  const least = ((to - from) / width) * apart
  const step = STEPS.find(ms => ms >= least) ?? 60 * MINUTE
  const zone = new Date(to).getTimezoneOffset() * MINUTE
  const first = Math.ceil((from - zone) / step) * step + zone
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step)
}
