/** The whole page: head, first screen, tabs; and the keys that work everywhere. */
import { useEffect, useState } from 'preact/hooks'
import { Figures } from './first/figures.js'
import { Head } from './first/head.js'
import { Loss } from './first/loss.js'
import { Ranks } from './first/ranks.js'
import { StepBar } from './first/step-bar.js'
import { Verdict } from './first/verdict.js'
import { Keys } from './keys.js'
import type { State } from './state/store.js'
import { nextTheme } from './state/theme.js'
import { worstOf } from './state/worst.js'
import { TAB_KEYS, TABS, Tabs, useTab } from './tabs/tabs.js'

/** How long a word about what was done stays (ms). */
const SAID = 6000

export function App({ state }: { state: State }) {
  const [tab, setTab] = useTab()
  const [said, say] = useState('')
  const [keys, showKeys] = useState(false)
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => say(''), SAID)
    return () => clearTimeout(timer)
  }, [said])
  const changeTheme = () => say(`Colours: ${nextTheme()}`)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || inField(event.target)) return
      const key = TAB_KEYS.indexOf(event.key)
      if (event.key === 't') changeTheme()
      else if (event.key === '?') showKeys(shown => !shown)
      else if (key >= 0 && !inPicture(event.target)) setTab(TABS[key].id, true)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  useEffect(() => {
    document.title = titleOf(state)
  })
  return (
    <>
      <Head state={state} onTheme={changeTheme} onKeys={() => showKeys(true)} />
      <main class={state.link === 'lost' ? 'stale' : ''}>
        <Verdict state={state} say={say} />
        {state.hello?.run !== null && (
          <>
            <StepBar state={state} />
            <div class="row">
              <Loss state={state} />
              <Ranks state={state} />
            </div>
            <Figures state={state} />
            <Tabs state={state} tab={tab} onTab={setTab} />
          </>
        )}
      </main>
      <p class={said === '' ? 'toast' : 'toast shown'} role="status">
        {said}
      </p>
      {keys && <Keys onClose={() => showKeys(false)} />}
    </>
  )
}

/** What the browser's tab says: it is often all that is seen. */
function titleOf({ now, hello, link, ended }: State): string {
  const feed = hello?.run?.feed ?? 'Millrace'
  if (link === 'lost') return `(no connection) ${feed}`
  if (ended !== null) return `(ended) ${feed}`
  const worst = worstOf(now)
  // A page that is hidden has no news: what it knew last may be wrong.
  return worst === null || link === 'paused' ? feed : `−${Math.round(100 * worst.lost)} % ${feed}`
}

function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement
}

/** A canvas has keys of its own. */
function inPicture(target: EventTarget | null): boolean {
  return target instanceof HTMLCanvasElement
}
