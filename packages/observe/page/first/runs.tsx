/** The runs that are here, to choose one. */
import type { RunName } from '../../dashboard/view.js'
import { choose, nameOf } from '../state/address.js'
import { age } from '../words/format.js'

export function Runs({ runs }: { runs: RunName[] }) {
  if (runs.length === 0) return null
  return (
    <ul class="runs" aria-label="Runs">
      {runs.map(run => (
        <li key={nameOf(run)}>
          <button type="button" onClick={() => choose(nameOf(run))}>
            <b>{run.feed}</b>
            <small>
              process {run.trainer}
              {run.world > 1 ? `, ${run.world} ranks` : ''}, for {age(run.age)}
            </small>
          </button>
        </li>
      ))}
    </ul>
  )
}
