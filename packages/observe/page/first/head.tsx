/** The top line: which run, where, and whether it is live. Below it, what is wrong with the connection. */
import { useTick } from '../draw/hooks.js'
import { choose, nameOf } from '../state/address.js'
import type { State } from '../state/store.js'
import { age, clock } from '../words/format.js'

/** A connection that is lost for so long (ms) may not come back by itself. */
const LONG = 20_000
const STARTED_AGAIN = ' If the dashboard was started again, open the address that it printed.'

/** The run and its link, within the top line. */
export function RunLine({ state }: { state: State }) {
  return (
    <>
      <Run state={state} />
      <Live state={state} />
    </>
  )
}

function Run({ state: { hello } }: { state: State }) {
  const run = hello?.run ?? null
  if (hello === null || run === null) return <h2 class="run">{hello === null ? '' : hello.host}</h2>
  const where = `process ${run.trainer} on ${hello.host}${run.world > 1 ? `, ${run.world} ranks` : ''}`
  return (
    <>
      {hello.others.length === 0 ? (
        <h2 class="run" title={run.feed}>
          {run.feed}
        </h2>
      ) : (
        <select class="run" aria-label="Run" onChange={event => choose(event.currentTarget.value)}>
          {[run, ...hello.others].map(one => (
            <option key={nameOf(one)} value={nameOf(one)}>
              {one.feed} ({one.trainer})
            </option>
          ))}
        </select>
      )}
      <span class="where">{where}</span>
    </>
  )
}

/** A word and a shape, so that it needs no colour. */
function Live({ state: { link, ended } }: { state: State }) {
  if (link === 'lost') return <span class="live lost">✕ no connection</span>
  if (ended !== null) return <span class="live ended">■ ended</span>
  if (link === 'opening' || link === 'paused') return <span class="live">○ connecting</span>
  return <span class="live on">● live</span>
}

export function Notices({ state }: { state: State }) {
  useTick(1000)
  const { link, heard, ended } = state
  const lines: { text: string; kind: string }[] = []
  if (link === 'lost')
    lines.push({
      kind: 'lost',
      text:
        heard === null
          ? 'No connection to the server. Trying again.'
          : `Connection lost: what you see is ${age((Date.now() - heard) / 1000)} old. Trying again.${Date.now() - heard > LONG ? STARTED_AGAIN : ''}`,
    })
  if (ended !== null)
    lines.push({
      kind: 'ended',
      text: `The run ended at ${clock(ended.time)}: ${ended.reason}. This is the last that was seen of it.`,
    })
  return (
    <div role="status" class="notices">
      {lines.map(({ text, kind }) => (
        <p key={text} class={`notice ${kind}`}>
          {text}
        </p>
      ))}
    </div>
  )
}
