/**
 * A run that is computed and can be changed while it goes on: makers, cores, slots, trainers and neighbours. It goes from event
 * to event, hundreds of times faster than a real one, and gives the same evidence.
 *
 * All tasks that want a core get an equal share, so one clock tells how far each has come: it advances by what a task gets. A task
 * that needs 5 ms more is done when that clock is 5 ms further. Readers that share a storage have such a clock, and trainers, too.
 */
import type { Evidence } from '../../../packages/observe/evidence.js'
import { Heap } from './plant/heap.js'
import { History, type Sums } from './plant/history.js'
import { Maker } from './plant/maker.js'
import {
  BYTES,
  claimsOf,
  costOf,
  generator,
  lognormal,
  normal,
  type PlantSetting,
  type PlantWorkload,
  slotBytesOf,
} from './plant/workload.js'

export type { PlantSetting, PlantWorkload } from './plant/workload.js'

/** What is older is forgotten (ms). */
const KEEP = 60_000
/** A worker starts so long after it was asked for (ms): a thread, its code, its sources. */
const START = 250
/** The machine is looked at, and its speed changes, so often (ms); speeds have this memory (ms). */
const BEAT = 100
const MEMORY = 2000
/** Beats between two times of forgetting. */
const FORGET = 50
/** Less than this is no time (ms, or of another clock). */
const EPSILON = 1e-7
/** How much slower the machine gets with each time that the memory is exceeded by all of it. */
const SWAP = 10

/** One trainer and its ring. */
interface Rank {
  /** The batch that it wants or has, and the next one to be opened. */
  batch: number
  next: number
  /** Of the batch that was opened last: rows that are claimed, and rows of a claim. */
  claimed: number
  claimRows: number
  /** Claims of open batches that are not done. */
  left: Map<number, number>
  asked: number
  got: number
  /** waits for its batch, trains, or waits for the other ranks. */
  state: 'waits' | 'trains' | 'done'
}

export class Plant {
  private readonly history: History
  private readonly ranks: Rank[]
  private readonly makers = new Set<Maker>()
  private idle: Maker[] = []
  private readonly latency = new Heap<Maker>()
  private readonly transfer = new Heap<Maker>()
  private readonly running = new Heap<Maker>()
  private readonly training = new Heap<number>()
  private readonly starts = new Heap<number>()
  private readonly random: () => number
  /** Numbers of their own: the machine's speed is the same, whatever is set. */
  private readonly drifts: () => number
  private readonly sums: Sums = {
    at: 0,
    engine: 0,
    trainer: 0,
    others: 0,
    trainerDelay: 0,
    pressed: 0,
    samples: 0,
    bytes: 0,
  }
  private w: PlantWorkload
  private current: PlantSetting
  /** Clocks: work that a task got done, its time on a core, bytes that a reader got, ms of a step that a trainer got done. */
  private done = 0
  private core = 0
  private read = 0
  private trained = 0
  /** The machine's speed, and ln of it. */
  private speed = 1
  private drift = 0
  private beats = 0

  constructor(
    workload: PlantWorkload,
    setting: PlantSetting,
    seed = 1,
    private readonly keep = KEEP,
  ) {
    this.w = workload
    this.current = { ...setting }
    this.random = generator(seed)
    this.drifts = generator(seed + 0x5bd1e995)
    const ranks = Math.max(1, workload.ranks ?? 1)
    this.history = new History(ranks, seed)
    this.ranks = Array.from({ length: ranks }, () => ({
      batch: 0,
      next: 0,
      claimed: workload.rows,
      claimRows: 1,
      left: new Map(),
      asked: 0,
      got: 0,
      state: 'waits' as const,
    }))
    this.drift = (workload.noise ?? 0) * normal(this.drifts)
    this.speed = Math.exp(this.drift)
    this.history.noteSetting(0, setting)
    this.history.look(this.sums)
    this.hire(0)
    this.assign()
  }

  /** ms since it began. */
  get now(): number {
    return this.sums.at
  }

  get workload(): Readonly<PlantWorkload> {
    return this.w
  }

  get setting(): Readonly<PlantSetting> {
    return this.current
  }

  /** Steps that all ranks have made. */
  get steps(): number {
    return this.ranks[0].batch
  }

  /** Makers at work now: those that still start are not among them, those that are to leave are. */
  get alive(): number {
    return this.makers.size
  }

  /** Sums since the beginning, at a moment that is not forgotten. */
  at(moment: number): Readonly<Sums> {
    if (moment >= this.now) return this.sums
    return this.history.at(moment)
  }

  /** Samples/s of all ranks in a window. */
  rate(from: number, to: number): number {
    return (1000 * (this.at(to).samples - this.at(from).samples)) / (to - from)
  }

  set(change: Partial<PlantSetting>): void {
    this.current = { ...this.current, ...change }
    this.history.noteSetting(this.now, this.current)
    this.hire(START)
    this.assign()
  }

