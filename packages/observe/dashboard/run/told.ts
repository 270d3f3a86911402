/** What logs say of the rank that loses most: for a page that can't read its spans. */
import type { Parts } from '../../evidence.js'
import type { RunRecord } from '../../live/record.js'
import type { Told } from '../view.js'

/** So far back from its last record (ms): about what a diagnosis is made of. */
const WINDOW = 15_000

/** `ranks`: records of each, oldest first. Null: no step has ended in their last seconds. */
export function toldOf(ranks: ReadonlyMap<number, readonly RunRecord[]>): Told | null {
  const all = [...ranks.values()].flatMap(records => toldOfRank(records) ?? [])
  return all.length === 0 ? null : all.reduce((worst, one) => (one.lost > worst.lost ? one : worst))
}

function toldOfRank(records: readonly RunRecord[]): Told | undefined {
  const last = records.at(-1)
  if (last === undefined) return undefined
  const window = records.slice(records.findIndex(({ time }) => time > last.time - WINDOW))
  const known = window.flatMap(({ parts, lost, stepMs, steps }) =>
    parts === null || lost === null || stepMs === null || steps === 0 ? [] : [{ parts, lost, stepMs, steps }],
  )
  const steps = known.reduce((sum, one) => sum + one.steps, 0)
  const time = known.reduce((sum, one) => sum + one.stepMs * one.steps, 0)
  if (!(time > 0)) return undefined
  // Shares of a step count by the time of the steps that they are of.
  const mean = (of: (one: (typeof known)[number]) => number) =>
    known.reduce((sum, one) => sum + of(one) * one.stepMs * one.steps, 0) / time
  const names = Object.keys(known[0].parts) as (keyof Parts)[]
  const parts = Object.fromEntries(names.map(name => [name, mean(one => one.parts[name])]))
  const why = window.findLast(one => one.why !== null)?.why ?? null
  return {
    rank: last.rank,
    host: last.host,
    stepMs: time / steps,
    why,
    seconds: why?.seconds ?? window.reduce((sum, one) => sum + one.seconds, 0),
    lost: why?.lost ?? mean(one => one.lost),
    parts: parts as unknown as Parts,
  }
}
