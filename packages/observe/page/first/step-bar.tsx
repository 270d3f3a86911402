/** One step as one bar: how much of it is training, and what the rest went into. */
import type { Parts } from '../../evidence.js'
import { ms, percent } from '../../verdict/units.js'
import type { State } from '../state/store.js'
import { windowOf, worstOf, worstRecord } from '../state/worst.js'
import { NBSP } from '../words/format.js'
import { PARTS, partWords, shortWords } from '../words/parts.js'

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
  const short = shortWords(stage)
  const shown = PARTS.filter(part => part === 'ideal' || parts[part] >= SEEN)
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
      <div
        class="bar"
        role="img"
        aria-label={shown.map(part => `${words[part]} ${percent(parts[part])}`).join(', ')}
      >
        {PARTS.map(part => (
          <Segment key={part} part={part} share={parts[part]} words={words[part]} short={short[part]} />
        ))}
      </div>
      <ul class="legend" aria-label="Parts of a step">
        {shown.map(part => (
          <li key={part}>
            <i class={`swatch ${part}`} />
            <b>{percent(parts[part]).replace(' ', NBSP)}</b> {words[part]}
          </li>
        ))}
      </ul>
    </section>
  )
}

function workersOf({ now }: State): number {
  return worstRecord(now)?.workers ?? now?.worst?.evidence.facts.workers ?? 1
}

function Segment({
  part,
  share,
  words,
  short,
}: {
  part: keyof Parts
  share: number
  words: string
  short: string
}) {
  return (
    <span
      class={`part ${part}`}
      // Parts that are not shown leave a sum below 1, which would not fill the bar.
      style={{ flexGrow: 1000 * share, display: share < SEEN ? 'none' : undefined }}
      title={`${words}: ${percent(share)}`}
    >
      {share >= ROOM && (
        <span>
          {short} {percent(share)}
        </span>
      )}
    </span>
  )
}
