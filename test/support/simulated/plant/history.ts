/** What happened in a computed run, and what is told of a window of it: with errors, where the workload has them. */
import { clipSlice } from '../../../../packages/observe/account/maker-slices.js'
import type {
  ClaimTimes,
  Evidence,
  HostSignals,
  MakerSlice,
  RankTimes,
  StepTimes,
} from '../../../../packages/observe/evidence.js'
import type { Maker } from './maker.js'
import {
  claimsOf,
  generator,
  lognormal,
  type PlantSetting,
  type PlantWorkload,
  slotBytesOf,
} from './workload.js'

/** Single claims that are kept of each rank. */
const CLAIMS = 4096
/** Bytes of a process without any slot. */
const BASE_BYTES = 200e6

/** Times since the beginning, all cores together (ms). */
export interface Sums {
  at: number
  engine: number
  trainer: number
  others: number
  /** In which a trainer wanted a core and had none; in which some task had none. */
  trainerDelay: number
  pressed: number
  /** Samples of all ranks, and bytes read. */
  samples: number
  bytes: number
}

export class History {
  readonly slices: MakerSlice[][]
  readonly steps: StepTimes[][]
  private readonly claims: (ClaimTimes & { at: number })[][]
  private readonly looks: Sums[] = []
  private readonly settings: { at: number; setting: PlantSetting }[] = []

  constructor(
    ranks: number,
    private readonly seed: number,
  ) {
    this.slices = Array.from({ length: ranks }, () => [])
    this.steps = Array.from({ length: ranks }, () => [])
    this.claims = Array.from({ length: ranks }, () => [])
  }

  noteSetting(at: number, setting: PlantSetting): void {
    this.settings.push({ at, setting: { ...setting } })
  }

  noteClaim(rank: number, at: number, ms: number, rows: number): void {
    const claims = this.claims[rank]
    claims.push({ at, ms, rows })
    if (claims.length >= 2 * CLAIMS) claims.splice(0, CLAIMS)
  }

  look(sums: Sums): void {
    this.looks.push({ ...sums })
  }

  forget(before: number): void {
    const drop = <T>(list: T[], at: (item: T) => number) => {
      const first = list.findIndex(item => at(item) >= before)
      if (first > 0) list.splice(0, first)
    }
    for (const list of this.slices) drop(list, slice => slice.to)
    for (const list of this.steps) drop(list, step => step.asked)
    drop(this.looks, look => look.at)
    // The one before the window is what was set when it began.
    while (this.settings.length > 1 && this.settings[1].at < before) this.settings.shift()
  }

  evidence(
    w: PlantWorkload,
    from: number,
    to: number,
    rank: number,
    makers: Iterable<Maker>,
    core: number,
  ): Evidence {
    const setting = this.settings.findLast(({ at }) => at <= to)?.setting ?? this.settings[0].setting
    const ranks = this.steps.length
    const cores = w.cores * (w.told?.cores ?? 1)
    const { now } = this
    const steps = this.stepsIn(rank, from, to)
    const last = this.steps[rank].at(-1)
    const silentMs = last === undefined ? to - from : to - last.asked - lengthOf(last)
    return {
      version: 1,
      from,
      to,
      facts: {
        workers: setting.workers,
        depth: setting.depth,
        claims: claimsOf(w.rows, setting.claimRows),
        rows: w.rows,
        slotBytes: slotBytesOf(w),
        rank,
        world: ranks,
        cores,
        begun: 0,
      },
      steps,
      makers: this.slicesIn(rank, from, to, makers, core).map(slice => told(slice, w.told?.cpu ?? 1)),
      claims: this.claims[rank]
        .filter(({ at }) => at >= from && at <= to)
        .map(({ ms, rows }) => ({ ms, rows })),
      host: this.host(w, setting, from, to),
      probes: {},
      ...(ranks > 1 && { ranks: this.ranksIn(from, to, makers, core) }),
      lost: 0,
      ...(to >= now && silentMs > 0 && { silentMs }),
    }
  }

  private get now(): number {
    return this.looks.at(-1)?.at ?? 0
  }

  private stepsIn(rank: number, from: number, to: number): StepTimes[] {
    const steps = this.steps[rank]
    let first = steps.length
    while (first > 0 && steps[first - 1].asked >= from) first--
    return steps.slice(first).filter(step => step.asked + lengthOf(step) <= to)
  }

