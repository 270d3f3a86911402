/** What the trainer really gets: rows of the newest batch, after augmentation, with their labels. */
import { useEffect, useState } from 'preact/hooks'
import type { Gallery as Rows } from '../../dashboard/view.js'
import { ask } from '../state/address.js'
import type { State } from '../state/store.js'
import { ASKED, batchSize, shownWords } from '../words/gallery.js'

export function Gallery({ state }: { state: State }) {
  const [rows, setRows] = useState<Rows | null>(null)
  const [problem, setProblem] = useState('')
  const look = () => {
    ask<Rows>('api/gallery', { rows: String(ASKED) }).then(
      found => {
        setRows(found)
        setProblem('')
      },
      (error: Error) => setProblem(`No samples came: ${error.message}.`),
    )
  }
  useEffect(look, [])
  return (
    <>
      <div class="tools">
        <p class="lead">
          {rows === null || rows.reason !== null || rows.rows.length === 0
            ? 'Rows as the trainer gets them, after augmentation.'
            : shownWords(rows, batchSize(state.hello?.definition))}
        </p>
        <button type="button" onClick={look}>
          Newest batch
        </button>
      </div>
      {problem !== '' && <p class="notice lost">{problem}</p>}
      {rows?.reason != null && <p class="quiet-text">{rows.reason}</p>}
      {rows === null && problem === '' && <p class="quiet-text">A moment.</p>}
      <ul class="gallery">
        {rows?.rows.map(({ id, pictures, values }) => (
          <li key={id}>
            {Object.entries(pictures).map(([field, source]) => (
              <img key={field} src={source} alt={`${field} of ${id}`} />
            ))}
            <dl>
              {Object.entries(values).map(([field, value]) => (
                <div key={field}>
                  <dt>{field}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            <p class="id" title={id}>
              {id}
            </p>
          </li>
        ))}
      </ul>
    </>
  )
}
