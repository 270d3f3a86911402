/** What each thread does, as it goes on; it stops to be looked at. */
import { useEffect, useState } from 'preact/hooks'
import type { Timeline } from '../../dashboard/view.js'
import { type Look, Timelines } from '../draw/timelines.js'
import { ask } from '../state/address.js'
import type { State } from '../state/store.js'

/** How much is shown at first and at most, and how often it is asked for. */
const FIRST_MS = 2000
const MOST_MS = 14_000
const EVERY_MS = 1000

const NOTHING: Timeline = { from: 0, to: 0, lanes: [] }

export function TimelineTab({ state }: { state: State }) {
  const [data, setData] = useState(NOTHING)
  const [problem, setProblem] = useState('')
  const [look, setLook] = useState<Look>({ span: FIRST_MS, end: null })
  const live = state.link === 'live' && state.ended === null
  const following = live && look.end === null
  const seconds = Math.ceil(look.span / 1000) + 1
  useEffect(() => {
    if (!following) return
    let [stopped, asking] = [false, false]
    const fetch = async () => {
      if (asking || document.hidden) return
      asking = true
      try {
        const found = await ask<Timeline>('api/timeline', { seconds: String(seconds) })
        if (!stopped) setData(found)
        setProblem('')
      } catch (error) {
        setProblem(`No timeline came: ${error instanceof Error ? error.message : error}.`)
      }
      asking = false
    }
    fetch()
    const timer = setInterval(fetch, EVERY_MS)
    return () => {
      stopped = true
      clearInterval(timer)
    }
  }, [following, seconds])
  const stop = () => setLook({ ...look, end: look.end === null ? data.to : null })
  return (
    <>
      {problem !== '' && <p class="notice lost">{problem}</p>}
      <Timelines
        runs={[{ name: '', data }]}
        since="now"
        look={look}
        onLook={setLook}
        most={MOST_MS}
        keys={{ ' ': stop }}
      >
        <button
          type="button"
          onClick={stop}
          disabled={!live}
          aria-pressed={live && look.end !== null}
          title="Space"
        >
          {look.end === null ? 'Stop' : 'Go on'}
        </button>
      </Timelines>
    </>
  )
}
