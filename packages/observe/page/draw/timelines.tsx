/** What each thread did, of one run or of several over one view of time: zoomed and moved by mouse and keys. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Timeline } from '../../dashboard/view.js'
import { Legend } from '../legend.js'
import { duration } from '../words/format.js'
import { SPAN_WORDS } from '../words/work.js'
import { useTheme, useWidth } from './hooks.js'
import { firstAfter, PAINTS, type Row, rowsOf, type View } from './spans.js'
import { type Cursor, drawTimeline, GUTTER, heightOf, rowAt, type Scale } from './timeline.js'

/** As close as one can look (ms). */
const CLOSEST = 0.02

/** The part of time that is looked at. */
export interface Look {
  /** How much is shown (ms). */
  span: number
  /** The end of what is shown; null: the newest moment, as it goes on. */
  end: number | null
}

interface Given {
  runs: { name: string; note?: string; data: Timeline }[]
  since: Scale['since']
  look: Look
  onLook: (look: Look) => void
  /** As much as can be shown (ms). */
  most: number
  /** Keys beside those of all timelines, and buttons behind theirs. */
  keys?: Record<string, () => void>
  children: ComponentChildren
}

export function Timelines({ runs, since, look, onLook, most, keys = {}, children }: Given) {
  const rows = useMemo(
    () => runs.map(({ data }) => rowsOf(data)),
    runs.map(({ data }) => data),
  )
  const [cursor, setCursor] = useState<(Cursor & { run: number }) | null>(null)
  const from = Math.min(...runs.map(({ data }) => data.from))
  const to = Math.max(...runs.map(({ data }) => data.to))
  const end = look.end ?? to
  const view: View = { from: end - look.span, to: end }
  const middle = (view.from + view.to) / 2

  const show = (span: number, newEnd: number | null) => {
    const length = Math.min(most, Math.max(CLOSEST, span))
    const least = Math.min(to, from + length)
    onLook({ span: length, end: newEnd === null ? null : Math.min(to, Math.max(least, newEnd)) })
  }
  const zoom = (factor: number, centre = middle) => {
    const span = Math.min(most, Math.max(CLOSEST, look.span * factor))
    const follows = since === 'now' && look.end === null
    show(span, follows ? null : centre + ((view.to - centre) * span) / look.span)
  }
  const move = (by: number) => show(look.span, end + by * look.span)
  const step = (by: number) => {
    const run = cursor?.run ?? 0
    const row = cursor?.row ?? 0
    const spans = rows[run][row]
    if (spans === undefined || spans.starts.length === 0) return
    const i = firstAfter(spans, cursor?.at ?? middle) + (cursor === null ? 0 : by)
    const at = Math.min(spans.starts.length - 1, Math.max(0, i))
    setCursor({ run, row, at: (spans.starts[at] + spans.ends[at]) / 2 })
  }
  const otherRow = (by: number) => {
    const run = cursor?.run ?? 0
    const row = Math.min(rows[run].length - 1, Math.max(0, (cursor?.row ?? 0) + (cursor === null ? 0 : by)))
    setCursor({ run, row, at: cursor?.at ?? middle })
  }
  const pressed: Record<string, () => void> = {
    '+': () => zoom(0.5),
    '=': () => zoom(0.5),
    '-': () => zoom(2),
    '0': () => show(to - from, null),
    ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2),
    ArrowUp: () => otherRow(-1),
    ArrowDown: () => otherRow(1),
    ',': () => step(-1),
    '.': () => step(1),
    ...keys,
  }
  const press = (event: KeyboardEvent, run: number) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : pressed[event.key]
    if (act === undefined) return
    event.preventDefault()
    if (cursor !== null && cursor.run !== run) setCursor(null)
    act()
  }
  const wordsOf = (run: number) => {
    const words = cursor?.run === run ? describe(rows[run], cursor, since) : ''
    if (words !== '' || run > 0) return words
    return rows[run].length === 0
      ? 'No thread is seen yet.'
      : 'Point at a span, or press , and . to go from one to the next.'
  }
  return (
    <>
      <div class="tools">
        <Legend
          label="Colours"
          of={shownPaints(rows.flat()).map(paint => [`paint-${paint}`, SPAN_WORDS[paint]])}
        />
        <span class="space" />
        <fieldset class="buttons" aria-label="Time shown">
          <button type="button" onClick={() => zoom(0.5)} aria-label="Closer" title="Closer (+)">
            +
          </button>
          <button type="button" onClick={() => zoom(2)} aria-label="Further" title="Further (−)">
            −
          </button>
          {children}
        </fieldset>
      </div>
      {runs.map(({ name, note, data }, run) => (
        <Threads
          key={name}
          title={
            name !== '' && (
              <h3>
                {name}
                <small>{note}</small>
              </h3>
            )
          }
          label={
            name === ''
              ? `Timeline of the last ${duration(look.span)}`
              : `Timeline of ${name}, ${duration(look.span)} of it`
          }
          rows={rows[run]}
          view={view}
          scale={since === 'now' ? { since } : { since, end: data.to }}
          cursor={cursor === null || cursor.run === run ? cursor : { row: null, at: cursor.at }}
          words={wordsOf(run)}
          onCursor={found => setCursor(found && { ...found, run })}
          onKey={event => press(event, run)}
          onZoom={zoom}
          onMove={by => show(look.span, end + by)}
        />
      ))}
    </>
  )
}

