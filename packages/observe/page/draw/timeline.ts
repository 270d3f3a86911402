/** Draws the timeline on a canvas. Waits of the trainer are hatched and as high as their row: they need no colour to be seen. */
import { count, duration, NBSP } from '../words/format.js'
import { roundUp } from './scale.js'
import { firstAfter, PAINTS, type Paint, type Row, sharesOf, type View } from './spans.js'

/** px: names of rows on the left, the scale on top, rows and what is between them. */
export const GUTTER = 104
const AXIS = 24
const TRAINER = 36
const OTHER = 16
const GAP = 4
/** A span that is so wide (px) has room for hatching, and for its batch. */
const HATCHED = 5
const NAMED = 58
/** Steps that are so wide (px) have a hairline between them. */
const APART = 8

/** A moment, and the row that is pointed at; none in timelines beside that one. */
export interface Cursor {
  row: number | null
  at: number
}

/** How time is written: as it went by before the newest moment, or since the beginning of a run that was over at `end`. */
export type Scale = { since: 'now' } | { since: 'begin'; end: number }

export function heightOf(rows: readonly Row[]): number {
  return AXIS + rows.reduce((sum, row) => sum + rowHeight(row) + GAP, 0)
}

/** The row at a height, or −1. */
export function rowAt(rows: readonly Row[], y: number): number {
  let top = AXIS
  return rows.findIndex(row => {
    const here = y >= top && y < top + rowHeight(row)
    top += rowHeight(row) + GAP
    return here
  })
}

export function drawTimeline(
  canvas: HTMLCanvasElement,
  rows: readonly Row[],
  view: View,
  cursor: Cursor | null,
  scale: Scale,
): void {
  const pen = canvas.getContext('2d')
  if (pen === null) return
  const width = canvas.clientWidth
  const height = heightOf(rows)
  const sharp = devicePixelRatio || 1
  canvas.width = Math.round(width * sharp)
  canvas.height = Math.round(height * sharp)
  pen.scale(sharp, sharp)
  pen.textBaseline = 'middle'
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const plot = Math.max(10, Math.floor(width - GUTTER))
  drawAxis(pen, view, plot, height, colour, scale)
  let top = AXIS
  rows.forEach((row, i) => {
    pen.fillStyle = colour(row.kind === 'consumer' ? 'ink' : 'quiet')
    pen.textAlign = 'right'
    pen.fillText(row.name, GUTTER - 12, top + rowHeight(row) / 2, GUTTER - 14)
    pen.fillStyle = colour('track')
    pen.fillRect(GUTTER, top, plot, rowHeight(row))
    drawShares(pen, row, view, top, plot, colour)
    drawWide(pen, row, view, top, plot, colour)
    if (cursor?.row === i) outline(pen, row, view, top, plot, cursor.at, colour)
    top += rowHeight(row) + GAP
  })
  if (scale.since === 'begin') drawEnd(pen, scale.end, view, plot, height, colour)
  if (cursor !== null && cursor.at >= view.from && cursor.at <= view.to) {
    pen.fillStyle = colour('ink')
    pen.fillRect(GUTTER + ((cursor.at - view.from) / (view.to - view.from)) * plot, AXIS, 1, height - AXIS)
  }
}

function rowHeight({ kind }: Row): number {
  return kind === 'consumer' ? TRAINER : OTHER
}

type Colour = (name: string) => string

function drawAxis(
  pen: CanvasRenderingContext2D,
  view: View,
  plot: number,
  height: number,
  colour: Colour,
  { since }: Scale,
): void {
  const span = view.to - view.from
  const step = roundUp(span / Math.max(2, Math.floor(plot / 120)))
  const zero = since === 'now' ? view.to : 0
  pen.textAlign = 'left'
  for (let i = Math.ceil((view.from - zero) / step); i * step <= view.to - zero; i++) {
    const x = Math.round(GUTTER + ((zero + i * step - view.from) / span) * plot)
    pen.fillStyle = colour('line')
    pen.fillRect(x, AXIS - 6, 1, height - AXIS + 6)
    pen.fillStyle = colour('quiet')
    const text = axisWords(i * step, step)
    if (x + 5 + pen.measureText(text).width <= GUTTER + plot) pen.fillText(text, x + 5, AXIS / 2 - 2)
  }
}

/** A moment of the axis, with as many digits as steps of the axis need. */
function axisWords(at: number, step: number): string {
  const sign = at < 0 ? '−' : ''
  const digits = (unit: number) => Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9))
  return step >= 100
    ? `${sign}${count(Math.abs(at) / 1000, digits(1000))}${NBSP}s`
    : `${sign}${count(Math.abs(at), digits(1))}${NBSP}ms`
}

