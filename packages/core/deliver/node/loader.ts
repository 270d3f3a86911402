/**
 * The Node program's side: an async iterable of batches. One `for` is one epoch; the next `for` is the next epoch,
 * whose first batches are already being made. The state counts what was handed out, never what was prefetched.
 */

import { MillraceError, MissingError, StateError } from '../../basics/errors.js'
import type { NormalFeed } from '../../define/types.js'
import { type FeedPlan, replan } from '../../engine/plan/plan.js'
import { sampleName } from '../../engine/plan/sample-name.js'
import { type BlendChange, neededChanges } from '../../order/blend/changes.js'
import { makeState, readState, type State } from '../../order/state.js'
import { type Place, type StepPlan, type StepShare, stepPlan } from '../../order/steps.js'
import { monotonicMs, onThisClock } from '../../spans/clock.js'
import type { SpanCursor, SpanRead } from '../../spans/reader.js'
import { checkNotOver, type LoopLimits, loopLimits, loopSteps, prefetchLimit } from '../limits.js'
import { type Ending, Loops } from '../loops.js'
import { type LoopObserver, loadObserver, type Observed, type RunWatch } from '../observer.js'
import type { OpenedOptions } from '../options.js'
import { openPlan, placeOf } from '../start.js'
import { type CountedStats, Stats } from '../stats.js'
import { cantDecide, tuneByHand } from '../tuning.js'
import type { Batch, BatchOwner } from './batch.js'
import { ConsumerSpans } from './consumer-spans.js'
import { Judge } from './judge.js'
import { Supply } from './supply.js'

/** The event loop gets a turn at least this often (ms), however many batches are ready. */
const TURN = 20

export type LoaderStats = CountedStats & Observed<'accounts'>

export class Loader<B = Batch> implements AsyncIterable<B> {
  /** Resolves when the sources are open and workers are at work; rejects with what is wrong. */
  readonly ready: Promise<void>
  private feed!: NormalFeed
  private plan!: FeedPlan
  private supply!: Supply
  private share!: StepShare
  private limits!: LoopLimits
  private steps!: StepPlan
  private judge!: Judge
  private readonly counters = new Stats()
  private watched: Promise<RunWatch> | undefined
  private readonly consumer: ConsumerSpans
  private readonly owner: BatchOwner = {
    closed: () => this.closing !== undefined,
    id: (slot, row) => sampleName(this.plan, slot, row),
    release: index => this.supply.release(index),
  }
  /** Batches handed out since the ring was last moved, and where the run stands after them. */
  private handed = 0
  private place: Place = { epoch: 0, position: 0 }
  private changes: BlendChange[] = []
  /** Whether the order is yet to be made again, with these changes. */
  private changed = false
  private readonly loops = new Loops()
  /** Where the present one ends, counted as `handed` is, and the epoch of its latest batch. */
  private until = 0
  private epoch = 0
  private current: Batch<Record<string, unknown>> | undefined
  private turned = 0 // when the event loop last had its turn
  /** Where the next `for` begins, when that is not where the last one ended. */
  private moveTo: Place | undefined
  /** The state that was loaded within a loop: it is for the next. */
  private loaded: State | undefined
  private closing: Promise<void> | undefined

  /** `feed` is a promise where plugins are loaded first. */
  constructor(
    feed: NormalFeed | Promise<NormalFeed>,
    private readonly options: OpenedOptions,
  ) {
    this.consumer = new ConsumerSpans(options.observe)
    const started = 'then' in feed ? feed.then(normal => this.start(normal)) : this.start(feed)
    this.ready = Promise.all([started, this.observe()]).then(() => {})
    // A loop rejects with the same error: a program need not await `ready` as well.
    this.ready.catch(() => {})
  }

  /** What explains the run is loaded while the workers start. */
  private async observe(): Promise<void> {
    const begun = monotonicMs()
    const observer = await loadObserver()
    this.consumer.observer = observer?.loop(begun, this.options.device !== undefined)
  }