interface OneRun {
  title: ComponentChildren
  label: string
  rows: Row[]
  view: View
  scale: Scale
  cursor: Cursor | null
  /** What is under the cursor. */
  words: string
  onCursor: (cursor: Cursor | null) => void
  onKey: (event: KeyboardEvent) => void
  onZoom: (factor: number, centre: number) => void
  /** Moves by so much (ms). */
  onMove: (by: number) => void
}

function Threads({ title, label, rows, view, scale, cursor, words, ...on }: OneRun) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(canvas, 900)
  const theme = useTheme()
  // Before the page is painted, or printed.
  useLayoutEffect(() => {
    if (canvas.current !== null) drawTimeline(canvas.current, rows, view, cursor, scale)
  }, [rows, view.from, view.to, cursor?.row, cursor?.at, width, theme])
  const span = view.to - view.from
  const timeAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect()
    return view.from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER)) * span
  }
  const drag = useRef<number | null>(null)
  const wheel = (event: WheelEvent) => {
    event.preventDefault()
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) on.onMove((event.deltaX / 1000) * span)
    else on.onZoom(Math.exp(Math.min(1, Math.max(-1, event.deltaY / 300))), timeAt(event))
  }
  // A listener that may keep the page from scrolling must be set by hand.
  const latest = useRef(wheel)
  latest.current = wheel
  useEffect(() => {
    const roll = (event: WheelEvent) => latest.current(event)
    canvas.current?.addEventListener('wheel', roll, { passive: false })
    return () => canvas.current?.removeEventListener('wheel', roll)
  }, [])
  return (
    <div class="threads">
      {title}
      <canvas
        ref={canvas}
        class="timeline"
        tabIndex={0}
        role="img"
        aria-label={`${label}: ${rows.length} threads. Plus and minus zoom, arrow keys move, comma and full stop go from span to span.`}
        style={{ height: `${heightOf(rows)}px` }}
        onKeyDown={on.onKey}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          drag.current = timeAt(event)
        }}
        onPointerUp={() => {
          drag.current = null
        }}
        onPointerMove={event => {
          const at = timeAt(event)
          if (drag.current !== null) return on.onMove(drag.current - at)
          const y = event.clientY - event.currentTarget.getBoundingClientRect().top
          const row = rowAt(rows, y)
          on.onCursor(row < 0 || at < view.from ? null : { row, at })
        }}
        onPointerLeave={() => on.onCursor(null)}
      />
      <p class="span-words" role="status">
        {words}
      </p>
    </div>
  )
}

function shownPaints(rows: Row[]) {
  const seen = new Set(rows.flatMap(({ paints }) => [...new Set(paints)]))
  return PAINTS.filter((paint, i) => seen.has(i) && !['wait', 'idle', 'epoch'].includes(paint))
}

/** The span under the cursor, in words. */
function describe(rows: Row[], cursor: Cursor, since: Scale['since']): string {
  const { at } = cursor
  const row = cursor.row === null ? undefined : rows[cursor.row]
  if (row === undefined) return ''
  const i = firstAfter(row, at)
  if (i >= row.starts.length || row.starts[i] > at) return `${row.name}: nothing was written down here`
  const paint = PAINTS[row.paints[i]]
  const length = duration(row.ends[i] - row.starts[i])
  const begun = since === 'now' ? '' : `, from ${duration(row.starts[i])} on`
  if (paint === 'epoch') return `epoch ${row.batches[i]}, ${length}${begun}`
  const batch = row.batches[i] >= 0 ? `, batch ${row.batches[i]}` : ''
  const rowsOfIt = row.counts[i] > 0 ? `, ${row.counts[i]} rows` : ''
  return `${row.name} ${SPAN_WORDS[paint]}, ${length}${batch}${rowsOfIt}${begun}`
}
