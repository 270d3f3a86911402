/**
 * Where a loader's batches come from: the ring that workers fill (Feeding), the way from there to the program (Sink),
 * and the device on that way, if there is one. When the device is to decode in place of the CPU, or the other way round, another ring takes over.
 */
import type { NormalFeed } from '../../define/types.js'
import type { FeedPlan } from '../../engine/plan/plan.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import type { Place } from '../../order/steps.js'
import type { Beside } from '../observer.js'
import type { OpenedOptions } from '../options.js'
import { startFeeding } from '../start.js'
import { tuneFeeding } from '../tuning.js'
import type { BatchOwner } from './batch.js'
import type { LoaderDevice } from './device.js'
import { HostSink } from './host-sink.js'
import type { Sink, Taken } from './sink.js'

/** What a supply is of: these stay as they are when rings change. */
export interface SupplyOf {
  feed: NormalFeed
  options: OpenedOptions
  owner: BatchOwner
  device: LoaderDevice | undefined
}

/** Which batches come next. */
interface From {
  plan: FeedPlan
  place: Place
}

export class Supply {
  private sink: Sink
  /** By which the tuner knows it, whichever ring it has. */
  private readonly run: string
  /** The ring before this one, of which the device may still read slots. */
  private former: Feeding | undefined

  private constructor(
    private readonly of: SupplyOf,
    public feeding: Feeding,
  ) {
    this.run = `ring ${feeding.id}`
    this.sink = this.sinkOf(feeding)
  }

  /** Sets workers to work on the batches that come next, as many as `limit`. */
  static async start(of: SupplyOf, from: From, limit: number): Promise<Supply> {
    const feeding = await startFeeding(from, { ...of.options, ...of.device?.making }, limit)
    const supply = new Supply(of, feeding)
    supply.tune()
    return supply
  }

  private sinkOf(feeding: Feeding): Sink {
    const { feed, owner, device } = this.of
    return device?.sink(feeding, feed, owner) ?? new HostSink(feeding, owner, feed)
  }

  /** Lets the tuner have the ring. */
  private tune(): void {
    const { sink, of, run } = this
    const { options, device } = of
    const about = { run, trainer: process.pid, spare: () => sink.spare, decides: device?.decoder.open }
    void tuneFeeding(this.feeding, options, about)
  }

  get device(): LoaderDevice | undefined {
    return this.of.device
  }

  /** Slots in use beside those that the option `depth` is about. */
  get spare(): number {
    return this.sink.spare
  }

  /** What the account of the run tells beside times. */
  get beside(): Beside {
    const { feeding, spare, device } = this
    const { name, decode } = device?.stats ?? {}
    const { rank, world } = this.of.options
    return {
      workers: feeding.workers,
      depth: feeding.depth - spare,
      slotBytes: feeding.budget.slotBytes,
      rank,
      world,
      ...(name !== undefined && decode !== undefined && { device: { name, decode } }),
      cache: feeding.cacheStats,
    }
  }

  /** How many batches the ring makes, counted from where it was last moved to. */
  get limit(): number {
    return this.feeding.ring.startAt.limit
  }

  set limit(batches: number) {
    this.feeding.limit = batches
    this.sink.extended()
  }

  /** The batch of that number, when it is there: they are taken in order. */
  take(batch: number): Promise<Taken> {
    const taking = this.sink.take(batch)
    if (this.former === undefined) return taking
    return taking.then(taken => {
      // The device has come to this ring, and let go of the former one's slots before that.
      this.forgetFormer()
      return taken
    })
  }

  release(index: number): void {
    this.sink.release(index)
  }

  /** Throws away what was made ahead, and goes on from another place. */
  async move(place: Place, plan: FeedPlan): Promise<void> {
    await this.sink.drain()
    await this.feeding.move({ ...place, limit: 0 }, plan)
  }

  /** Whether another than before is to decode. */
  get decoderDue(): boolean {
    return this.of.device?.due !== undefined
  }

  /**
   * Goes on with another ring, if the device is to decode in place of the CPU, or the other way round. The new ring begins at `from`, after
   * `handed` batches of the old one; `changed` is called when it has taken the old one's place, and `check` throws
   * where the loader was closed in between.
   */
  async changeDecoder(from: From, handed: number, changed: () => void, check: () => void): Promise<void> {
    const { due } = this.of.device ?? {}
    if (due === undefined) return
    const { feeding } = this
    const options = { ...this.of.options, ...due.making, depth: feeding.depth - this.spare }
    let other: Feeding
    try {
      other = await startFeeding(from, options, this.limit - handed)
    } catch (error) {
      return due.refused(error as Error)
    }
    try {
      // What the old ring has made ahead is made again by the new one.
      await this.sink.drain()
      check()
    } catch (error) {
      // If close() was called meanwhile, it knew nothing of the new ring.
      await other.close()
      other.vacate()
      check()
      throw error
    }
    due.done()
    changed()
    this.feeding = other
    this.sink = this.sinkOf(other)
    this.tune()
    await feeding.close()
    this.former = feeding
  }

  /** Ends the workers' part in it and gives all memory back. */
  async close(): Promise<void> {
    // What waits for a batch is rejected at once; the device goes on reading slots until it is closed as well.
    await Promise.all([this.feeding.close(), this.sink.close()])
    this.forgetFormer()
    this.feeding.vacate()
  }

  private forgetFormer(): void {
    this.former?.vacate()
    this.former = undefined
  }
}
