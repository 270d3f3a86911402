/** The first thing to read: whether the GPU waits, why, and what to do about it. */
import type { Remedy } from '../../../observe/evidence.js'
import type { State } from '../state/store.js'
import { gainOf, headline, type Tone, titleOf } from '../words/headline.js'
import { earned } from '../words/tuner.js'
import { type Control, Held, useControl } from './control.js'

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
  const { tone, what, why, remedy } = headline(state)
  const tuner = state.now?.tuner ?? null
  // While it checks something, there is nothing to do but wait.
  const trying = tuner?.decisions.at(-1)?.event === 'tried' && state.ended === null
  const control = useControl(say)
  const live = state.link === 'live' && state.ended === null
  return (
    <section class={`verdict ${tone}`} aria-label="In one sentence">
      <span class="sign" role="img" aria-label={SAYS[tone]}>
        {SIGNS[tone]}
      </span>
      <div>
        <h1>
          <span class="what">{what}</span> <span class="why">{why}</span>
        </h1>
        {live && control.held !== null ? (
          <Held control={control} />
        ) : (
          remedy !== null &&
          !trying && (
            <Do
              label={state.ended === null ? 'Do this' : 'Next time'}
              remedy={remedy}
              control={live && state.hello?.control ? control : null}
              say={say}
            />
          )
        )}
        {tuner !== null && tuner.state !== '' && (
          <p class={trying ? 'remedy tuner-now' : 'tuner-now'}>
            <b>{trying ? 'The tuner is on it.' : 'Tuner'}</b> {tuner.state} {earned(tuner.decisions)}
          </p>
        )}
      </div>
    </section>
  )
}

/** `control`: null where nothing may be changed. */
function Do({
  label,
  remedy,
  control,
  say,
}: {
  label: string
  remedy: Remedy
  control: Control | null
  say: (text: string) => void
}) {
  const { title, detail } = titleOf(remedy)
  const gain = gainOf(remedy)
  const { command, set } = remedy
  return (
    <div class="do">
      <p class={title.length > LONG ? 'remedy long' : 'remedy'}>
        <span class="label">{label}</span> <b>{title}</b>
        {gain !== null && <span class="gain">{gain}</span>}
        {gain === null && command === undefined && <span class="detail">{detail}</span>}
      </p>
      <div class="acts">
        {command !== undefined && <Copy command={command} say={say} />}
        {set !== undefined && control !== null && (
          <button
            type="button"
            onClick={() => control.apply(set, title)}
            disabled={control.busy}
            title={`Sets it in the run: ${title}`}
          >
            Apply now
          </button>
        )}
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
