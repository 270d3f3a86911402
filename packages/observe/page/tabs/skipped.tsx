/** Samples that were skipped, why, and what they look like. */
import { address } from '../state/address.js'
import type { State } from '../state/store.js'

export function Skipped({ state: { now } }: { state: State }) {
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
