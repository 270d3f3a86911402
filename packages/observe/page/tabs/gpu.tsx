/** The GPU: having work and being full are two things. */
import { bytes } from '../../verdict/units.js'
import type { State } from '../state/store.js'
import { share } from '../words/format.js'

export function Gpu({ state: { now } }: { state: State }) {
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
