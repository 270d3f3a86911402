/** Key figures: rates, settings, memory, and what lost time costs. Each says of which ranks it is. */

import { samplesPerSecond } from '../../dashboard/run/history.js'
import { bytes } from '../../verdict/units.js'
import { memoryOf, type State } from '../state/store.js'
import { costOf, enginesOf, stillFor, worstRecord } from '../state/worst.js'
import { count, dollars } from '../words/format.js'

export function Figures({ state }: { state: State }) {
  const { now, hello, recent } = state
  const ranks = now?.ranks ?? []
  const worst = worstRecord(now)
  const mean = (of: (at: (typeof recent)[number]) => number) =>
    recent.length === 0 || ranks.length === 0
      ? null
      : recent.reduce((sum, at) => sum + of(at), 0) / recent.length
  const samples = mean(at => samplesPerSecond(at.ranks))
  const steps = mean(at => {
    const record = at.ranks.find(({ rank }) => rank === worst?.rank)
    return record === undefined ? 0 : record.steps / Math.max(record.seconds, 1e-3)
  })
  const memory = memoryOf(ranks)
  const world = Math.max(1, hello?.run?.world ?? ranks.length)
  const all =
    world < 2 ? '' : ranks.length < world ? `${ranks.length} of ${world} ranks` : `all ${world} ranks`
  const one = world < 2 || worst === undefined ? '' : `rank ${worst.rank}`
  const share = ranks.length > 1 && enginesOf(state) === 1
  const price = hello?.dollarsPerHour ?? 0
  // Of a trainer that stands still, it is not known what for.
  const cost = now === null || stillFor(state) !== null ? null : costOf(now, price)
  return (
    <dl class="figures" aria-label="Key figures">
      <Figure
        name="samples a second"
        value={samples === null ? '–' : count(samples)}
        notes={samples === null ? [] : [all, `last ${count(recent.length)} s`]}
      />
      <Figure
        name="steps a second"
        value={steps === null ? '–' : count(steps, steps < 100 ? 1 : 0)}
        notes={worst === undefined ? [] : [one, `step ${count(worst.step)}`]}
      />
      <Figure
        name="workers"
        value={worst === undefined ? '–' : count(worst.workers)}
        notes={[share ? all : one, coresNote(worst?.cores ?? null)]}
      />
      <Figure
        name="batches ahead"
        value={worst === undefined ? '–' : count(worst.depth)}
        notes={[one, worst?.slots ? `${worst.slots.ready} ready` : 'depth']}
      />
      <Figure
        name="memory"
        value={memory === null ? '–' : bytes(memory.bytes)}
        notes={[all, memory?.limit ? `of ${bytes(memory.limit)}` : 'engine and trainer']}
      />
      <Figure
        name="lost time costs a day"
        value={cost === null ? '–' : dollars(cost.dollars)}
        notes={[cost === null || world < 2 ? '' : `${cost.ranks} GPUs`, `at ${dollars(price)} an hour`]}
      />
    </dl>
  )
}

function Figure({ name, value, notes }: { name: string; value: string; notes: string[] }) {
  const note = notes.filter(text => text !== '').join(', ')
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        <small title={note}>{note}</small>
      </dd>
    </div>
  )
}

function coresNote(cores: { allowed: number; engine: number } | null): string {
  return cores === null ? '' : `${cores.engine.toFixed(1)} of ${count(cores.allowed)} cores`
}
