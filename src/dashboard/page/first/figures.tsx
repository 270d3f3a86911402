/** Key figures: rates, settings, memory, and what waiting costs. */
import { bytes } from '../../../observe/verdict/units.js'
import { type State, samplesPerSecond } from '../state/store.js'
import { count, dollars } from '../words/format.js'

const HOURS = 24

export function Figures({ state }: { state: State }) {
  const { now, hello, recent } = state
  const ranks = now?.ranks ?? []
  const worst = ranks.find(({ rank }) => rank === now?.worst?.rank) ?? ranks[0]
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
  const lost = now?.worst?.diagnosis.lost ?? null
  const price = hello?.dollarsPerHour ?? 0
  return (
    <dl class="figures" aria-label="Key figures">
      <Figure
        name="samples a second"
        value={samples === null ? '–' : count(samples)}
        note={world > 1 ? 'all ranks' : ''}
      />
      <Figure
        name="steps a second"
        value={steps === null ? '–' : count(steps, steps < 100 ? 1 : 0)}
        note={worst === undefined ? '' : `step ${count(worst.step)}`}
      />
      <Figure
        name="workers"
        value={worst === undefined ? '–' : count(worst.workers)}
        note={coresNote(worst?.cores ?? null)}
      />
      <Figure
        name="batches ahead"
        value={worst === undefined ? '–' : count(worst.depth)}
        note={worst?.slots ? `${worst.slots.ready} ready` : 'depth'}
      />
      <Figure
        name="memory"
        value={memory === null ? '–' : bytes(memory.bytes)}
        note={memory?.limit ? `of ${bytes(memory.limit)}` : 'engine and trainer'}
      />
      <Figure
        name="waiting costs a day"
        value={lost === null ? '–' : dollars(lost * price * HOURS * world)}
        note={`at ${dollars(price)} an hour${world > 1 ? ` × ${world} GPUs` : ''}`}
      />
    </dl>
  )
}

function Figure({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        <small>{note}</small>
      </dd>
    </div>
  )
}

function coresNote(cores: { allowed: number; engine: number } | null): string {
  return cores === null ? '' : `${cores.engine.toFixed(1)} of ${count(cores.allowed)} cores`
}

/** Of all ranks that tell; the limit where one is known. */
function memoryOf(ranks: { memory: { bytes: number; limit: number | null } | null }[]) {
  const known = ranks.flatMap(({ memory }) => (memory === null ? [] : [memory]))
  if (known.length === 0) return null
  const limits = known.flatMap(({ limit }) => (limit === null ? [] : [limit]))
  return {
    bytes: known.reduce((sum, memory) => sum + memory.bytes, 0),
    limit: limits.length === 0 ? null : Math.max(...limits),
  }
}
