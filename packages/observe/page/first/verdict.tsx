/** The first thing to read: whether the GPU waits, why, and what to do about it. */
import type { ComponentChildren } from 'preact'
import type { RunName } from '../../dashboard/view.js'
import type { Remedy } from '../../evidence.js'
import { choose, nameOf } from '../state/address.js'
import type { State } from '../state/store.js'
import { enginesOf } from '../state/worst.js'
import { age } from '../words/format.js'
import { ceilingOf, gainOf } from '../words/gain.js'
import { headline, type Tone } from '../words/headline.js'
import { copyOf, titleOf } from '../words/remedy.js'
import { earned, stateOf } from '../words/tuner.js'

/** Shapes beside the colours. */
const SIGNS: Record<Tone, string> = { good: '✓', loss: '!', hint: 'i', unknown: '…' }
const SAYS: Record<Tone, string> = {
  good: 'All is well',
  loss: 'The data is too slow',
  hint: 'Worth a look',
  unknown: 'Not known yet',
}

/** A title of more letters is written smaller: it shall fit into a line. */
const LONG = 40

export function Verdict({ state, say }: { state: State; say: (text: string) => void }) {
  const { tone, what, why, remedy, window } = headline(state)
  const tuner = state.now?.tuner ?? null
  // While it checks something, there is nothing to do but wait.
  const trying = tuner?.decisions.at(-1)?.event === 'tried' && state.ended === null
  const says = tuner === null ? '' : stateOf(tuner)
  return (
    <Sentence tone={tone} what={what} why={why} window={window}>
      {state.hello?.run === null && <Runs runs={state.hello.others} />}
      {remedy !== null && !trying && (
        <Do
          label={state.ended === null ? 'Do this' : 'Next time'}
          remedy={remedy}
          many={enginesOf(state) > 1}
          ceiling={ceilingOf(state.now)}
          say={say}
        />
      )}
      {tuner !== null && says !== '' && (
        <p class={trying ? 'remedy tuner-now' : 'tuner-now'}>
          <b>{trying && tone !== 'good' ? 'The tuner is on it.' : 'Tuner'}</b> {earned(tuner.decisions)}{' '}
          {says}
        </p>
      )}
    </Sentence>
  )
}

interface Said {
  tone: Tone
  what: string
  why: string
  /** Of which time that is said. */
  window?: string
  children: ComponentChildren
}

/** The first thing to read, with a sign beside it, and what can be done below it. */
export function Sentence({ tone, what, why, window, children }: Said) {
  return (
    <section class={`verdict ${tone}`} aria-label="In one sentence">
      <span class="sign" role="img" aria-label={SAYS[tone]}>
        {SIGNS[tone]}
      </span>
      <div>
        <h1>
          <span class="what">{what}</span> <span class="why">{why}</span>{' '}
          {window !== undefined && <span class="window">{window}</span>}
        </h1>
        {children}
      </div>
    </section>
  )
}

function Do({
  label,
  remedy,
  many,
  ceiling,
  say,
}: {
  label: string
  remedy: Remedy
  /** Each of several ranks has workers of its own. */
  many: boolean
  ceiling: number | null
  say: (text: string) => void
}) {
  const { title, detail } = titleOf(remedy, many)
  const gain = gainOf(remedy, ceiling)
  const copy = copyOf(remedy)
  return (
    <div class="do">
      <p class={title.length > LONG ? 'remedy long' : 'remedy'}>
        <span class="label">{label}</span> <b>{title}</b>
        {gain !== null && <span class="gain">{gain}</span>}
        {gain === null && copy === null && <span class="detail">{detail}</span>}
      </p>
      <div class="acts">
        {copy !== null && <Copy {...copy} say={say} />}
        {gain !== null && copy === null && detail !== '' && <span class="detail">{detail}</span>}
      </div>
    </div>
  )
}

export function Copy({ text, what, say }: { text: string; what: string; say: (text: string) => void }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      say(`Copied: ${text}`)
    } catch {
      say(`The browser does not let this page copy. The ${what}: ${text}`)
    }
  }
  return (
    <>
      <button type="button" class="main" onClick={copy}>
        Copy {what}
      </button>
      <code>{text}</code>
    </>
  )
}

function Runs({ runs }: { runs: RunName[] }) {
  if (runs.length === 0) return null
  return (
    <ul class="runs" aria-label="Runs">
      {runs.map(run => (
        <li key={nameOf(run)}>
          <button type="button" onClick={() => choose(nameOf(run))}>
            <b>{run.feed}</b>
            <small>
              process {run.trainer}
              {run.world > 1 ? `, ${run.world} ranks` : ''}, for {age(run.age)}
            </small>
          </button>
        </li>
      ))}
    </ul>
  )
}