  private async start(feed: NormalFeed): Promise<void> {
    this.feed = feed
    const { device: openDevice, notice } = this.options
    const opening = openDevice?.(feed, notice)
    // What is wrong with the device is said below; until then it must not count as forgotten.
    opening?.catch(() => {})
    try {
      const { plan, share, place, changes } = await openPlan(feed, this.options)
      this.plan = plan
      this.share = share
      this.limits = loopLimits(feed, this.options, share)
      this.judge = new Judge(feed.onError, Math.floor(share.length / share.world))
      this.changes = changes
      this.stepFrom(place)
      this.counters.opened()
      const device = await opening
      device?.decide(plan.feed, this.options.state?.cpuShare, cantDecide(this.options))
      if (this.closing) return await device?.close()
      const { options, owner } = this
      const limit = prefetchLimit(this.limits, loopSteps(this.limits, this.share, this.place))
      const supply = await Supply.start({ feed, options, owner, device }, { plan, place }, limit)
      if (options.log !== undefined)
        await this.watchRun(supply).catch(async error => {
          await supply.close()
          throw error
        })
      this.supply = supply
    } catch (error) {
      await opening?.then(
        device => device.close(),
        () => {},
      )
      throw error
    }
  }

  // ---------------------------------------------------------------- iterating

  /** One epoch; or, with the options `epochs` or `steps`, as much as they say. */
  [Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    if (this.loops.underWay) this.endLoop('left')
    return this.batches(this.loops.newLoop())
  }

  private async *batches(loopId: number): AsyncGenerator<B, void, undefined> {
    await this.ready
    this.checkOpen()
    let asked = performance.now()
    await this.loops.oneAtATime(() => this.beginLoop(loopId))
    let how: Ending = 'left'
    try {
      while (this.loops.check(loopId) && this.handed < this.until) {
        yield (await this.loops.oneAtATime(() => this.next(asked, loopId))) as B
        asked = this.consumer.stepped()
      }
      how = 'finished'
    } catch (error) {
      how = 'failed'
      throw error
    } finally {
      if (this.loops.has(loopId)) this.endLoop(how)
    }
  }

  private endLoop(how: Ending): void {
    this.consumer.stepped()
    this.consumer.flush()
    this.releaseCurrent()
    const following = this.loops.end(how, this.epoch, this.place)
    if (this.loaded)
      this.takeUp(this.loaded) // it goes before that
    else if (!this.closing) this.moveTo ??= following
  }

  private async beginLoop(loopId: number): Promise<void> {
    this.loops.check(loopId)
    if (this.loaded) this.takeUp(this.loaded)
    if (this.rank === 0) this.tell(this.loops.notice(this.moveTo))
    while (this.moveTo) await this.move(this.moveTo) // a state may be loaded meanwhile
    checkNotOver(this.feed, this.place)
    this.until = this.handed + loopSteps(this.limits, this.share, this.place)
    this.epoch = this.place.epoch
    this.loops.begin(this.place, this.counters.batches === 0)
    this.supply.limit = prefetchLimit(this.limits, this.until)
  }

  /** The next batch, which the program asked for at `requested`. */
  private async next(requested: number, loopId: number): Promise<Batch<Record<string, unknown>>> {
    this.loops.check(loopId)
    this.releaseCurrent()
    // A batch that is ready costs no wait: without this a program would never get to its timers and signals.
    if (performance.now() - this.turned >= TURN) {
      await new Promise(resolve => setImmediate(resolve))
      this.turned = performance.now()
    }
    this.checkOpen()
    if (this.supply.decoderDue) await this.changeDecoder()
    const asked = performance.now()
    const taken = await this.supply.take(this.handed)
    this.counters.waited(asked)
    const { epoch, position, stepInEpoch, nextState } = this.steps.at(this.handed)
    try {
      this.loops.check(loopId)
      // Bad samples are counted at delivery, in order; the policy or the budget may end the run here.
      this.tell(this.judge.taken(taken, epoch, nextState.epoch > epoch))
    } catch (error) {
      this.supply.release(taken.index)
      throw error
    }
    this.epoch = epoch
    this.place = nextState
    this.handed++
    this.loops.given()
    this.current = taken.batch()
    const { samples } = this.current
    const got = performance.now()
    const mark = this.counters.batches === 0 ? 'first' : position === 0 ? 'epochStart' : undefined
    this.counters.delivered(samples)
    const inEpoch = position === 0 ? 0 : Math.max(1, stepInEpoch) // 0: it begins the epoch
    const { completed, arrived = completed } = taken
    this.consumer.handed(this.supply.feeding.id, this.handed - 1, {
      asked: requested,
      completed: onThisClock(completed),
      arrived: onThisClock(arrived),
      got,
      samples,
      stepInEpoch: inEpoch,
      mark,
    })
    return this.current
  }

