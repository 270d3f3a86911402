/** A strip for each rank: what it loses and how fast it is. The slowest comes first where ranks differ. */
import type { RunRecord } from '../../../observe/live/record.js'
import type { State } from '../state/store.js'
import { count, NBSP, share } from '../words/format.js'
import { Machine } from './machine.js'

/** Where there are so few ranks, there is room for what the machine does. */
const FEW = 4
/** Losses that differ by less are alike: ranks stay in their order. */
const DIFFERENT = 0.03

interface Strip {
  rank: number
  host: string
  lost: number | null
  samplesPerSecond: number
}

export function Ranks({ state }: { state: State }) {
  const { strips, differ } = stripsOf(state)
  return (
    <section class="ranks" aria-labelledby="ranks-title">
      <h2 id="ranks-title">
        {strips.length > 1 ? `${strips.length} ranks` : 'This machine'}
        {differ && <small>the slowest first</small>}
      </h2>
      {strips.length === 0 && <p class="quiet-text">None is seen yet.</p>}
      <ol
        class={strips.length > 8 ? 'many' : ''}
        tabIndex={strips.length > 8 ? 0 : undefined}
        aria-label="Ranks"
      >
        {strips.map(({ rank, lost, samplesPerSecond, host }) => (
          <li key={rank} title={`Rank ${rank} on ${host}`}>
            <span class="name">{strips.length > 1 ? `rank ${rank}` : host}</span>
            <span class="track" aria-hidden="true">
              <span class="fill" style={{ width: `${100 * (1 - (lost ?? 1))}%` }} />
            </span>
            <span class="lost">
              <b>{share(lost)}</b> lost
            </span>
            <span class="rate">
              {count(samplesPerSecond)}
              {NBSP}/s
            </span>
          </li>
        ))}
      </ol>
      {strips.length > 0 && strips.length <= FEW && <Machine state={state} />}
    </section>
  )
}

/** Means of the last seconds, by rank. */
function stripsOf({ recent, now }: State): { strips: Strip[]; differ: boolean } {
  const strips = (now?.ranks ?? []).map(({ rank, host }) => {
    const records = recent.flatMap(({ ranks }) => ranks.filter(one => one.rank === rank))
    return { rank, host, lost: meanLost(records), samplesPerSecond: meanRate(records) }
  })
  const losses = strips.map(({ lost }) => lost ?? 0)
  const differ = strips.length > 1 && Math.max(...losses) - Math.min(...losses) >= DIFFERENT
  if (differ) strips.sort((x, y) => (y.lost ?? 0) - (x.lost ?? 0))
  return { strips, differ }
}

function meanLost(records: RunRecord[]): number | null {
  const known = records.filter(record => record.lost !== null && record.steps > 0)
  const steps = known.reduce((sum, record) => sum + record.steps, 0)
  return steps === 0
    ? null
    : known.reduce((sum, record) => sum + (record.lost ?? 0) * record.steps, 0) / steps
}

function meanRate(records: RunRecord[]): number {
  const seconds = records.reduce((sum, record) => sum + record.seconds, 0)
  return seconds <= 0 ? 0 : records.reduce((sum, { samples }) => sum + samples, 0) / seconds
}
