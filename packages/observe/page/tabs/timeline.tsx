/** What each thread did, as it goes on: zoomed and moved by mouse and keys, and stopped to look at it. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Timeline } from '../../dashboard/view.js'
import { useTheme, useWidth } from '../draw/hooks.js'
import { firstAfter, PAINTS, type Row, rowsOf, type View } from '../draw/spans.js'
import { type Cursor, drawTimeline, GUTTER, heightOf, rowAt } from '../draw/timeline.js'
import { ask } from '../state/address.js'
import type { State } from '../state/store.js'
import { duration } from '../words/format.js'
import { SPAN_WORDS } from '../words/work.js'

/** How much is shown at first, at least and at most (ms), and how often it is asked for. */
const FIRST = 2000
const LEAST = 1
const MOST = 14_000
const EVERY = 1000

export function TimelineTab({ state }: { state: State }) {
  const [data, setData] = useState<Timeline | null>(null)
  const [problem, setProblem] = useState('')
  const [span, setSpan] = useState(FIRST)
  /** The end of what is shown; null: the newest moment, as it goes on. */
  const [end, setEnd] = useState<number | null>(null)
  const [cursor, setCursor] = useState<Cursor | null>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(canvas, 900)
  const theme = useTheme()
  const live = state.link === 'live' && state.ended === null
  const following = live && end === null
  useEffect(() => {
    if (!following) return
    let [stopped, asking] = [false, false]
    const look = async () => {
      if (asking || document.hidden) return
      asking = true
      try {
        const found = await ask<Timeline>('api/timeline', { seconds: String(Math.ceil(span / 1000) + 1) })
        if (!stopped) setData(found)
        setProblem('')
      } catch (error) {
        setProblem(`No timeline came: ${error instanceof Error ? error.message : error}.`)
      }
      asking = false
    }
    look()
    const timer = setInterval(look, EVERY)
    return () => {
      stopped = true
      clearInterval(timer)
    }
  }, [following, Math.ceil(span / 1000)])
  const rows = useMemo(() => (data === null ? [] : rowsOf(data)), [data])
  const to = end ?? data?.to ?? 0
  const view: View = { from: to - span, to }
  useEffect(() => {
    if (canvas.current !== null) drawTimeline(canvas.current, rows, view, cursor)
  }, [rows, view.from, view.to, cursor, width, theme])

  const show = (newSpan: number, newEnd: number | null) => {
    const length = Math.min(MOST, Math.max(LEAST, newSpan))
    setSpan(length)
    if (newEnd === null || data === null) return setEnd(null)
    setEnd(Math.min(data.to, Math.max(Math.min(data.to, data.from + length), newEnd)))
  }
  const zoom = (factor: number, centre = (view.from + view.to) / 2) => {
    const length = Math.min(MOST, Math.max(LEAST, span * factor))
    show(length, end === null ? null : centre + ((view.to - centre) * length) / span)
  }
  const move = (by: number) => show(span, to + by * span)
  const stop = () => setEnd(end === null ? (data?.to ?? 0) : null)
  const timeAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect()
    return view.from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER)) * span
  }
  const step = (by: number) => {
    const row = rows[cursor?.row ?? 0]
    if (row === undefined || row.starts.length === 0) return
    const i = firstAfter(row, cursor?.at ?? (view.from + view.to) / 2) + (cursor === null ? 0 : by)
    const at = Math.min(row.starts.length - 1, Math.max(0, i))
    setCursor({ row: cursor?.row ?? 0, at: (row.starts[at] + row.ends[at]) / 2 })
  }
  const otherRow = (by: number) => {
    const row = Math.min(rows.length - 1, Math.max(0, (cursor?.row ?? 0) + (cursor === null ? 0 : by)))
    setCursor({ row, at: cursor?.at ?? (view.from + view.to) / 2 })
  }
  const keys: Record<string, () => void> = {
    '+': () => zoom(0.5),
    '=': () => zoom(0.5),
    '-': () => zoom(2),
    '0': () => show(data === null ? FIRST : data.to - data.from, null),
    ' ': stop,
    ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2),
    ArrowUp: () => otherRow(-1),
    ArrowDown: () => otherRow(1),
    ',': () => step(-1),
    '.': () => step(1),
  }
  const drag = useRef<number | null>(null)
  const wheel = (event: WheelEvent) => {
    event.preventDefault()
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000)
    else zoom(Math.exp(Math.min(1, Math.max(-1, event.deltaY / 300))), timeAt(event))
  }
  // A listener that may keep the page from scrolling must be set by hand.
  const latest = useRef(wheel)
  latest.current = wheel
  useEffect(() => {
    const roll = (event: WheelEvent) => latest.current(event)
    canvas.current?.addEventListener('wheel', roll, { passive: false })
    return () => canvas.current?.removeEventListener('wheel', roll)
  }, [])
  const words = describe(rows, cursor)
  return (
    <>
      <div class="tools">
        <ul class="legend" aria-label="Colours">
          {shownPaints(rows).map(paint => (
            <li key={paint}>
              <i class={`swatch paint-${paint}`} /> {SPAN_WORDS[paint]}
            </li>
          ))}
        </ul>
        <span class="space" />
        <fieldset class="buttons" aria-label="Time shown">
          <button type="button" onClick={() => zoom(0.5)} aria-label="Closer" title="Closer (+)">
            +
          </button>
          <button type="button" onClick={() => zoom(2)} aria-label="Further" title="Further (−)">
            −
          </button>
          <button
            type="button"
            onClick={stop}
            disabled={!live}
            aria-pressed={live && end !== null}
            title="Space"
          >
            {end === null ? 'Stop' : 'Go on'}
          </button>
        </fieldset>
      </div>
      {problem !== '' && <p class="notice lost">{problem}</p>}
      <canvas
        ref={canvas}
        class="timeline"
        tabIndex={0}
        role="img"
        aria-label={`Timeline of the last ${duration(span)}: ${rows.length} threads. Plus and minus zoom, arrow keys move, comma and full stop go from span to span.`}
        style={{ height: `${heightOf(rows)}px` }}
        onKeyDown={event => {
          const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
          if (act === undefined) return
          event.preventDefault()
          act()
        }}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          drag.current = timeAt(event)
        }}
        onPointerUp={() => {
          drag.current = null
        }}
        onPointerMove={event => {
          const at = timeAt(event)
          if (drag.current !== null) return show(span, to + drag.current - at)
          const y = event.clientY - event.currentTarget.getBoundingClientRect().top
          const row = rowAt(rows, y)
          setCursor(row < 0 || at < view.from ? null : { row, at })
        }}
        onPointerLeave={() => setCursor(null)}
      />
      <p class="span-words" role="status">
        {words === ''
          ? rows.length === 0
            ? 'No thread is seen yet.'
            : 'Point at a span, or press , and . to go from one to the next.'
          : words}
      </p>
    </>
  )
}

function shownPaints(rows: Row[]) {
  const seen = new Set(rows.flatMap(({ paints }) => [...new Set(paints)]))
  return PAINTS.filter((paint, i) => seen.has(i) && paint !== 'wait' && paint !== 'idle')
}

/** The span under the cursor, in words. */
function describe(rows: Row[], cursor: Cursor | null): string {
  const row = cursor === null ? undefined : rows[cursor.row]
  if (row === undefined || cursor === null) return ''
  const i = firstAfter(row, cursor.at)
  if (i >= row.starts.length || row.starts[i] > cursor.at) return `${row.name}: nothing was written down here`
  const what = SPAN_WORDS[PAINTS[row.paints[i]]]
  const batch = row.batches[i] >= 0 ? `, batch ${row.batches[i]}` : ''
  const rowsOfIt = row.counts[i] > 0 ? `, ${row.counts[i]} rows` : ''
  return `${row.name} ${what}, ${duration(row.ends[i] - row.starts[i])}${batch}${rowsOfIt}`
}