  /** What comes from outside: neighbours, other costs, other steps. What is begun already costs what it did. */
  disturb(change: Partial<Omit<PlantWorkload, 'ranks' | 'rows'>>): void {
    this.w = { ...this.w, ...change }
  }

  advance(ms: number): void {
    this.run(this.now + ms, Infinity)
  }

  /** Goes on until so many steps are made since the beginning, and not further. */
  advanceTo(steps: number): void {
    this.run(Infinity, steps)
  }

  evidence(from: number, to: number, rank = 0): Evidence {
    this.history.look(this.sums)
    return this.history.evidence(this.w, from, to, rank, this.makers, this.core)
  }

  private run(end: number, steps: number): void {
    while (this.now < end && this.steps < steps) {
      this.move(end)
      while (this.latency.due <= this.now + EPSILON) this.arrived(this.latency.pop())
      while (this.transfer.due <= this.read + EPSILON) this.compute(this.transfer.pop())
      while (this.running.due <= this.done + EPSILON) this.finish(this.running.pop())
      while (this.training.due <= this.trained + EPSILON) this.trainedOne(this.ranks[this.training.pop()])
      while (this.starts.due <= this.now + EPSILON) this.start(this.starts.pop())
      if ((this.beats + 1) * BEAT <= this.now + EPSILON) this.beat()
    }
  }

  /** Goes to the next event. */
  private move(end: number): void {
    const { w, sums } = this
    const { stepCpu = 0, stepThreads = 1, hogs = 0 } = w
    const trainers = this.training.size * stepCpu * stepThreads
    const tasks = this.running.size + hogs + trainers
    const share = tasks > w.cores ? w.cores / tasks : 1
    const crowded = 1 + (w.overhead ?? 0) * Math.max(0, this.running.size - w.cores)
    const work = (share * this.speed) / crowded / this.swapping()
    const bytes = ((w.bytesPerMs ?? 1) * this.speed) / Math.max(1, this.transfer.size)
    const step = stepCpu * share * this.speed + 1 - stepCpu
    const ms = Math.max(
      0,
      Math.min(
        end - sums.at,
        (this.beats + 1) * BEAT - sums.at,
        this.latency.due - sums.at,
        this.starts.due - sums.at,
        (this.running.due - this.done) / work,
        (this.transfer.due - this.read) / bytes,
        (this.training.due - this.trained) / step,
      ),
    )
    sums.at += ms
    this.done += work * ms
    this.core += share * ms
    this.read += bytes * ms
    this.trained += step * ms
    sums.engine += this.running.size * share * ms
    sums.trainer += trainers * share * ms
    sums.others += hogs * share * ms
    if (share < 1) {
      sums.trainerDelay += (this.training.size > 0 ? stepCpu * (1 - share) : 0) * ms
      sums.pressed += ms
    }
  }

  /** By how much the machine is slower since slots take more memory than there is. */
  private swapping(): number {
    const { memoryBytes } = this.w
    if (memoryBytes === undefined) return 1
    const slots = this.current.depth * this.ranks.length * slotBytesOf(this.w)
    return 1 + SWAP * Math.max(0, slots / memoryBytes - 1)
  }

  /** As many makers as are set: more start after `delay`, fewer leave when their claims are done. */
  private hire(delay: number): void {
    const wanted = Math.max(this.current.workers, 0)
    for (const maker of this.makers)
      maker.leaving = maker.own === undefined ? maker.number >= wanted : wanted > 0
    this.idle = this.idle.filter(maker => !maker.leaving || this.leave(maker))
    const there = new Set([...this.makers].filter(maker => !maker.leaving).map(({ number }) => number))
    for (let number = 0; number < (wanted || this.ranks.length); number++)
      if (!there.has(number)) this.starts.push(this.now + delay, number)
    while (this.starts.due <= this.now) this.start(this.starts.pop())
  }

  private start(number: number): void {
    const own = this.current.workers <= 0 ? number : undefined
    const wanted = own === undefined ? this.current.workers : this.ranks.length
    // It may have been called off meanwhile, or asked for twice.
    if (number >= wanted || [...this.makers].some(maker => maker.number === number && !maker.leaving)) return
    const maker = new Maker(number, this.history.slices, this.now, own)
    this.makers.add(maker)
    this.idle.push(maker)
    this.assign()
  }

  /** Always false: it is idle no more. */
  private leave(maker: Maker): false {
    maker.leave(this.now, this.core)
    this.makers.delete(maker)
    return false
  }

  /** Gives claims to idle makers, as long as there are some to give. */
  private assign(): void {
    if (this.idle.length === 0) return
    if (this.current.workers <= 0 || this.idle[0].own !== undefined) {
      this.idle = this.idle.filter(maker => {
        const rank = this.ranks[maker.own ?? -1]
        if (rank?.state !== 'waits' || !this.hasClaim(rank)) return true
        this.begin(maker, maker.own!)
        return false
      })
      return
    }
    while (this.idle.length > 0) {
      const rank = this.neediest()
      if (rank < 0) return
      this.begin(this.idle.shift()!, rank)
    }
  }

