/** A chart of values over time, or over something else, with marks. Pointer and arrow keys go through it. */
import { useMemo, useRef, useState } from 'preact/hooks'
import { clock } from '../words/format.js'
import { useWidth } from './hooks.js'
import { apart, areaPath, columnsPath, linePath, type Plot, type Point, times, xOf, yOf } from './scale.js'

export interface Series {
  name: string
  points: Point[]
  /** A class that gives its colour. */
  look?: string
  /** Its line is calm below this. */
  calmBelow?: number
  /** Columns, so wide (as places are), in place of a line. */
  columns?: number
  /** Points on the line, each with a line from the least value to the most. */
  spread?: [least: number, most: number][]
}

export interface Mark {
  time: number
  sign: string
  kind: string
  title: string
  text: string
}

interface Given {
  label: string
  height: number
  from: number
  to: number
  top: number
  format: (value: number) => string
  series: Series[]
  marks?: Mark[]
  /** What is at a moment, in words. */
  describe: (time: number) => string[]
  empty: string
  /** What the end of the axis is called. */
  last: string
  /** The axis where it is not time: places with their names, the nearest places to stop at, and what one is called. */
  axis?: { ticks: [at: number, name: string][]; title: (at: number) => string; step: number }
}

/** Room around the plot (px): numbers left, times and marks below. */
const LEAST_LEFT = 46
const LETTER = 8
const RIGHT = 12
const BELOW = 20
const MARKS = 20
/** A mark is meant by a pointer that is so near (px); signs of marks are so far apart. */
const NEAR = 9
const SIGN = 14
/** Labels of the axis of time are at least so far apart (px). */
const APART = 84

