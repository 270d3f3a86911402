/** What each worker did in the last second. */
import { fill, Legend } from '../legend.js'
import type { State } from '../state/store.js'
import { share } from '../words/format.js'
import { WORK, WORK_WORDS } from '../words/work.js'

export function Workers({ state: { now, hello } }: { state: State }) {
  const makers = now?.makers ?? []
  if (makers.length === 0)
    return (
      <p class="quiet-text">No worker is seen: the trainer makes its batches itself, or has not begun.</p>
    )
  const kinds = WORK.filter(kind => makers.some(({ work }) => (work[kind] ?? 0) > 0))
  return (
    <>
      <Legend
        label="Kinds of work"
        of={[
          ...kinds.map(kind => [`paint-${kind}`, WORK_WORDS[kind]] as const),
          ['paint-wait', 'waits for a free slot'],
          ['paint-idle', 'nothing to do'],
        ]}
      />
      <table class="workers">
        <thead>
          <tr>
            <th scope="col">worker</th>
            <th scope="col">
              the last second
              {(hello?.run?.world ?? 1) > 1 && now?.worst != null && `, of rank ${now.worst.rank}`}
            </th>
            <th scope="col" class="number">
              works
            </th>
            <th scope="col" class="number">
              of a core
            </th>
          </tr>
        </thead>
        <tbody>
          {makers.map(({ number, work, wait, idle, cpu }) => {
            const all = [
              ...kinds.map(kind => [kind, work[kind] ?? 0] as const),
              ['wait', wait] as const,
              ['idle', idle] as const,
            ]
            const words = all
              .filter(([, part]) => part >= 0.005)
              .map(([kind, part]) => `${kind} ${share(part)}`)
            return (
              <tr key={number}>
                <th scope="row">{number}</th>
                <td>
                  <div class="bar thin" role="img" aria-label={words.join(', ')} title={words.join(', ')}>
                    {all.map(([kind, part]) => (
                      <span
                        key={kind}
                        class={`part paint-${kind}`}
                        style={{ ...fill(`paint-${kind}`), flexGrow: part }}
                      />
                    ))}
                  </div>
                </td>
                <td class="number">{share(Math.max(0, 1 - wait - idle))}</td>
                <td class="number">{share(cpu)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </>
  )
}