  private slicesIn(
    rank: number,
    from: number,
    to: number,
    makers: Iterable<Maker>,
    core: number,
  ): MakerSlice[] {
    const found: MakerSlice[] = []
    const add = (slice: MakerSlice) => {
      const part = clipSlice(slice, from, to)
      if (part !== undefined) found.push(part)
    }
    const slices = this.slices[rank]
    let first = slices.length
    while (first > 0 && slices[first - 1].to > from) first--
    for (let i = first; i < slices.length; i++) add(slices[i])
    for (const maker of makers) add(maker.soFar(rank, this.now, core))
    return found
  }

  private ranksIn(from: number, to: number, makers: Iterable<Maker>, core: number): RankTimes[] {
    const all = [...makers]
    return this.steps.map((_, rank) => {
      const steps = this.stepsIn(rank, from, to)
      const slices = this.slicesIn(rank, from, to, all, core)
      const rows = slices.reduce((sum, slice) => sum + slice.rows, 0)
      const work = slices.reduce((sum, { work: { read, decode } }) => sum + read + decode, 0)
      const mean = (of: (step: StepTimes) => number) =>
        steps.length === 0 ? 0 : steps.reduce((sum, step) => sum + of(step), 0) / steps.length
      return {
        rank,
        steps: steps.length,
        supplyMs: mean(step => step.supply),
        computeMs: mean(step => step.compute),
        capacity: work > 0 ? (1000 * rows * Math.max(1, all.length)) / work : null,
      }
    })
  }

  /** What the machine did, as its signals tell it. */
  private host(w: PlantWorkload, setting: PlantSetting, from: number, to: number): HostSignals {
    const [before, after] = [this.at(from), this.at(to)]
    const ms = Math.max(to - from, 1e-6)
    // The same window is told in the same way, however often it is asked for.
    const random = generator(
      this.seed ^ Math.imul(Math.round(from * 16) + 1, 0x9e3779b1) ^ Math.round(to * 16),
    )
    const heard = (value: number) => value * (w.told?.noise ? lognormal(w.told.noise, random) : 1)
    const per = (name: keyof Sums) => (after[name] - before[name]) / ms
    const engine = heard(per('engine')) * (w.told?.cpu ?? 1)
    const trainer = heard(per('trainer'))
    const others = heard(per('others'))
    const allowed = w.cores * (w.told?.cores ?? 1)
    const bytes = after.bytes - before.bytes
    const slots = setting.depth * slotBytesOf(w) * this.steps.length
    const busy = Math.min(1, (per('engine') + per('trainer') + per('others')) / w.cores)
    return {
      seconds: ms / 1000,
      allowed,
      coreBusy: Array.from({ length: Math.max(1, Math.ceil(allowed)) }, () => busy),
      idleCores: Math.max(0, allowed - engine - trainer - others),
      engineCores: engine,
      trainerCores: trainer,
      otherCores: others,
      trainerDelay: Math.min(1, per('trainerDelay')),
      psi: { cpu: Math.min(1, per('pressed')), io: null, memory: null },
      throttled: null,
      rssBytes: BASE_BYTES + slots,
      pageCacheBytes: null,
      memoryLimitBytes: w.memoryBytes ?? null,
      diskBytes: bytes,
      readBytes: bytes,
    }
  }

  /** The sums at a moment, between the looks on either side of it. */
  at(moment: number): Sums {
    const { looks } = this
    let next = looks.length - 1
    while (next > 0 && looks[next - 1].at >= moment) next--
    const after = looks[next]
    const before = looks[Math.max(0, next - 1)]
    const share =
      after.at > before.at ? Math.min(1, Math.max(0, (moment - before.at) / (after.at - before.at))) : 1
    const between = { ...after }
    for (const name of Object.keys(after) as (keyof Sums)[])
      between[name] = before[name] + (after[name] - before[name]) * share
    return between
  }
}

function told(slice: MakerSlice, cpu: number): MakerSlice {
  return cpu === 1 ? slice : { ...slice, cpu: (slice.cpu ?? 0) * cpu }
}

function lengthOf({ supply, handOver, transfer, compute }: StepTimes): number {
  return supply + handOver + transfer + compute
}
