/** The numbers that decided, and all that can be done. */
import type { Diagnosis } from '../../evidence.js'
import { LEAST_PART } from '../../verdict/thresholds.js'
import type { State } from '../state/store.js'
import { ceilingOf, gainOf } from '../words/gain.js'
import { titleOf } from '../words/remedy.js'

export function Why({ state }: { state: State }) {
  const worst = state.now?.worst ?? null
  if (worst === null)
    return (
      <p class="quiet-text">
        {state.now?.told == null
          ? 'The numbers behind the sentence appear here with it.'
          : `What is known of rank ${state.now.told.rank} is known by its log: the numbers behind the sentence are seen on its machine alone, ${state.now.told.host}.`}
      </p>
    )
  const { diagnosis, accounting, rank } = worst
  const many = (state.hello?.run?.world ?? 1) > 1
  return (
    <Reasons
      diagnosis={diagnosis}
      ceiling={ceilingOf(state.now)}
      from={`${many ? `Rank ${rank}: ` : ''}${accounting.steps} ${accounting.steps === 1 ? 'step' : 'steps'} in the last ${accounting.seconds.toFixed(0)} s.`}
    />
  )
}

function Reasons({
  diagnosis,
  from,
  ceiling,
}: {
  diagnosis: Diagnosis
  from: string
  ceiling: number | null
}) {
  const second = diagnosis.second === null ? '' : `, then ${diagnosis.second}`
  return (
    <div class="two">
      <section aria-label="What was seen">
        <h3>What was seen</h3>
        <p class="quiet-text">
          {from} Verdict: {diagnosis.verdict}
          {second}.
        </p>
        <ul class="plain">
          {diagnosis.evidence.map(line => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </section>
      <section aria-label="What can be done">
        <h3>What can be done</h3>
        {diagnosis.remedies.length === 0 && (
          <p class="quiet-text">
            {diagnosis.lost < LEAST_PART
              ? 'Nothing: your training step is the limit.'
              : 'Nothing is certain enough to be advised yet.'}
          </p>
        )}
        <ol class="remedies">
          {diagnosis.remedies.map(remedy => {
            const { title, detail } = titleOf(remedy)
            return (
              <li key={remedy.action}>
                <b>{title}</b> <Gain gain={gainOf(remedy, ceiling)} />
                {detail !== '' && <p>{detail}</p>}
                {remedy.warning !== undefined && <p class="quiet-text">{remedy.warning}.</p>}
              </li>
            )
          })}
        </ol>
      </section>
    </div>
  )
}

function Gain({ gain }: { gain: string | null }) {
  return gain === null ? <span class="not-told">not predicted</span> : <span class="gain">{gain}</span>
}