export function Chart(given: Given) {
  const { label, height, from, to, top, format, series, marks = [], describe, empty, last, axis } = given
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box, 600)
  const [at, setAt] = useState<number | null>(null)
  const [mark, setMark] = useState<number | null>(null)
  const below = BELOW + (given.marks === undefined ? 0 : MARKS)
  const left = Math.max(
    LEAST_LEFT,
    12 + LETTER * Math.max(...[0, 0.5, 1].map(part => format(part * top).length)),
  )
  const plot: Plot = { from, to, top, width: width - left - RIGHT, height: height - below - 8 }
  const paths = useMemo(
    () =>
      series.map(({ points, columns }) =>
        columns === undefined
          ? { line: linePath(points, plot), area: areaPath(points, plot) }
          : { line: '', area: columnsPath(points, columns, plot) },
      ),
    [from, to, top, width, series],
  )
  const signs = apart(
    marks.map(one => xOf(plot, one.time)),
    SIGN,
    plot.width,
  )
  const ticks =
    axis?.ticks ?? times(plot, APART).map((at): [number, string] => [at, clock(at, to - from <= 120_000)])
  const nothing = series.every(({ points }) => points.length === 0)
  const chosen = mark === null ? null : (marks[mark] ?? null)
  const time = chosen?.time ?? at
  const point = (event: PointerEvent) => {
    const x = event.clientX - (box.current?.getBoundingClientRect().left ?? 0) - left
    const near = nearest(signs, x)
    setMark(near >= 0 && Math.abs(signs[near] - x) <= NEAR ? near : null)
    setAt(x < 0 || x > plot.width || nothing ? null : from + (x / plot.width) * (to - from))
  }
  const press = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (event.key === 'Escape') leave()
    if (by === 0) return
    event.preventDefault()
    if (marks.length > 0 && axis === undefined) {
      const before = mark ?? (by > 0 ? -1 : marks.length)
      return setMark(Math.min(marks.length - 1, Math.max(0, before + by)))
    }
    const step = axis?.step ?? (to - from) / 60
    setAt(Math.min(to, Math.max(from, (at ?? to) + by * step)))
  }
  const leave = () => {
    setAt(null)
    setMark(null)
  }
  return (
    <div
      ref={box}
      class="chart"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go through the chart
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label={label}
      style={{ height: `${height}px` }}
      onKeyDown={press}
      onPointerMove={point}
      onPointerLeave={leave}
      onBlur={leave}
    >
      <svg width={width} height={height} role="img" aria-label={label}>
        <g transform={`translate(${left} 8)`}>
          {[0, 0.5, 1].map(part => (
            <g key={part}>
              <line
                class="grid"
                x1={0}
                x2={plot.width}
                y1={yOf(plot, part * top)}
                y2={yOf(plot, part * top)}
              />
              <text class="axis" x={-8} y={yOf(plot, part * top) + 4} text-anchor="end">
                {format(part * top)}
              </text>
            </g>
          ))}
          {ticks.map(([at, name]) => (
            <text key={at} class="axis" x={xOf(plot, at)} y={plot.height + 16} text-anchor="middle">
              {last === '' || xOf(plot, at) < plot.width - 40 ? name : ''}
            </text>
          ))}
          <text class="axis" x={plot.width} y={plot.height + 16} text-anchor="end">
            {nothing ? '' : last}
          </text>
          {series.map(({ name, look = 'main', calmBelow, points, columns, spread }, i) => (
            <g key={name} class={`series ${look}`}>
              {calmBelow !== undefined && <Calm id={`calm-${name}`} plot={plot} below={calmBelow} />}
              <path class={columns === undefined ? 'area' : 'area columns'} d={paths[i].area} />
              <path
                class="line"
                d={paths[i].line}
                style={calmBelow === undefined ? undefined : { stroke: `url(#calm-${name})` }}
              />
              {spread?.map(([least, most], n) => (
                <g key={points[n][0]} transform={`translate(${xOf(plot, points[n][0])} 0)`}>
                  <line class="line" y1={yOf(plot, least)} y2={yOf(plot, most)} />
                  <circle class="dot" cy={yOf(plot, points[n][1] ?? 0)} r={4} />
                </g>
              ))}
            </g>
          ))}
          {marks.map(({ time: moment, sign, kind }, i) => (
            <g key={`${moment} ${kind} ${i}`} class={i === mark ? `mark ${kind} chosen` : `mark ${kind}`}>
              <line x1={xOf(plot, moment)} x2={xOf(plot, moment)} y1={0} y2={plot.height} />
              <text x={signs[i]} y={plot.height + 34} text-anchor={anchorOf(sign, signs[i], plot)}>
                {sign}
              </text>
            </g>
          ))}
          {time !== null && (
            <line class="cursor" x1={xOf(plot, time)} x2={xOf(plot, time)} y1={0} y2={plot.height} />
          )}
          {nothing && (
            <text class="nothing" x={plot.width / 2} y={plot.height / 2 - 8} text-anchor="middle">
              {empty}
            </text>
          )}
        </g>
      </svg>
      {time !== null && (
        <div
          class={xOf(plot, time) > plot.width / 2 ? 'tip left' : 'tip'}
          role="status"
          style={{
            [xOf(plot, time) > plot.width / 2 ? 'right' : 'left']:
              `${xOf(plot, time) > plot.width / 2 ? width - left - xOf(plot, time) + 10 : left + xOf(plot, time) + 10}px`,
          }}
        >
          <b>{axis === undefined ? clock(time, true) : axis.title(time)}</b>
          {chosen !== null ? (
            <>
              <strong>
                {chosen.sign} {chosen.title}
              </strong>
              <span>{chosen.text}</span>
            </>
          ) : (
            describe(time).map(line => <span key={line}>{line}</span>)
          )}
        </div>
      )}
    </div>
  )
}

/** The colours of a line that is calm below a value. */
function Calm({ id, plot, below }: { id: string; plot: Plot; below: number }) {
  const offset = Math.min(1, Math.max(0, yOf(plot, below) / plot.height))
  return (
    <linearGradient id={id} gradientUnits="userSpaceOnUse" x1={0} x2={0} y1={0} y2={plot.height}>
      <stop class="stop-loss" offset={offset} />
      <stop class="stop-calm" offset={offset} />
    </linearGradient>
  )
}

/** Words near an end of the axis stay within it. */
function anchorOf(sign: string, x: number, { width }: Plot): string {
  if (sign.length < 3) return 'middle'
  return x < width / 4 ? 'start' : x > (3 * width) / 4 ? 'end' : 'middle'
}

/** The place that is nearest to x; −1 where there is none. */
function nearest(places: readonly number[], x: number): number {
  return places.reduce(
    (best, at, i) => (best < 0 || Math.abs(at - x) < Math.abs(places[best] - x) ? i : best),
    -1,
  )
}
