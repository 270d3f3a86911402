/**
 * A run that is computed: makers, cores, slots, a trainer and other processes, moved on by small ticks of time. It gives the
 * same evidence as a real one, so that fit, prediction and verdicts are tried where the truth is known.
 */
import type { ClaimTimes, Evidence, MakerSlice, StepTimes } from '../evidence.js'

export interface Workload {
  workers: number
  depth: number
  claims: number
  rows: number
  cores: number
  /** ms a sample: CPU, and waiting for storage. */
  cpu: number
  blocked: number
  /** ms a step: the trainer's own work, how much of it is CPU (0…1), and taking a batch. */
  step: number
  stepCpu?: number
  handOver?: number
  /** Other processes that always want a core. */
  hogs?: number
  /** Spread of a claim's cost (standard deviation of its logarithm); samples that cost `slowBy` times as much. */
  spread?: number
  slowShare?: number
  slowBy?: number
  steps?: number
  seed?: number
}

interface Maker {
  batch: number
  cpu: number
  blocked: number
  begun: number
  slice: MakerSlice
}

/** Slices end after this time (ms) at the next end of a claim. */
const SLICE = 50

export function simulate(w: Workload): Evidence {
  const { workers, depth, claims, rows, cores, steps: wanted = 200 } = w
  const random = generator(w.seed ?? 1)
  const perClaim = rows / claims
  const tick = Math.min(0.25, Math.max(0.02, Math.min((w.cpu + w.blocked) * perClaim, w.step + 0.2) / 20))
  const makers = Array.from({ length: Math.max(1, workers) }, (_, maker) => newMaker(maker))
  const open = new Map<number, number>()
  const made: MakerSlice[] = []
  const single: ClaimTimes[] = []
  const steps: StepTimes[] = []
  let next = 0
  let now = 0
  let batch = 0
  let asked = 0
  let got = Number.NaN
  let handed = 0
  let usedByHogs = 0
  let usedByTrainer = 0
  while (steps.length < wanted) {
    for (const maker of makers) {
      if (maker.batch >= 0 || Math.floor(next / claims) >= batch + (workers === 0 ? 1 : depth)) continue
      if (workers === 0 && !Number.isNaN(got)) continue
      const cost =
        Math.exp((w.spread ?? 0) * normal(random) - (w.spread ?? 0) ** 2 / 2) * slow(w, perClaim, random)
      maker.batch = Math.floor(next++ / claims)
      maker.cpu = w.cpu * perClaim * cost
      maker.blocked = w.blocked * perClaim * cost
      maker.begun = now
    }
    const running = makers.filter(maker => maker.batch >= 0 && maker.blocked <= 0)
    const trains = !Number.isNaN(got)
    const tasks = running.length + (w.hogs ?? 0) + (trains ? (w.stepCpu ?? 0) : 0)
    const speed = tasks === 0 ? 1 : Math.min(1, cores / tasks)
    now += tick
    usedByHogs += (w.hogs ?? 0) * speed * tick
    usedByTrainer += (trains ? (w.stepCpu ?? 0) : 0) * speed * tick
    for (const maker of makers) {
      const { slice } = maker
      if (maker.batch < 0) {
        slice.wait += tick
        if (now - slice.from >= SLICE) cut(maker)
      } else if (maker.blocked > 0) {
        maker.blocked -= tick
        slice.work.read += tick
      } else {
        maker.cpu -= tick * speed
        slice.work.decode += tick
        slice.cpu! += tick * speed
        slice.delay! += tick * (1 - speed)
        if (maker.cpu <= 0) finish(maker)
      }
    }
    // The part of a step that is CPU goes on as fast as it gets a core.
    if (trains) {
      handed += tick * ((w.stepCpu ?? 0) * speed + 1 - (w.stepCpu ?? 0))
      if (handed >= w.step + (w.handOver ?? 0)) endStep()
    }
    if (Number.isNaN(got) && (open.get(batch) ?? 0) >= claims) got = now
  }
  const seconds = now / 1000
  const engine = made.reduce((sum, slice) => sum + slice.cpu!, 0) / now
  const [trainer, others] = [usedByTrainer / now, usedByHogs / now]
  return {
    version: 1,
    from: 0,
    to: now,
    facts: { workers, depth, claims, rows, slotBytes: rows * 1e5, rank: 0, world: 1, cores },
    steps,
    makers: made,
    claims: single,
    host: {
      seconds,
      allowed: cores,
      coreBusy: Array.from({ length: Math.ceil(cores) }, () =>
        Math.min(1, (engine + trainer + others) / cores),
      ),
      idleCores: Math.max(0, cores - engine - trainer - others),
      engineCores: engine,
      trainerCores: trainer,
      otherCores: others,
      psi: { cpu: null, io: null, memory: null },
      throttled: null,
      rssBytes: 0,
      pageCacheBytes: null,
      memoryLimitBytes: null,
      diskBytes: null,
      readBytes: null,
    },
    probes: { ideal: { ms: w.step, from: 'given', steps: 0 } },
    lost: 0,
  }

  function finish(maker: Maker): void {
    open.set(maker.batch, (open.get(maker.batch) ?? 0) + 1)
    maker.batch = -1
    maker.slice.rows += perClaim
    maker.slice.claims++
    maker.slice.bytes += perClaim * 1e5
    maker.slice.reads++
    single.push({ ms: now - maker.begun, rows: perClaim })
    if (now - maker.slice.from >= SLICE) cut(maker)
  }

  function cut(maker: Maker): void {
    maker.slice.to = now
    made.push(maker.slice)
    maker.slice = newMaker(maker.slice.maker, now).slice
  }

  function endStep(): void {
    const handOver = w.handOver ?? 0
    const supply = got - asked
    const first = steps.length === 0 && batch === 0
    const compute = now - got - handOver
    const step = {
      asked,
      supply,
      handOver,
      transfer: 0,
      compute,
      samples: rows,
      count: 1,
      ready: supply <= tick,
    }
    steps.push(first ? { ...step, first } : step)
    open.delete(batch++)
    asked = now
    got = Number.NaN
    handed = 0
  }
}

function newMaker(maker: number, from = 0): Maker {
  const work = { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0 }
  const counts = { bytes: 0, rows: 0, claims: 0, reads: 0, opens: 0 }
  const slice = { maker, from, to: from, work, wait: 0, idle: 0, cpu: 0, delay: 0, gc: 0, ...counts }
  return { batch: -1, cpu: 0, blocked: 0, begun: 0, slice }
}

/** By how much slow samples make a claim dearer. */
function slow({ slowShare = 0, slowBy = 1 }: Workload, rows: number, random: () => number): number {
  let cost = 0
  for (let i = 0; i < rows; i++) cost += random() < slowShare ? slowBy : 1
  return cost / Math.ceil(rows)
}

/** Numbers of [0, 1) from a seed: mulberry32. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
