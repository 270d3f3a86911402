/** The keys, in a dialogue. */
import { useEffect, useRef } from 'preact/hooks'

const EVERYWHERE: [string, string][] = [
  ['t', 'light, dark, or as the system says'],
  ['?', 'this list'],
  ['+ − 0', 'timeline: closer, further, everything'],
  ['← → ↑ ↓', 'timeline: earlier, later, another thread'],
  [', .', 'timeline: the span before, the next one'],
  ['Esc', 'closes this'],
]

export function Keys({ keys, onClose }: { keys: [key: string, what: string][]; onClose: () => void }) {
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
