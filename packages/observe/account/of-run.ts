/** The evidence of a run so far: sums that a loop kept, and the counters of its makers. */
import type { Evidence, Facts, HostSignals } from '../evidence.js'
import { factsOf, lookAtMakers as lookAt, type MakersLook, makersBetween } from './collect.js'
import type { LoopTimes } from './loop-times.js'
import type { SpanSource } from './source.js'

/** Undefined: spans are turned off. */
type Source = SpanSource | undefined

export interface RunOf {
  from: number
  to: number
  times: Pick<LoopTimes, 'steps' | 'waits'>
  /** Looks at the counters of the makers. */
  before: MakersLook
  now: MakersLook
  facts: Partial<Facts>
  cache?: Evidence['cache']
  host?: HostSignals | null
}

export function lookAtMakers(source: Source, at: number): MakersLook {
  return source ? lookAt(source, at) : { at, counters: [] }
}

export function evidenceOfRun(
  source: Source,
  { from, to, times, before, now, facts, cache, host = null }: RunOf,
): Evidence {
  return {
    version: 1,
    from,
    to,
    facts: factsOf(source, { ...(host && { cores: host.allowed }), ...facts }),
    steps: times.steps,
    waits: times.waits,
    makers: source ? makersBetween(source.engine.ring, before, now) : [],
    host,
    probes: {},
    lost: 0,
    ...(cache && { cache }),
  }
}
