/** A run as it goes on: head, first screen, tabs. */
import { useEffect } from 'preact/hooks'
import { Figures } from './first/figures.js'
import { Notices, RunLine } from './first/head.js'
import { Loss } from './first/loss.js'
import { Ranks } from './first/ranks.js'
import { StepBar } from './first/step-bar.js'
import { Verdict } from './first/verdict.js'
import { Shell } from './shell.js'
import type { State } from './state/store.js'
import { worstOf } from './state/worst.js'
import { TAB_KEYS, TABS, Tabs, useTab } from './tabs/tabs.js'

const KEYS: [string, string][] = [
  [`${TAB_KEYS[0]} … ${TAB_KEYS.at(-1)}`, 'the tabs'],
  ['← →', 'the next tab, the next mark of the loss, the next point of a chart'],
  ['Space', 'timeline: stop, go on'],
]

export function App({ state }: { state: State }) {
  const [tab, setTab] = useTab()
  const openTab = ({ key, target }: KeyboardEvent) => {
    const i = TAB_KEYS.indexOf(key)
    // A canvas has keys of its own.
    if (i < 0 || target instanceof HTMLCanvasElement) return false
    setTab(TABS[i].id, true)
    return true
  }
  useEffect(() => {
    document.title = titleOf(state)
  })
  return (
    <Shell
      line={<RunLine state={state} />}
      notices={<Notices state={state} />}
      stale={state.link === 'lost'}
      onKey={openTab}
      keys={KEYS}
    >
      {say => (
        <>
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
        </>
      )}
    </Shell>
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