  /** If the device is to decode in place of the CPU, or the other way round, batches come from another ring and count from 0. */
  private changeDecoder(): Promise<void> {
    const { plan, place, handed } = this
    const changed = () => {
      this.until -= this.handed
      this.stepFrom(this.place)
    }
    return this.supply.changeDecoder({ plan, place }, handed, changed, () => this.checkOpen())
  }

  private tell(text: string | undefined): void {
    if (text !== undefined) this.options.notice?.(text)
  }

  private releaseCurrent(): void {
    if (this.current && !this.current.isKept) this.current.release()
    this.current = undefined
  }

  // ---------------------------------------------------------------- state

  /** Where this run stands: after the batches handed out so far. Plain JSON, under 1 kB. */
  state(): State {
    this.checkOpen()
    return makeState(this.plan, this.place, this.changes, this.supply.device?.decoder.found)
  }

  /** Goes on from a saved state, with the next `for`: a loop that is under way goes on as it is. */
  load(state: State): void {
    this.checkOpen()
    const saved = readState(state)
    placeOf(saved, this.plan, this.share) // what is wrong with it is said at once
    if (this.loops.underWay) this.loaded = saved
    else this.takeUp(saved)
  }

  private takeUp(saved: State): void {
    this.loaded = undefined
    this.loops.forget()
    this.place = this.moveTo = placeOf(saved, this.plan, this.share, this.options.notice)
    this.supply.device?.adopt(saved.cpuShare)
    const changes = [...(saved.changes ?? [])]
    this.changed ||= changes.length > 0 || this.changes.length > 0
    this.changes = changes
  }

  /**
   * Changes the weights of a blend, from the next batch on. The change is part of the state; batches that were made
   * ahead with the old weights are made again.
   */
  async setWeights(weights: Record<string, number> | number[]): Promise<void> {
    await this.ready
    await this.loops.oneAtATime(() => this.weigh(weights))
  }

  private async weigh(weights: Record<string, number> | number[]): Promise<void> {
    this.checkOpen()
    if (!this.plan.order.changed)
      throw new MillraceError('only a blend has weights to change: this feed has one source')
    const changes = this.plan.order.changed(this.changes, this.place, weights)
    if (changes === this.changes) return
    this.adopt(changes, this.place)
    const ahead = this.supply.limit - this.handed
    this.until -= this.handed
    const { moveTo } = this
    await this.move(this.place)
    // A state that was loaded meanwhile goes before that.
    this.moveTo ??= moveTo
    this.supply.limit = ahead
  }

  private async move(place: Place): Promise<void> {
    this.moveTo = undefined
    if (this.changed) this.adopt(this.changes, place)
    this.stepFrom(place)
    await this.supply.move(place, this.plan)
  }

  /** Makes the order anew, with these changes of weights. Those that no longer matter are forgotten: batches know their samples. */
  private adopt(changes: readonly BlendChange[], place: Place): void {
    this.plan = replan(this.plan, changes)
    this.changes = neededChanges(this.plan.order.settled?.() ?? [], place, this.plan)
    this.changed = false
  }

  private stepFrom(place: Place): void {
    this.place = place
    this.handed = 0
    this.steps = stepPlan({ ...this.share, start: place })
  }

  // ---------------------------------------------------------------- knowing and tuning

  get rank(): number {
    return this.options.rank
  }

  get world(): number {
    return this.options.world
  }

