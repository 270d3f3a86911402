/** The numbers that decided, and all that can be done. */
import type { State } from '../state/store.js'
import { gainOf, titleOf } from '../words/headline.js'

export function Why({ state: { now } }: { state: State }) {
  const worst = now?.worst ?? null
  if (worst === null) return <p class="quiet-text">The numbers behind the sentence appear here with it.</p>
  const { diagnosis, accounting } = worst
  const second = diagnosis.second === null ? '' : `, then ${diagnosis.second}`
  return (
    <div class="two">
      <section aria-labelledby="evidence-title">
        <h3 id="evidence-title">What was seen</h3>
        <p class="quiet-text">
          {accounting.steps} steps in {accounting.seconds.toFixed(0)} s. Verdict: {diagnosis.verdict}
          {second}.
        </p>
        <ul class="plain">
          {diagnosis.evidence.map(line => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="remedies-title">
        <h3 id="remedies-title">What can be done</h3>
        {diagnosis.remedies.length === 0 && <p class="quiet-text">Nothing needs to be.</p>}
        <ol class="remedies">
          {diagnosis.remedies.map(remedy => {
            const { title, detail } = titleOf(remedy)
            return (
              <li key={remedy.action}>
                <b>{title}</b> <Gain gain={gainOf(remedy)} />
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
