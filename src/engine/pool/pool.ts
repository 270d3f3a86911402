/**
 * The pool: the makers of this process, shared by all its rings. It starts them, gives them jobs, replaces those
 * that die, and collects what they report. On the hot path it does nothing at all.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { EngineError } from '../../basics/errors.js'
import { type Span, SpanLane, spanBytes } from '../../basics/spans.js'
import { type Claim, MAX_MAKERS, type Ring, UNDECIDED } from '../../batch/ring.js'
import { BlockCache } from '../../store/block-cache.js'
import { mappings } from '../../system/memory/mmap.js'
import { threadFlags } from '../../system/node/thread-flags.js'
import { newDoor, shutDoor, shutDoorNow } from '../../system/node/unbroken.js'
import { endChild } from '../../system/process/child.js'
import { noteStuck, within } from '../../system/process/exit.js'
import { needsPython } from '../make/python.js'
import type { BadReport, Job } from '../plan/job.js'
import { leftChild, POOL_WORDS } from './children.js'
import { type FromMaker, Life, type MakerData, PoolWord, type ToMaker } from './messages.js'

/** Deaths of makers, for each of them, that no sample explains and after which the pool gives up. */
const MAX_DEATHS = 8
/** How long (ms) a maker may take to leave a ring, or the pool, before it is ended. */
const PATIENCE = 500
/**
 * How long (ms) makers wait for another feed after the last one: starting a thread costs a quarter of a second, and native
 * libraries keep some memory for every thread that there ever was (koffi 3 MiB of addresses, some 100 kB of memory).
 */
const IDLE = 2000
/** How long (ms) a maker may take to start: it loads native libraries, which must not be cut short. */
const START = 3000
/**
 * How long (ms) a thread may take to end once it was told to: a large picture may be decoded for seconds, and the machine
 * may be busy. One that takes longer is blocked in a system call.
 */
const BLOCKED = 5000

/** What the pool tells the owner of a ring. */
export interface RingOwner {
  bad(report: BadReport): void
  failed(error: Error): void
  /** A maker has taken up the ring's job. */
  took(): void
}

interface Member {
  worker: Worker
  inbox: MessagePort
  outbox: MessagePort
  door: Int32Array
  /** It was stuck in a ring that others have left, and is ended for that. */
  ended?: true
  /** Its thread has ended. */
  gone: Promise<void>
}

interface Served {
  job: Job
  ring: Ring
  owner: RingOwner
  /** How many makers died at a row, by generation, batch and row. */
  deaths: Map<string, number>
}

export class Pool {
  private static instance: Pool | undefined

  /** The pool of this process. */
  static shared(): Pool {
    Pool.instance ??= new Pool()
    return Pool.instance
  }

  private readonly words = new Int32Array(new SharedArrayBuffer(4 * POOL_WORDS))
  private readonly spanBuffer = new SharedArrayBuffer(spanBytes(MAX_MAKERS))
  private readonly members: (Member | undefined)[] = []
  private readonly served = new Map<number, Served>()
  private deaths = 0
  /** How many wait for a batch at present. */
  private holders = 0
  private ending = false
  private toldLate = false
  /**
   * Functions or Python processes of the user's have run in these threads: they end with the last feed, and so does what
   * they began; what they printed is printed.
   */
  private calls = false
  /** Runs while there is no ring. */
  private idle: NodeJS.Timeout | undefined

  private constructor() {
    process.on('exit', this.endNow)
  }

  /** Makers at work. */
  get workers(): number {
    return Math.min(this.members.length, this.words[PoolWord.Awake])
  }

  /** The ring whose job a maker is taking up; 0: none. */
  taking(maker: number): number {
    return Atomics.load(this.words, PoolWord.Taking + maker)
  }

  /** Sets the number of makers; new ones take up all jobs, surplus ones sleep. */
  resize(workers: number): void {
    const wanted = Math.min(MAX_MAKERS, Math.max(1, workers))
    Atomics.store(this.words, PoolWord.Awake, wanted)
    for (let maker = 0; maker < wanted; maker++) if (!this.members[maker]) this.start(maker)
    this.wake()
  }

  /** Gives a ring to the makers. Of those that were idle, no more than `workers` stay. */
  add(job: Job, ring: Ring, owner: RingOwner, workers: number): void {
    if (this.idle) for (const member of this.members.splice(workers)) if (member) void dismiss(member)
    clearTimeout(this.idle)
    this.idle = undefined
    const { feed } = job
    this.calls ||=
      needsPython(feed) || feed.map !== undefined || feed.fields.some(field => field.map !== undefined)
    this.served.set(job.id, { job, ring, owner, deaths: new Map() })
    this.tell({ take: job })
  }

  /** Takes a changed job up in place of the one with the same id. Only while its ring is paused. */
  replace(job: Job): void {
    const served = this.served.get(job.id)
    if (served) served.job = job
    this.tell({ take: job })
  }

