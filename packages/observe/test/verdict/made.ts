/** Windows that are made, not measured: a healthy run, and what is changed in it. */
import type { Evidence, HostSignals, MakerSlice, MakerWork, StepTimes } from '../../evidence.js'

export interface Made {
  workers?: number
  depth?: number
  claims?: number
  rows?: number
  cores?: number
  steps?: number
  /** ms a step. */
  step?: Partial<StepTimes>
  /** Shares of a maker's time while the trainer waits, and ms of work a sample by kind. */
  running?: number
  queued?: number
  blocked?: number
  work?: Partial<MakerWork>
  /** CPU ms a sample. */
  gc?: number
  host?: Partial<HostSignals> | null
  more?: Partial<Evidence>
}

export const HOST: HostSignals = {
  seconds: 10,
  allowed: 4,
  coreBusy: [0.5, 0.5, 0.5, 0.5],
  idleCores: 2,
  engineCores: 2,
  trainerCores: 0,
  otherCores: 0,
  psi: { cpu: 0, io: 0, memory: 0 },
  throttled: 0,
  rssBytes: 1e9,
  pageCacheBytes: null,
  memoryLimitBytes: null,
  diskBytes: null,
  readBytes: null,
}

/** Makers at work all the time, with the given shares; the trainer waits as `step.supply` says. */
export function made(given: Made = {}): Evidence {
  const { workers = 2, depth = 4, claims = 4, rows = 32, cores = 4, steps = 200 } = given
  const times = { supply: 0, handOver: 0.02, transfer: 0, compute: 20, ...given.step }
  const whole = times.supply + times.handOver + times.transfer + times.compute
  const all: StepTimes[] = Array.from({ length: steps }, (_, i) => ({
    asked: i * whole,
    ...times,
    // A little uneven, so that intervals are not empty.
    compute: times.compute * (1 + 0.02 * Math.sin(i)),
    samples: rows,
    count: 1,
    ready: times.supply === 0,
  }))
  const to = steps * whole
  const makers = Math.max(1, workers)
  const running = given.running ?? 0.5
  const queued = given.queued ?? 0
  const blocked = given.blocked ?? 0
  const busy = running + queued + blocked
  const kinds: MakerWork = { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0, ...given.work }
  const sum = Object.values(kinds).reduce((a, b) => a + b, 0) || 1
  if (sum === 1 && given.work === undefined) kinds.decode = 1
  const slice = 100
  const slices: MakerSlice[] = []
  for (let at = 0; at + slice <= to; at += slice)
    for (let maker = 0; maker < makers; maker++) {
      const part = (kind: number) => (kind / sum) * busy * slice
      slices.push({
        maker,
        from: at,
        to: at + slice,
        work: Object.fromEntries(Object.entries(kinds).map(([k, v]) => [k, part(v)])) as unknown as MakerWork,
        wait: (1 - busy) * slice,
        idle: 0,
        cpu: running * slice * (1 + 0.02 * Math.sin(at)),
        delay: queued * slice,
        gc: (given.gc ?? 0) * slice,
        bytes: (1e5 * rows * slice) / whole / makers,
        rows: (rows * slice) / whole / makers,
        claims: (claims * slice) / whole / makers,
        reads: 1,
        opens: 1,
      })
    }
  return {
    version: 1,
    from: 0,
    to,
    facts: { workers, depth, claims, rows, slotBytes: 1e7, rank: 0, world: 1, cores },
    steps: all,
    makers: slices,
    host: given.host === null ? null : { ...HOST, engineCores: makers * running, ...given.host },
    probes: {},
    lost: 0,
    ...given.more,
  }
}
