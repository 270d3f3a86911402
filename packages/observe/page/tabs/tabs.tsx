/** What lies below the first screen. The address keeps which tab is open; arrow keys go from one to the next. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { bytes } from '../../verdict/units.js'
import { address } from '../state/address.js'
import type { State } from '../state/store.js'
import { share } from '../words/format.js'
import { Definition } from './definition.js'
import { Gallery } from './gallery.js'
import { TimelineTab } from './timeline.js'
import { Tuner } from './tuner.js'
import { WhatIf } from './what-if.js'
import { Why } from './why.js'
import { Workers } from './workers.js'

interface Tab {
  id: string
  name: string
  View: ComponentType<{ state: State }>
  count?: (state: State) => number
}

/** The keys of the tabs, in their order, as they lie on a keyboard. */
export const TAB_KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9']

export const TABS: Tab[] = [
  { id: 'why', name: 'Why', View: Why },
  { id: 'what-if', name: 'What if', View: WhatIf },
  { id: 'timeline', name: 'Timeline', View: TimelineTab },
  { id: 'workers', name: 'Workers', View: Workers },
  { id: 'tuner', name: 'Tuner', View: Tuner, count: state => state.now?.tuner?.decisions.length ?? 0 },
  { id: 'gpu', name: 'GPU', View: Gpu },
  { id: 'samples', name: 'Samples', View: Gallery },
  { id: 'skipped', name: 'Skipped', View: Skipped, count: state => skippedOf(state) },
  { id: 'definition', name: 'Definition', View: Definition },
]

function skippedOf({ now }: State): number {
  const told = now?.ranks.reduce((sum, { bad }) => sum + bad, 0) ?? 0
  return Math.max(told, now?.bad.length ?? 0)
}

/** The tab that the address names, and how to open another one; with `look` it is brought into view. */
export function useTab(): [string, (id: string, look?: boolean) => void] {
  const known = (name: string | undefined) => TABS.find(({ id }) => id === name)?.id
  const named = () => known(location.hash.slice(1)) ?? TABS[0].id
  const [tab, setTab] = useState(named)
  useEffect(() => {
    const change = () => setTab(named())
    addEventListener('hashchange', change)
    return () => removeEventListener('hashchange', change)
  }, [])
  const open = (id: string, look = false) => {
    // The address changes without a jump to an element of that name.
    history.replaceState(null, '', `#${id}`)
    setTab(id)
    if (look)
      requestAnimationFrame(() => document.getElementById(`tab-${id}`)?.scrollIntoView({ block: 'start' }))
  }
  return [tab, open]
}

export function Tabs({ state, tab, onTab }: { state: State; tab: string; onTab: (id: string) => void }) {
  const { View, name } = TABS.find(({ id }) => id === tab) ?? TABS[0]
  const press = (event: KeyboardEvent) => {
    const i = TABS.findIndex(({ id }) => id === tab)
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: TABS.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const { id } = TABS[(to + TABS.length) % TABS.length]
    onTab(id)
    document.getElementById(`tab-${id}`)?.focus()
  }
  return (
    <section class="tabs" aria-label="More">
      <div role="tablist" aria-label="Views" onKeyDown={press}>
        {TABS.map(({ id, name, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={id === tab}
            aria-controls="panel"
            tabIndex={id === tab ? 0 : -1}
            onClick={() => onTab(id)}
          >
            {name}
            {count !== undefined && count(state) > 0 && <small>{count(state)}</small>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${tab}`} class="panel">
        <h2 class="hidden">{name}</h2>
        <View state={state} />
      </div>
    </section>
  )
}

function Gpu({ state: { now } }: { state: State }) {
  const ranks = (now?.ranks ?? []).filter(({ gpu }) => gpu !== null)
  if (ranks.length === 0)
    return (
      <p class="quiet-text">
        No GPU is seen here: NVIDIA's library does not tell of one, or the trainer uses none.
      </p>
    )
  return (
    <>
      <p class="lead">
        <b>Has work</b> says only that some kernel ran; <b>SM active</b> says how many of the GPU's
        multiprocessors did. A GPU that has work all the time may still be mostly empty: then batches are in
        time, but too small, or kernels are launched too slowly.
      </p>
      <div class="gpus">
        {ranks.map(({ rank, gpu }) => (
          <section key={rank} aria-label={`GPU of rank ${rank}`}>
            <h3>
              {gpu?.name} <small>rank {rank}</small>
            </h3>
            <Meter name="has work" value={gpu?.hasWork ?? null} look="has-work" />
            <Meter name="SM active" value={gpu?.smActive ?? null} look="sm-active" />
            <p class="quiet-text">
              {gpu?.memoryBytes == null ? 'memory not told' : `${bytes(gpu.memoryBytes)} of memory used`}
              {gpu?.watts == null ? '' : `, ${Math.round(gpu.watts)} W`}
            </p>
          </section>
        ))}
      </div>
    </>
  )
}

function Meter({ name, value, look }: { name: string; value: number | null; look: string }) {
  return (
    <div class="meter">
      <span>{name}</span>
      <span class="track" aria-hidden="true">
        <span class={`fill ${look}`} style={{ width: `${100 * (value ?? 0)}%` }} />
      </span>
      <b>{value === null ? 'not told' : share(value)}</b>
    </div>
  )
}

function Skipped({ state: { now } }: { state: State }) {
  const bad = now?.bad ?? []
  const all = now?.ranks.reduce((sum, rank) => sum + rank.bad, 0) ?? 0
  if (bad.length === 0 && all === 0) return <p class="quiet-text">No sample was skipped.</p>
  return (
    <>
      {all > bad.length && (
        <p class="quiet-text">
          {all} samples were skipped; these are the last {bad.length}.
        </p>
      )}
      <ul class="skipped">
        {bad.map(({ id, message, picture }, i) => (
          <li key={`${i} ${id}`}>
            {picture === null ? (
              <span class="no-picture" aria-hidden="true">
                no picture
              </span>
            ) : (
              <img src={address(picture)} alt={`What can be seen of ${id}`} loading="lazy" />
            )}
            <div>
              <b>{id}</b>
              <p>{message}</p>
            </div>
          </li>
        ))}
      </ul>
    </>
  )
}
