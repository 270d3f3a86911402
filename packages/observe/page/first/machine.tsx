/** Who uses the cores, and whether the GPU has work: of the rank that loses most. */
import type { State } from '../state/store.js'
import { worstRecord } from '../state/worst.js'
import { count, share } from '../words/format.js'

/** Cores of others that are worth a word. */
const MUCH = 0.25

export function Machine({ state: { now } }: { state: State }) {
  const record = worstRecord(now)
  if (record === undefined) return null
  const { cores, gpu } = record
  const many = (now?.ranks.length ?? 0) > 1
  return (
    <ul class="machine" aria-label="The machine">
      {cores !== null && <Cores {...cores} />}
      {gpu !== null && gpu.hasWork !== null && (
        <li>
          <span class="name">GPU has work</span>
          <span class="track" aria-hidden="true">
            <span class="fill has-work" style={{ width: `${100 * gpu.hasWork}%` }} />
          </span>
          <span class="told">
            {many ? `rank ${record.rank}: ` : ''}
            {share(gpu.hasWork)}
            {gpu.smActive === null ? '' : `, SM ${many ? '' : 'active '}${share(gpu.smActive)}`}
          </span>
        </li>
      )}
    </ul>
  )
}

function Cores({
  allowed,
  engine,
  trainer,
  others,
}: {
  allowed: number
  engine: number
  trainer: number
  others: number
}) {
  const busy = engine + trainer + others
  const parts: [string, number][] = [
    ['workers', engine],
    ['trainer', trainer],
    ['others', others],
  ]
  const words = parts.map(([who, used]) => `${who} ${used.toFixed(1)}`).join(', ')
  return (
    <li title={`Cores used: ${words} of ${allowed}`}>
      <span class="name">cores busy</span>
      <span class="track" role="img" aria-label={`${words} of ${allowed} cores`}>
        {parts.map(([who, used]) => (
          <span
            key={who}
            class={`fill ${who}`}
            style={{ width: `${(100 * used) / Math.max(allowed, busy, 0.1)}%` }}
          />
        ))}
      </span>
      <span class="told">
        {busy.toFixed(1)} of {count(allowed, allowed % 1 === 0 ? 0 : 1)}
        {others >= MUCH && `, others ${others.toFixed(1)}`}
      </span>
    </li>
  )
}