  /** Takes a ring away. Without rings the pool ends, in a while: the next feed finds makers that are there already. */
  async remove(id: number): Promise<void> {
    const ring = this.served.get(id)?.ring
    this.served.delete(id)
    this.tell({ leave: id })
    if (this.served.size === 0 && this.calls) {
      await this.end()
      // Those that had to be ended could not let go of what they held.
      for (let maker = 0; maker < this.members.length; maker++) ring?.drop(maker)
      return
    }
    if (ring) await this.leave(id, ring)
    if (this.served.size > 0 || this.ending) return
    // All sleep; a feed that comes now says how many it wants.
    Atomics.store(this.words, PoolWord.Awake, 0)
    this.idle ??= setTimeout(() => void this.end(), IDLE).unref()
  }

  /**
   * Waits until makers have left a ring. Those that are stuck there, or in taking up its job, are ended, for others to
   * take their places.
   */
  private async leave(id: number, ring: Ring): Promise<void> {
    const isThere = (maker: number): boolean => ring.held(maker) !== undefined || this.taking(maker) === id
    const patient = performance.now() + PATIENCE
    while ((ring.busy || this.members.some((_, maker) => isThere(maker))) && performance.now() < patient)
      await new Promise(resolve => setTimeout(resolve, 1))
    await Promise.all(
      this.members.map(async (member, maker) => {
        if (member && isThere(maker) && (await this.endMaker(maker))) ring.drop(maker)
      }),
    )
  }

  /** Ends a maker that hangs, for another to take its place. False: its thread is blocked and can't be ended. */
  async endMaker(maker: number): Promise<boolean> {
    const member = this.members[maker]
    if (!member) return true
    member.ended = true
    if (await ends(member)) return true
    if (this.members[maker] !== member) return false // another has found that already
    this.giveUp(maker, member)
    if (!this.ending) this.start(maker)
    return false
  }

  /** Leaves a blocked thread to itself. It runs no line of ours any more, so that its number can be used again. */
  private giveUp(maker: number, { worker, inbox, outbox }: Member): void {
    noteStuck()
    this.bury(maker)
    worker.unref()
    inbox.close()
    outbox.close()
  }

  /** Something changed that may give makers work: a slot is free, a ring moved. */
  wake(): void {
    Atomics.add(this.words, PoolWord.Wake, 1)
    Atomics.notify(this.words, PoolWord.Wake)
  }

  /** Keeps the process alive while a batch is waited for, and only then. */
  hold(yes: boolean): void {
    this.holders += yes ? 1 : -1
    for (const member of this.members) if (member) this.holdBy(member.worker)
  }

  private holdBy(worker: Worker): void {
    if (this.holders > 0) worker.ref()
    else worker.unref()
  }

  /** Hands on everything that makers have said so far. */
  collect(): void {
    for (const member of this.members) if (member) this.read(member.outbox)
  }

  /** The latest spans of every maker. */
  spans(): Span[][] {
    return this.members.map((_, maker) => new SpanLane(this.spanBuffer, maker).read())
  }

  /** Ends all makers: they leave by themselves, or are ended when they don't in time. */
  private async end(): Promise<void> {
    if (Pool.instance === this) Pool.instance = undefined
    this.ending = true
    process.off('exit', this.endNow)
    Atomics.store(this.words, PoolWord.Stop, 1)
    this.wake()
    await Promise.all(
      this.members.map(async (member, maker) => {
        if (!member || member.worker.threadId < 0) return // gone already
        member.worker.ref()
        const begun = performance.now()
        let gone = await within(member.gone, PATIENCE)
        // One that is starting must not be cut short.
        while (!gone && this.life(maker) === Life.Starting && performance.now() - begun < START)
          gone = await within(member.gone, PATIENCE)
        if (!gone && !(await ends(member))) this.giveUp(maker, member)
        else {
          this.read(member.outbox)
          member.inbox.close()
          member.outbox.close()
        }
      }),
    )
  }

  /**
   * Ends all makers when the process ends by itself. A thread that is torn down in the middle of a native call can
   * take the process with it, so they are asked to leave, and waited for, here where nothing asynchronous is left.
   */
  private readonly endNow = (): void => {
    this.ending = true
    for (const { ring } of this.served.values()) ring.pause()
    Atomics.store(this.words, PoolWord.Stop, 1)
    this.wake()
    const begun = performance.now()
    for (let maker = 0; maker < this.members.length; maker++) {
      for (let life = this.life(maker); life !== Life.None; life = this.life(maker)) {
        const left = begun + (life === Life.Starting ? START : PATIENCE) - performance.now()
        if (left <= 0) break
        Atomics.wait(this.words, PoolWord.Life + maker, life, left)
      }
      // Node ends the others by itself.
      const member = this.members[maker]
      if (member && this.life(maker) !== Life.None) shutDoorNow(member.door, PATIENCE)
    }
  }

  private life(maker: number): number {
    return Atomics.load(this.words, PoolWord.Life + maker)
  }

