/** A strip for each rank: what it loses, over the window of the sentence, and how fast it is. The slowest comes first where ranks differ. */
import type { RunRecord } from '../../live/record.js'
import type { State } from '../state/store.js'
import { lossOf, windowOf } from '../state/worst.js'
import { count, NBSP, share } from '../words/format.js'
import { DIFFERENT } from '../words/headline.js'
import { Machine } from './machine.js'

/** Where there are so few ranks, there is room for what the machine does. */
const FEW = 4

interface Strip {
  rank: number
  host: string
  lost: number | null
  samplesPerSecond: number
}

export function Ranks({ state }: { state: State }) {
  const { strips, differ } = stripsOf(state)
  const window = windowOf(state)
  return (
    <section class="ranks" aria-labelledby="ranks-title">
      <h2 id="ranks-title">
        {strips.length > 1 ? `${strips.length} ranks` : 'This machine'}
        <small>{[window, differ ? 'most lost first' : ''].filter(text => text !== '').join(', ')}</small>
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
            <span class={strips.length > 1 ? 'lost' : 'told'}>
              <b>{share(lost)}</b> lost
            </span>
            {strips.length > 1 && (
              <span class="rate">
                {count(samplesPerSecond)}
                {NBSP}/s
              </span>
            )}
          </li>
        ))}
      </ol>
      {strips.length > 0 && strips.length <= FEW && <Machine state={state} />}
    </section>
  )
}

function stripsOf({ recent, now }: State): { strips: Strip[]; differ: boolean } {
  if (now === null) return { strips: [], differ: false }
  const strips = now.ranks.map(record => {
    const { rank, host } = record
    const records = recent.flatMap(({ ranks }) => ranks.filter(one => one.rank === rank))
    return { rank, host, lost: lossOf(now, record), samplesPerSecond: meanRate(records) }
  })
  const losses = strips.map(({ lost }) => lost ?? 0)
  const differ = strips.length > 1 && Math.max(...losses) - Math.min(...losses) >= DIFFERENT
  if (differ) strips.sort((x, y) => (y.lost ?? 0) - (x.lost ?? 0))
  return { strips, differ }
}

function meanRate(records: RunRecord[]): number {
  const seconds = records.reduce((sum, record) => sum + record.seconds, 0)
  return seconds <= 0 ? 0 : records.reduce((sum, { samples }) => sum + samples, 0) / seconds
}
