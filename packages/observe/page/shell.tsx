/** What stands around every page: the top line, the theme and the list of keys, and a word about what was done. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { nextTheme } from './state/theme.js'

/** How long a word about what was done stays (ms). */
const SAID_FOR_MS = 6000

interface Given {
  /** In the top line. */
  line: ComponentChildren
  /** Below it. */
  notices?: ComponentChildren
  /** What is seen is old. */
  stale?: boolean
  /** Keys of the page: whether one was used. */
  onKey?: (event: KeyboardEvent) => boolean
  /** Lines of the list of keys that this page alone has. */
  keys: [key: string, what: string][]
  children: (say: (text: string) => void) => ComponentChildren
}

export function Shell({ line, notices, stale = false, onKey, keys, children }: Given) {
  const [said, say] = useState('')
  const [listed, list] = useState(false)
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => say(''), SAID_FOR_MS)
    return () => clearTimeout(timer)
  }, [said])
  const changeTheme = () => say(`Colours: ${nextTheme()}`)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || inField(event.target)) return
      if (event.key === 't') changeTheme()
      else if (event.key === '?') list(shown => !shown)
      else if (!onKey?.(event)) return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <>
      <header class="head">
        <div class="line">
          <span class="mark" aria-hidden="true">
            millrace
          </span>
          {line}
          <span class="space" />
          <button
            type="button"
            class="quiet"
            onClick={changeTheme}
            title="Light, dark, or as the system says (t)"
          >
            Theme
          </button>
          <button type="button" class="quiet" onClick={() => list(true)} title="Keys (?)" aria-label="Keys">
            ?
          </button>
        </div>
        {notices}
      </header>
      <main class={stale ? 'stale' : ''}>{children(say)}</main>
      <p class={said === '' ? 'toast' : 'toast shown'} role="status">
        {said}
      </p>
      {listed && <Keys keys={keys} onClose={() => list(false)} />}
    </>
  )
}

function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement
}

const EVERYWHERE: [string, string][] = [
  ['t', 'light, dark, or as the system says'],
  ['?', 'this list'],
  ['+ − 0', 'timeline: closer, further, everything'],
  ['← → ↑ ↓', 'timeline: earlier, later, another thread'],
  [', .', 'timeline: the span before, the next one'],
  ['Esc', 'closes this'],
]

function Keys({ keys, onClose }: { keys: [key: string, what: string][]; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {[...keys, ...EVERYWHERE].map(([key, what]) => (
          <div key={key + what}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  )
}