  private tell(message: ToMaker): void {
    for (const member of this.members) member?.inbox.postMessage(message)
    Atomics.add(this.words, PoolWord.Mail, 1)
    this.wake()
  }

  private start(maker: number): void {
    const inbox = new MessageChannel()
    const outbox = new MessageChannel()
    const data: MakerData = {
      maker,
      words: this.words,
      spans: this.spanBuffer,
      mappings: mappings(),
      door: newDoor(),
      inbox: inbox.port2,
      outbox: outbox.port2,
    }
    for (const { job } of this.served.values()) inbox.port1.postMessage({ take: job } satisfies ToMaker)
    Atomics.store(this.words, PoolWord.Life + maker, Life.Starting)
    Atomics.store(this.words, PoolWord.Taking + maker, 0)
    const worker = new Worker(new URL('../make/maker.js', import.meta.url), {
      workerData: data,
      transferList: [inbox.port2, outbox.port2],
      name: `millrace worker ${maker}`,
      execArgv: threadFlags(),
    })
    this.holdBy(worker)
    const gone = new Promise<void>(resolve => worker.once('exit', () => resolve()))
    const member: Member = { worker, inbox: inbox.port1, outbox: outbox.port1, door: data.door, gone }
    this.members[maker] = member
    outbox.port1.on('message', (message: FromMaker) => this.hear(message))
    outbox.port1.unref()
    let cause: Error | undefined
    worker.on('error', error => {
      cause = error
    })
    worker.on('exit', () => this.members[maker] === member && this.bury(maker))
    worker.on('exit', code => void this.died(maker, member, cause ?? new Error(`it left with code ${code}`)))
  }

  /** A maker that was ended could not end the process that it drove. */
  private bury(maker: number): void {
    const child = leftChild(this.words, maker)
    if (child) endChild(child)
  }

  private read(port: MessagePort): void {
    for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) this.hear(got.message)
  }

  private hear(message: FromMaker): void {
    if ('bad' in message) this.served.get(message.bad.ring)?.owner.bad(message.bad)
    else if ('took' in message) {
      this.served.get(message.took)?.owner.took()
      this.wake()
    } else if ('late' in message) this.failLate(message.late)
    else this.served.get(message.failed.ring)?.owner.failed(new EngineError(message.failed.message))
  }

  /** What a function of the user's began has failed after it had returned: perhaps nothing is asked for any more. */
  private failLate({ rings, message }: { rings: number[]; message: string }): void {
    const error = new EngineError(message)
    for (const ring of rings) this.served.get(ring)?.owner.failed(error)
    // Once: where one sample does it, all do.
    if (!this.toldLate) process.emitWarning(message)
    this.toldLate = true
    process.exitCode ??= 1
  }

  /** Has what a dead maker held made again; the claim, if it held one. Another maker that is about to take the same one is waited for. */
  private async abandon(ring: Ring, maker: number): Promise<Claim | undefined> {
    const lives = (other: number): boolean => this.life(other) !== Life.None
    for (;;) {
      const claim = ring.abandon(maker, lives)
      if (claim !== UNDECIDED) return claim
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }

  /** A maker is gone: what it held is made by others, and a new one takes its place. */
  private async died(maker: number, member: Member, cause: Error): Promise<void> {
    if (this.ending || this.members[maker] !== member) return
    this.read(member.outbox)
    Atomics.store(this.words, PoolWord.Life + maker, Life.None)
    let explained = member.ended ?? false
    for (const served of this.served.values()) {
      if (served.job.cache) await new BlockCache(served.job.cache).forget(maker)
      const held = served.ring.held(maker)
      const claim = await this.abandon(served.ring, maker)
      if (!held || !claim) continue
      if (held.since === 0) continue // it was at no row: none is to blame
      const row = `${served.ring.generation}/${claim.batch}/${held.row}`
      const deaths = (served.deaths.get(row) ?? 0) + 1
      served.deaths.set(row, deaths)
      explained ||= deaths <= 2
      if (deaths >= 2) served.ring.poisonRow(claim.batch, held.row)
      else served.owner.took() // a batch may be waited for: look again
    }
    if (!explained) this.deaths++
    if (this.deaths > MAX_DEATHS * Math.max(1, this.members.length)) {
      const error = new EngineError(`worker threads keep dying: ${cause.message}`)
      for (const { owner } of this.served.values()) owner.failed(error)
      // The dead are not replaced any more: feeds that come later have a pool of their own.
      if (Pool.instance === this) Pool.instance = undefined
      return
    }
    if (!this.ending) this.start(maker)
    this.wake()
  }
}

/** Ends a thread that has nothing to do. */
async function dismiss(member: Member): Promise<void> {
  await ends(member)
  member.inbox.close()
  member.outbox.close()
}

/** Tells a thread to end. False when it can't. */
async function ends({ worker, door, gone }: Member): Promise<boolean> {
  if (!(await shutDoor(door, BLOCKED))) return false
  void worker.terminate()
  return within(gone, BLOCKED)
}
