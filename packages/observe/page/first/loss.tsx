/** What the run lost over the last hour, and what the tuner did meanwhile. */

import type { HistoryPoint } from '../../dashboard/view.js'
import type { TunerDecision } from '../../live/record.js'
import { LEAST_PART } from '../../verdict/thresholds.js'
import { percent, rate } from '../../verdict/units.js'
import { Chart, type Mark } from '../draw/chart.js'
import { lastWord, once, type State } from '../state/store.js'
import { eventWords, MARKS, settingOf } from '../words/tuner.js'

/** Spans of time that the chart may show (ms): the shortest that holds what is known. */
const SPANS = [5, 15, 30, 60].map(minutes => minutes * 60_000)
/** Tops of the scale. */
const TOPS = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1]

export function Loss({ state }: { state: State }) {
  const { history } = state
  const last = history.at(-1)?.time ?? state.heard ?? Date.now()
  const first = history[0]?.time ?? last
  const span = SPANS.find(ms => last - first <= ms) ?? SPANS[SPANS.length - 1]
  const most = history.reduce((top, { lost }) => Math.max(top, lost ?? 0), 0)
  const decisions = once([
    ...history.flatMap(point => point.decisions),
    ...(state.now?.tuner?.decisions ?? []),
  ])
  const marks = decisions.filter(({ time }) => time >= last - span && time <= last).map(markOf)
  marks.sort((x, y) => x.time - y.time)
  return (
    <section class="over-time" aria-labelledby="loss-title">
      <h2 id="loss-title">
        Lost over the last {span === SPANS[3] ? 'hour' : `${span / 60_000} minutes`}
        {(state.hello?.run?.world ?? 1) > 1 && <small>of the rank that loses most</small>}
        {marks.length > 0 && <small>{marksLegend(decisions)}</small>}
      </h2>
      <Chart
        label={summary(history, marks.length)}
        height={168}
        from={last - span}
        to={last}
        top={TOPS.find(top => top >= most * 1.05) ?? 1}
        format={value => percent(value)}
        series={[
          {
            name: 'lost',
            look: most < LEAST_PART ? 'calm' : 'main',
            ...(most >= LEAST_PART && { calmBelow: LEAST_PART }),
            points: history.map(({ time, lost }) => [time, lost]),
          },
        ]}
        {...(state.now?.tuner == null && marks.length === 0 ? {} : { marks })}
        describe={time => pointWords(history, time)}
        empty="Nothing was seen yet."
        last={lastWord(state)}
      />
    </section>
  )
}

function markOf(decision: TunerDecision): Mark {
  const { time, event, reason } = decision
  const setting = settingOf(decision)
  return {
    time,
    sign: MARKS[event].sign,
    kind: event,
    title: `${eventWords(event)}${setting === '' ? '' : ` ${setting}`}`,
    text: reason,
  }
}

/** Which signs there are, in words. */
function marksLegend(decisions: TunerDecision[]): string {
  const events = [...new Set(decisions.map(({ event }) => event))]
  return ` tuner: ${events.map(event => `${MARKS[event].sign} ${MARKS[event].word}`).join('  ')}`
}

function summary(history: HistoryPoint[], marks: number): string {
  const known = history.flatMap(({ lost }) => (lost === null ? [] : [lost]))
  if (known.length === 0) return 'Loss over time: nothing yet'
  const most = percent(Math.max(...known))
  return `Loss over time: ${percent(known[known.length - 1])} now, ${most} at most. ${marks} decisions of the tuner. Arrow keys go through them.`
}

function pointWords(history: HistoryPoint[], time: number): string[] {
  const point = history.reduce<HistoryPoint | null>(
    (near, one) => (near === null || Math.abs(one.time - time) < Math.abs(near.time - time) ? one : near),
    null,
  )
  if (point === null) return []
  return [
    point.lost === null ? 'no step ended' : `lost ${percent(point.lost)}`,
    rate(point.samplesPerSecond),
    `${point.workers} ${point.workers === 1 ? 'worker' : 'workers'}, ${point.depth} batches ahead`,
  ]
}
