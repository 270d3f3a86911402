/** The runs on this machine that this user may look at: rings that a loop takes batches from. Only /proc is read. */
import { monotonicMs } from '../../../core/spans/clock.js'
import type { RingInfo } from '../../../core/spans/reader.js'
import { hasConsumer, lookAtWriters } from '../../diagnose/attach/find-run.js'
import type { RunName } from '../view.js'

export interface RunHere extends RunName {
  rank: number
  /** The ring in the trainer's spans: its number there, as `findRun` takes it. */
  trainerRing: number
}

/** All of them, the oldest first; of a run with several ranks, the first rank that is here. */
export function runsHere(): RunHere[] {
  const found: RunHere[] = []
  lookAtWriters((spans, pid) => {
    const taken = spans.rings().filter(({ open, ring }) => open && hasConsumer(spans, ring))
    found.push(...taken.map(ring => nameOf(pid, ring)))
  })
  return firstRanks(found).sort((a, b) => b.age - a.age)
}

export function nameOf(
  pid: number,
  { ring, engine, engineRing, name, world, rank, begun }: RingInfo,
): RunHere {
  const own = engine === 0 || engine === pid
  return {
    trainer: pid,
    engine: own ? pid : engine,
    ring: own ? ring : engineRing,
    feed: name,
    world,
    age: Math.max(0, (monotonicMs() - begun) / 1000),
    rank,
    trainerRing: ring,
  }
}

/** Ranks of one run are one. Where a rank is there twice, these are two runs. */
function firstRanks(runs: readonly RunHere[]): RunHere[] {
  const lowest = new Map<string, number>()
  const key = ({ feed, world }: RunHere) => `${world} ${feed}`
  for (const run of runs) lowest.set(key(run), Math.min(run.rank, lowest.get(key(run)) ?? run.rank))
  return runs.filter(run => run.world < 2 || run.rank === lowest.get(key(run)))
}

/** The plain name, as the page is told. */
export function plainName({ trainer, engine, ring, feed, world, age }: RunName): RunName {
  return { trainer, engine, ring, feed, world, age: Math.round(age) }
}