  /** Who said so: "given", a launcher by name, or "alone". */
  get rankFrom(): string {
    return this.options.rankFrom
  }

  /** Steps that the next loop makes: Infinity when it never ends. */
  get loopSteps(): number {
    this.checkOpen()
    return loopSteps(this.limits, this.share, this.moveTo ?? this.place)
  }

  /** Steps of an epoch; of the present one, where batches go by tokens and epochs differ. */
  get length(): number {
    this.checkOpen()
    const { share, steps, place } = this
    if (share.bins === undefined) return steps.stepsInEpoch
    return stepPlan({ ...share, start: { epoch: place.epoch, position: 0 } }).stepsInEpoch
  }

  get hashes(): { order: string; content: string } {
    this.checkOpen()
    return this.plan.hashes
  }

  stats(): LoaderStats {
    this.checkOpen()
    const { feeding, spare, device, beside } = this.supply
    const report = this.counters.report(feeding, this.feed, this.judge)
    const explained = this.consumer.observer?.accounts(beside)
    return {
      ...report,
      depth: report.depth - spare,
      ...(device && { device: device.stats }),
      ...explained,
    } as LoaderStats
  }

  /** The account of the run so far as flat names and numbers, for W&B, TensorBoard and the like: docs/measure.md. */
  metrics(): Record<string, number> {
    this.checkOpen()
    return this.explaining.metrics(this.supply.beside)
  }

  /** What the account of the run so far is made of, as plain JSON. */
  evidence(): Observed<'evidence'> {
    this.checkOpen()
    return this.explaining.evidence(this.supply.beside)
  }

  /** Looks at the loop that runs for some seconds, and says why it waits. It only reads: docs/measure.md. */
  async diagnose({ seconds = 10 }: { seconds?: number } = {}): Promise<Observed<'diagnosis'>> {
    await this.ready.then(() => this.checkOpen())
    return this.explaining.diagnose(this.supply.feeding.id, seconds)
  }

  private get explaining(): LoopObserver {
    const { observer } = this.consumer
    if (observer) return observer
    throw new MissingError('this program explains no runs: take `open` of the package "millrace"')
  }

  /** Who did what for this feed since the cursor, and when. Without a cursor: all that is known. See docs/measure.md. */
  spans(cursor?: SpanCursor): SpanRead {
    this.checkOpen()
    return this.supply.feeding.spansSince(cursor)
  }

  /** Calls the listener once a second with what happened in it, until it is told to stop: docs/measure.md. */
  async watch(listener: (watched: Observed<'watched'>) => void, { idealMs }: { idealMs?: number } = {}) {
    await this.ready.then(() => this.checkOpen())
    return (await this.watchRun(this.supply)).listen(listener, idealMs)
  }

  /** Looks at the run from now on: for its log, and for those that listen. */
  private watchRun(supply: Supply): Promise<RunWatch> {
    this.watched ??= loadObserver().then(observer => {
      if (observer === undefined)
        throw new MissingError('this program watches no runs: take `open` of the package "millrace"')
      const { options, plan, judge } = this
      return observer.watch({
        feeding: () => supply.feeding,
        options,
        hashes: plan.hashes,
        trainer: process.pid,
        gpu: options.device !== undefined,
        handed: () => this.handed,
        bad: () => judge.count,
      })
    })
    return this.watched
  }

  /** Sets workers or depth while running: the tuner leaves them alone from then on. Neither changes what is delivered. */
  async tune(change: { workers?: number; depth?: number }): Promise<void> {
    await this.ready
    this.checkOpen()
    await tuneByHand(this.supply.feeding, change, this.supply.spare)
  }

  /** Ends the workers and gives all memory back; batches still kept are gone, too. */
  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private async end(): Promise<void> {
    await this.ready.catch(() => {})
    this.current = undefined
    this.consumer.close()
    await this.watched?.then(
      watch => watch.close('the feed was closed'),
      () => {},
    )
    await this.supply?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private checkOpen(): void {
    if (this.closing) throw new MillraceError('this loader is closed: open the feed again')
    if (!this.supply) throw new StateError('the feed is not open yet: await loader.ready first')
  }
}
