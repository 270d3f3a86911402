/** The keys, in a dialogue. */
import { useEffect, useRef } from 'preact/hooks'
import { TAB_KEYS } from './tabs/tabs.js'

const KEYS: [string, string][] = [
  ['t', 'light, dark, or as the system says'],
  ['?', 'this list'],
  [`${TAB_KEYS[0]} … ${TAB_KEYS.at(-1)}`, 'the tabs'],
  ['← →', 'the next tab, the next mark of the loss, the next point of a chart'],
  ['+ − 0', 'timeline: closer, further, everything'],
  ['← → ↑ ↓', 'timeline: earlier, later, another thread'],
  [', .', 'timeline: the span before, the next one'],
  ['Space', 'timeline: stop, go on'],
  ['Esc', 'closes this'],
]

export function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
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
