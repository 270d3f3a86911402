/** One step as one bar: how much of it is training, and what the rest went into. */
import { PART_NAMES } from '../../account/parts.js'
import type { Parts } from '../../evidence.js'
import { ms, percent } from '../../verdict/units.js'
import { fill, Legend } from '../legend.js'
import type { State } from '../state/store.js'
import { windowOf, worstOf, worstRecord } from '../state/worst.js'
import { NBSP } from '../words/format.js'
import { partWords, shortWords } from '../words/parts.js'

/** Parts below this are not shown (0…1); from the second on, a name fits into the bar. */
const SEEN = 0.005
const ROOM = 0.1

export function StepBar({ state }: { state: State }) {
  const worst = worstOf(state.now)
  if (worst === null)
    return (
      <section class="step" aria-label="A step">
        <h2>Where the time of a step goes</h2>
        <div class="bar empty" />
        <p class="legend quiet-text">A bar appears here with the first steps.</p>
      </section>
    )
  const { parts, stepMs, rank } = worst
  // What workers do most is known where they are looked at, and is not in logs.
  const seen = state.now?.told == null ? (state.now?.worst ?? null) : null
  const { map, open, read } = seen?.accounting.makers.work ?? { map: 0, open: 0, read: 0 }
  const stage = seen?.accounting.makers.stage ?? null
  const words = partWords(stage, { workers: workersOf(state), map: map > open + read })
  const shown = PART_NAMES.filter(part => part === 'ideal' || parts[part] >= SEEN)
  const many = (state.hello?.run?.world ?? 1) > 1
  return (
    <section class="step" aria-labelledby="step-title">
      <h2 id="step-title">
        Where the time of a step goes
        <small>
          {many ? `rank ${rank}, ` : ''}
          {windowOf(state)}: {ms(stepMs)} a step
          {seen?.accounting.idealFrom === 'upper' && ', of which training takes at most what is shown'}
        </small>
      </h2>
      <PartsBar parts={parts} words={words} short={shortWords(stage)} />
      <Legend
        label="Parts of a step"
        of={shown.map(part => [
          part,
          <>
            <b>{percent(parts[part]).replace(' ', NBSP)}</b> {words[part]}
          </>,
        ])}
      />
    </section>
  )
}

function workersOf({ now }: State): number {
  return worstRecord(now)?.workers ?? now?.worst?.evidence.facts.workers ?? 1
}

interface Bar {
  parts: Parts
  words: Record<keyof Parts, string>
  /** Names within the bar. */
  short: Record<keyof Parts, string>
  /** Of what there is (0…1). */
  width?: number
}

/** A step as a bar of its parts. */
export function PartsBar({ parts, words, short, width = 1 }: Bar) {
  const seen = PART_NAMES.filter(part => parts[part] >= SEEN)
  return (
    <div
      class="bar"
      role="img"
      aria-label={seen.map(part => `${words[part]} ${percent(parts[part])}`).join(', ')}
      style={{ width: `${100 * width}%` }}
    >
      {PART_NAMES.map(part => (
        <span
          key={part}
          class={`part ${part}`}
          // Parts that are not shown leave a sum below 1, which would not fill the bar.
          style={{
            ...fill(part),
            flexGrow: 1000 * parts[part],
            display: parts[part] < SEEN ? 'none' : undefined,
          }}
          title={`${words[part]}: ${percent(parts[part])}`}
        >
          {parts[part] * width >= ROOM && (
            <span>
              {short[part]} {percent(parts[part])}
            </span>
          )}
        </span>
      ))}
    </div>
  )
}