/** After the end of a run nothing is idle: there is nothing. */
function drawEnd(
  pen: CanvasRenderingContext2D,
  end: number,
  view: View,
  plot: number,
  height: number,
  colour: Colour,
): void {
  const x = ((end - view.from) / (view.to - view.from)) * plot
  if (x < 0 || x >= plot - 2) return
  pen.fillStyle = colour('card')
  pen.fillRect(GUTTER + x, AXIS, plot - x, height - AXIS)
  pen.fillStyle = colour('quiet')
  pen.fillRect(GUTTER + x, AXIS, 1.5, height - AXIS - GAP)
  const text = `over after ${duration(end)}`
  pen.textAlign = 'left'
  if (x + 16 + pen.measureText(text).width < plot) pen.fillText(text, GUTTER + x + 8, AXIS + TRAINER / 2)
}

function drawShares(
  pen: CanvasRenderingContext2D,
  row: Row,
  view: View,
  top: number,
  plot: number,
  colour: Colour,
): void {
  const height = rowHeight(row)
  const share = sharesOf(row, view, plot)
  const below = new Float32Array(plot)
  PAINTS.forEach((paint, k) => {
    if (paint === 'idle' || paint === 'wait') return
    pen.fillStyle = colour(`paint-${paint}`)
    for (let x = 0; x < plot; x++) {
      const part = share[k * plot + x]
      if (part < 0.004) continue
      const high = part * height
      // Neighbours with the same share are one rectangle: no seams, fewer calls.
      let end = x + 1
      while (end < plot && share[k * plot + end] === part && below[end] === below[x]) end++
      pen.fillRect(GUTTER + x, top + height - below[x] - high, end - x, high)
      for (let i = x; i < end; i++) below[i] += high
      x = end - 1
    }
  })
}

/** Hatches the trainer's waits, parts steps, and writes which batch a step trains on, where there is room. */
function drawWide(
  pen: CanvasRenderingContext2D,
  row: Row,
  view: View,
  top: number,
  plot: number,
  colour: Colour,
): void {
  if (row.kind !== 'consumer' && row.kind !== 'epochs') return
  const height = rowHeight(row)
  const perPixel = (view.to - view.from) / plot
  for (let i = firstAfter(row, view.from); i < row.starts.length && row.starts[i] < view.to; i++) {
    const from = Math.max(0, (row.starts[i] - view.from) / perPixel)
    const to = Math.min(plot, (row.ends[i] - view.from) / perPixel)
    const paint: Paint = PAINTS[row.paints[i]]
    if (paint === 'waiting' && to - from >= HATCHED)
      hatch(pen, GUTTER + from, top, to - from, TRAINER, colour('card'))
    if (paint !== 'step' && paint !== 'epoch') continue
    if (to - from >= APART) {
      pen.fillStyle = colour('card')
      pen.fillRect(GUTTER + from, top, 1, height)
    }
    if (to - from < NAMED) continue
    pen.fillStyle = colour('on-part')
    pen.textAlign = 'left'
    const name = `${paint === 'step' ? 'batch' : 'epoch'} ${row.batches[i]}`
    pen.fillText(name, GUTTER + from + 6, top + height / 2, to - from - 10)
  }
}

function hatch(
  pen: CanvasRenderingContext2D,
  x: number,
  y: number,
  w: number,
  h: number,
  colour: string,
): void {
  pen.save()
  pen.beginPath()
  pen.rect(x, y, w, h)
  pen.clip()
  pen.strokeStyle = colour
  pen.globalAlpha = 0.55
  pen.lineWidth = 1.5
  pen.beginPath()
  for (let at = x - h - (x % 7); at < x + w; at += 7) {
    pen.moveTo(at, y + h)
    pen.lineTo(at + h, y)
  }
  pen.stroke()
  pen.restore()
}

function outline(
  pen: CanvasRenderingContext2D,
  row: Row,
  view: View,
  top: number,
  plot: number,
  at: number,
  colour: Colour,
): void {
  const i = firstAfter(row, at)
  if (i >= row.starts.length || row.starts[i] > at) return
  const perPixel = (view.to - view.from) / plot
  const from = Math.max(0, (row.starts[i] - view.from) / perPixel)
  const to = Math.min(plot, (row.ends[i] - view.from) / perPixel)
  pen.strokeStyle = colour('ink')
  pen.lineWidth = 2
  pen.strokeRect(GUTTER + from, top, Math.max(2, to - from), rowHeight(row))
}
