/**
 * The pool: the makers of this process, shared by all its rings. It starts them, gives them jobs, replaces those
 * that die, and collects what they report. On the hot path it does nothing at all.
 */
import { EngineError } from '../../basics/errors.js'
import { MAX_MAKERS, type Ring } from '../../batch/ring.js'
import { SpanFile } from '../../spans/file.js'
import { mappings } from '../../system/memory/mmap.js'
import { endChild } from '../../system/process/child.js'
import { noteStuck, within } from '../../system/process/exit.js'
import { Binder } from '../bind/binder.js'
import { needsPython } from '../make/python.js'
import type { Job } from '../plan/job.js'
import { leftChild, POOL_WORDS } from './children.js'
import { MakerThread, type ThreadListener } from './maker-thread.js'
import { type FromMaker, Life, PoolWord, type ToMaker } from './messages.js'
import { setRest } from './rest.js'
import { type RingOwner, ServedRing } from './served-ring.js'

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
/** A worker's thread, and whether the pool ends it: it was stuck in a ring that others have left. */
interface Member {
  thread: MakerThread
  ended?: true
}

export class Pool {
  private static instance: Pool | undefined

  /** The pool of this process. */
  static shared(): Pool {
    Pool.instance ??= new Pool()
    return Pool.instance
  }

  private readonly words = new Int32Array(new SharedArrayBuffer(4 * POOL_WORDS))
  private readonly members: (Member | undefined)[] = []
  private readonly served = new Map<number, ServedRing>()
  /** Which worker runs on which cores. */
  readonly binder = new Binder(
    (maker, cores) => this.members[maker] && this.tell({ bind: cores ?? null }, [maker]),
  )
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
    this.binder.resize(wanted)
    for (let maker = 0; maker < wanted; maker++) if (!this.members[maker]) this.start(maker)
    const spans = SpanFile.shared()
    for (const { job, ring } of this.served.values()) {
      ring.makers = Math.min(wanted, job.makers ?? wanted)
      spans?.tuneRing(job.id, { workers: ring.makers })
    }
    this.wake()
  }

  /** Lets all makers rest until a moment (ms of CLOCK_MONOTONIC), 5 s at most. One that has passed: they go on. */
  rest(until: number): void {
    setRest(this.words, until)
    this.wake()
  }

  /** Gives a ring to the makers. Of those that were idle, no more than `workers` stay. */
  add(job: Job, ring: Ring, owner: RingOwner, workers: number): void {
    if (this.idle) for (const member of this.members.splice(workers)) if (member) void dismiss(member.thread)
    clearTimeout(this.idle)
    this.idle = undefined
    const { feed } = job
    this.calls ||=
      needsPython(feed) || feed.map !== undefined || feed.fields.some(field => field.map !== undefined)
    this.served.set(job.id, new ServedRing(job, ring, owner))
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
    this.binder.leave(id)
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
    if (await member.thread.end()) return true
    if (this.members[maker] !== member) return false // another has found that already
    this.giveUp(maker, member)
    if (!this.ending) this.start(maker)
    return false
  }

  /** Leaves a blocked thread to itself. It runs no line of ours any more, so that its number can be used again. */
  private giveUp(maker: number, { thread }: Member): void {
    noteStuck()
    this.cleanUpDeadMaker(maker)
    thread.hold(false)
    thread.close()
  }

  /** Something changed that may give makers work: a slot is free, a ring moved. */
  wake(): void {
    Atomics.add(this.words, PoolWord.Wake, 1)
    Atomics.notify(this.words, PoolWord.Wake)
  }

  /** Keeps the process alive while a batch is waited for, and only then. */
  hold(yes: boolean): void {
    this.holders += yes ? 1 : -1
    for (const member of this.members) member?.thread.hold(this.holders > 0)
  }

  /** Hands on everything that makers have said so far. */
  collect(): void {
    for (const member of this.members) member?.thread.read()
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
        if (!member?.thread.alive) return
        const { thread } = member
        thread.hold(true)
        const begun = performance.now()
        let gone = await within(thread.gone, PATIENCE)
        // One that is starting must not be cut short.
        while (!gone && this.life(maker) === Life.Starting && performance.now() - begun < START)
          gone = await within(thread.gone, PATIENCE)
        if (!gone && !(await thread.end())) this.giveUp(maker, member)
        else {
          thread.read()
          thread.close()
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
      if (this.life(maker) !== Life.None) this.members[maker]?.thread.endNow(PATIENCE)
    }
  }

  private life(maker: number): number {
    return Atomics.load(this.words, PoolWord.Life + maker)
  }

  private tell(message: ToMaker, makers: Iterable<number> = this.members.keys()): void {
    for (const maker of makers) this.members[maker]?.thread.tell(message)
    Atomics.add(this.words, PoolWord.Inbox, 1)
    this.wake()
  }

  private start(maker: number): void {
    Atomics.store(this.words, PoolWord.Life + maker, Life.Starting)
    Atomics.store(this.words, PoolWord.Taking + maker, 0)
    const bind = this.binder.place(maker)
    const messages: ToMaker[] = bind === undefined ? [] : [{ bind }]
    for (const { job } of this.served.values()) messages.push({ take: job })
    const spans = SpanFile.shared()?.maker(maker)
    const data = { maker, words: this.words, spans, mappings: mappings() }
    const listener: ThreadListener = {
      heard: message => this.hear(message),
      left: cause => {
        if (this.members[maker] === member) this.cleanUpDeadMaker(maker)
        void this.died(maker, member, cause)
      },
    }
    const member: Member = { thread: new MakerThread(data, listener, messages) }
    member.thread.hold(this.holders > 0)
    this.members[maker] = member
  }

  /** A maker that was ended could not end the process that it drove. */
  private cleanUpDeadMaker(maker: number): void {
    const child = leftChild(this.words, maker)
    if (child) endChild(child)
  }

  private hear(message: FromMaker): void {
    if ('bad' in message) this.served.get(message.bad.ring)?.owner.bad(message.bad)
    else if ('took' in message) {
      this.served.get(message.took)?.owner.took()
      this.wake()
    } else if ('late' in message) this.failLate(message.late)
    else if ('unbound' in message) this.binder.failed(message.unbound)
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

  /** A maker is gone: what it held is made by others, and a new one takes its place. */
  private async died(maker: number, member: Member, cause: Error): Promise<void> {
    if (this.ending || this.members[maker] !== member) return
    member.thread.read()
    Atomics.store(this.words, PoolWord.Life + maker, Life.None)
    let explained = member.ended ?? false
    for (const served of this.served.values()) {
      if (await served.recover(maker, other => this.life(other) !== Life.None)) explained = true
    }
    if (!explained) this.deaths++
    if (this.deaths > MAX_DEATHS * Math.max(1, this.members.length)) return this.fail(cause)
    if (!this.ending) this.start(maker)
    this.wake()
  }

  /** Makers keep dying, and no sample is to blame: they are not replaced. Feeds that come later have a pool of their own. */
  private fail(cause: Error): void {
    const error = new EngineError(`worker threads keep dying: ${cause.message}`)
    for (const { owner } of this.served.values()) owner.failed(error)
    if (Pool.instance === this) Pool.instance = undefined
  }
}

/** Ends a thread that has nothing to do. */
async function dismiss(thread: MakerThread): Promise<void> {
  await thread.end()
  thread.close()
}