  /** The rank with a claim to give whose trainer has least ahead of it. */
  private neediest(): number {
    let best = -1
    let least = Infinity
    for (let i = 0; i < this.ranks.length; i++) {
      const rank = this.ranks[i]
      const inUse = rank.next - rank.batch
      if (inUse < least && this.hasClaim(rank)) [best, least] = [i, inUse]
    }
    return best
  }

  private hasClaim(rank: Rank): boolean {
    const depth = this.current.workers <= 0 ? 1 : Math.max(1, this.current.depth)
    return rank.claimed < this.w.rows - EPSILON || rank.next < rank.batch + depth
  }

  /** A maker takes the next claim of a rank, and begins to read. */
  private begin(maker: Maker, index: number): void {
    const { w, now } = this
    const rank = this.ranks[index]
    if (rank.claimed >= w.rows - EPSILON) {
      rank.claimed = 0
      rank.claimRows = Math.max(1e-9, Math.min(w.rows, this.current.claimRows))
      rank.left.set(rank.next++, claimsOf(w.rows, rank.claimRows))
    }
    if (maker.waitedLong(now)) {
      maker.enter('idle', now, this.core)
      maker.cut(now)
    }
    const rows = Math.min(rank.claimRows, w.rows - rank.claimed)
    rank.claimed += rows
    const cost = costOf(w, rows, this.random)
    const hidden = (w.hintGain ?? 0) * Math.min(1, this.current.ahead / (w.hintReach ?? 1))
    const blocked = (w.blocked * rows * cost * (1 - hidden)) / this.speed
    maker.enter('latency', now, this.core)
    maker.rank = index
    maker.batch = rank.next - 1
    maker.rows = rows
    maker.begun = now
    maker.bytes = w.bytesPerMs === undefined ? 0 : (w.bytes ?? BYTES) * rows
    maker.cpu = Math.max((w.cpu * rows + (w.claimCpu ?? 0)) * cost, 1e-5)
    if (blocked > 0) this.latency.push(now + blocked, maker)
    else this.arrived(maker)
  }

  private arrived(maker: Maker): void {
    if (maker.bytes > 0) {
      maker.enter('transfer', this.now, this.core)
      this.transfer.push(this.read + maker.bytes, maker)
    } else this.compute(maker)
  }

  private compute(maker: Maker): void {
    maker.enter('cpu', this.now, this.core)
    this.running.push(this.done + maker.cpu, maker)
  }

  private finish(maker: Maker): void {
    const { sums, now } = this
    const bytes = this.w.bytes ?? BYTES
    maker.finish(now, this.core, bytes, this.makers.size)
    sums.bytes += bytes * maker.rows
    this.history.noteClaim(maker.rank, now, now - maker.begun, maker.rows)
    const rank = this.ranks[maker.rank]
    const left = rank.left.get(maker.batch)! - 1
    rank.left.set(maker.batch, left)
    if (left === 0 && maker.batch === rank.batch && rank.state === 'waits') this.train(maker.rank)
    if (maker.leaving) this.leave(maker)
    else this.idle.push(maker)
    this.assign()
  }

  /** A trainer has its batch, and works. */
  private train(index: number): void {
    const { w } = this
    const rank = this.ranks[index]
    rank.state = 'trains'
    rank.got = this.now
    const spread = w.stepSpread ? lognormal(w.stepSpread, this.random) : 1
    const step = w.step * (w.rankSteps?.[index] ?? 1) * spread + (w.handOver ?? 0)
    this.training.push(this.trained + Math.max(step, 1e-5), index)
  }

  /** A trainer is done with its batch. All ranks go on together. */
  private trainedOne(rank: Rank): void {
    rank.state = 'done'
    if (this.ranks.some(one => one.state !== 'done')) return
    const { now, w } = this
    const handOver = w.handOver ?? 0
    for (const [index, one] of this.ranks.entries()) {
      const { asked, got, batch } = one
      const supply = got - asked
      const compute = Math.max(0, now - got - handOver)
      const times = { asked, supply, handOver, transfer: 0, compute, samples: w.rows, count: 1 }
      const step = { ...times, ready: supply <= EPSILON }
      this.history.steps[index].push(batch === 0 ? { ...step, first: true } : step)
      this.sums.samples += w.rows
      one.left.delete(batch)
      one.batch++
      one.asked = now
      one.state = 'waits'
    }
    for (const [index, one] of this.ranks.entries()) if (one.left.get(one.batch) === 0) this.train(index)
    this.assign()
  }

  private beat(): void {
    this.beats++
    const memory = Math.exp(-BEAT / MEMORY)
    const sigma = this.w.noise ?? 0
    if (sigma > 0 || this.drift !== 0) {
      this.drift = this.drift * memory + sigma * Math.sqrt(1 - memory ** 2) * normal(this.drifts)
      this.speed = Math.exp(this.drift)
    }
    this.history.look(this.sums)
    if (this.beats % FORGET === 0) this.history.forget(this.now - this.keep)
  }
}
