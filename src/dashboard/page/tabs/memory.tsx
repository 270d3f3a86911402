/** Batches that lie ready, and memory, over time. */
import { bytes } from '../../../observe/verdict/units.js'
import { Chart } from '../draw/chart.js'
import { type Point, roundUp } from '../draw/scale.js'
import { lastWord, memoryOf, type State } from '../state/store.js'

const MINUTE = 60_000

export function Memory({ state }: { state: State }) {
  const { slots, history, now } = state
  const many = (now?.ranks.length ?? 0) > 1
  const last = history.at(-1)?.time ?? slots.at(-1)?.time ?? Date.now()
  const span = (first: number | undefined) => Math.max(MINUTE, last - (first ?? last))
  const depth = now?.ranks.reduce((sum, rank) => sum + rank.depth, 0) ?? 0
  const limit = memoryOf(now?.ranks ?? [])?.limit ?? null
  const memory: Point[] = history.map(({ time, rssBytes }) => [time, rssBytes])
  const most = memory.reduce((top, [, value]) => Math.max(top, value ?? 0), 0)
  const top = limit !== null && limit < 3 * most ? limit * 1.05 : roundUp(most * 1.1)
  return (
    <div class="two">
      <section aria-labelledby="slots-title">
        <h3 id="slots-title">Batches in memory</h3>
        <p class="quiet-text">
          Ready ones in dark: as long as there are some, the trainer does not wait. Above them those being
          made, and those that the trainer holds{many ? ', of all ranks together' : ''}.
        </p>
        <Chart
          label="Batches that are ready, being made and held, over time"
          height={220}
          from={last - span(slots[0]?.time)}
          to={last}
          top={Math.max(depth, ...slots.map(({ ready, filling, held }) => ready + filling + held), 2)}
          format={value => value.toFixed(value % 1 === 0 ? 0 : 1)}
          series={[
            {
              name: 'held',
              kind: 'area',
              look: 'held',
              points: slots.map(s => [s.time, s.ready + s.filling + s.held]),
            },
            {
              name: 'filling',
              kind: 'area',
              look: 'filling',
              points: slots.map(s => [s.time, s.ready + s.filling]),
            },
            { name: 'ready', kind: 'area', look: 'ready', points: slots.map(s => [s.time, s.ready]) },
          ]}
          describe={time => {
            const s = nearest(slots, time)
            return s === null
              ? []
              : [`${s.ready} ready`, `${s.filling} being made`, `${s.held} held by the trainer`]
          }}
          empty="The engine's slots can't be seen from here."
          last={lastWord(state)}
        />
      </section>
      <section aria-labelledby="memory-title">
        <h3 id="memory-title">Memory</h3>
        <p class="quiet-text">
          Of engine and trainer{many ? ', all ranks together' : ''}, without the page cache. It should be
          level: memory is a budget.
        </p>
        <Chart
          label="Memory of engine and trainer over time"
          height={220}
          from={last - span(history[0]?.time)}
          to={last}
          top={top}
          format={value => bytes(value)}
          series={[{ name: 'memory', kind: 'area', look: 'memory', points: memory }]}
          {...(limit === null ? {} : { limit: { value: limit, name: `limit ${bytes(limit)}` } })}
          describe={time => {
            const point = nearest(history, time)
            return point?.rssBytes == null ? [] : [bytes(point.rssBytes)]
          }}
          empty="Memory is not told."
          last={lastWord(state)}
        />
      </section>
    </div>
  )
}

function nearest<T extends { time: number }>(points: readonly T[], time: number): T | null {
  return points.reduce<T | null>(
    (near, one) => (near === null || Math.abs(one.time - time) < Math.abs(near.time - time) ? one : near),
    null,
  )
}
