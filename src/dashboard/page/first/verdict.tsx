/** The first thing to read: whether the GPU waits, why, and what to do about it. */
import { useState } from 'preact/hooks'
import type { Remedy } from '../../../observe/evidence.js'
import { send } from '../state/address.js'
import type { State } from '../state/store.js'
import { gainOf, headline, type Tone, titleOf } from '../words/headline.js'

/** Shapes beside the colours. */
const SIGNS: Record<Tone, string> = { good: '✓', loss: '!', hint: 'i', unknown: '…' }
const SAYS: Record<Tone, string> = {
  good: 'All is well',
  loss: 'The data is too slow',
  hint: 'Worth a look',
  unknown: 'Not known yet',
}

export function Verdict({ state, say }: { state: State; say: (text: string) => void }) {
  const { tone, what, why, remedy } = headline(state)
  const tuner = state.now?.tuner?.state
  return (
    <section class={`verdict ${tone}`} aria-label="In one sentence">
      <span class="sign" role="img" aria-label={SAYS[tone]}>
        {SIGNS[tone]}
      </span>
      <div>
        <h1>
          <span class="what">{what}</span> <span class="why">{why}</span>
        </h1>
        {remedy !== null && <Do remedy={remedy} state={state} say={say} />}
        {tuner !== undefined && tuner !== '' && (
          <p class="tuner-now">
            <b>Tuner</b> {tuner}
          </p>
        )}
      </div>
    </section>
  )
}

function Do({ remedy, state, say }: { remedy: Remedy; state: State; say: (text: string) => void }) {
  const { title, detail } = titleOf(remedy)
  const gain = gainOf(remedy)
  const { command, set } = remedy
  const live = state.link === 'live' && state.ended === null
  return (
    <div class="do">
      <p class="remedy">
        <span class="label">Do this</span> <b>{title}</b>
        {gain !== null && <span class="gain">{gain}</span>}
        {gain === null && command === undefined && <span class="detail">{detail}</span>}
      </p>
      <div class="acts">
        {command !== undefined && <Copy command={command} say={say} />}
        {set !== undefined && state.hello?.control && live && <Apply set={set} title={title} say={say} />}
        {gain !== null && command === undefined && detail !== '' && <span class="detail">{detail}</span>}
      </div>
    </div>
  )
}

function Copy({ command, say }: { command: string; say: (text: string) => void }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command)
      say(`Copied: ${command}`)
    } catch {
      say(`The browser does not let this page copy. The command: ${command}`)
    }
  }
  return (
    <>
      <button type="button" class="main" onClick={copy}>
        Copy command
      </button>
      <code>{command}</code>
    </>
  )
}

function Apply({ set, title, say }: { set: object; title: string; say: (text: string) => void }) {
  const [busy, setBusy] = useState(false)
  const apply = async () => {
    setBusy(true)
    try {
      await send('api/set', set)
      say(`${title}: set. The next seconds show what it brings.`)
    } catch (error) {
      say(`Not set: ${error instanceof Error ? error.message : String(error)}`)
    }
    setBusy(false)
  }
  return (
    <button type="button" onClick={apply} disabled={busy} title={`Sets it in the run: ${title}`}>
      Apply now
    </button>
  )
}
