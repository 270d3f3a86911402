/** Changes a run: sets what is advised, and then keeps it or sets it back. */
import { useState } from 'preact/hooks'
import type { IsSet, Setting } from '../../view.js'
import { send } from '../state/address.js'

export interface Control {
  /** What was set and is not kept yet, in words. Null: nothing. */
  held: string | null
  busy: boolean
  apply: (set: Setting, title: string) => void
  keep: () => void
  undo: () => void
}

export function useControl(say: (text: string) => void): Control {
  const [held, hold] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const ask = async (setting: Setting, done: (is: IsSet) => void) => {
    setBusy(true)
    try {
      done(await send<IsSet>('api/set', setting))
    } catch (error) {
      say(`Not done: ${error instanceof Error ? error.message : String(error)}`)
    }
    setBusy(false)
  }
  return {
    held,
    busy,
    apply: (set, title) =>
      ask(set, () => {
        hold(title)
        say(`${title}: set. The next seconds show what it brings.`)
      }),
    keep: () =>
      ask({ keep: true }, ({ workers, depth }) => {
        hold(null)
        say(`Kept: ${workers} workers, depth ${depth}.`)
      }),
    undo: () =>
      ask({ undo: true }, ({ workers, depth }) => {
        hold(null)
        say(`Set back: ${workers} workers, depth ${depth}.`)
      }),
  }
}

/** What is set for now: it is set back when the dashboard ends, unless it is kept. */
export function Held({ control }: { control: Control }) {
  const { held, busy, keep, undo } = control
  if (held === null) return null
  return (
    <div class="do">
      <p class="remedy">
        <span class="label">Set for now</span> <b>{held}</b>
        <span class="detail">until this dashboard ends</span>
      </p>
      <div class="acts">
        <button type="button" class="main" onClick={keep} disabled={busy}>
          Keep it
        </button>
        <button type="button" onClick={undo} disabled={busy}>
          Set it back
        </button>
      </div>
    </div>
  )
}
