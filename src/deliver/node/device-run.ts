/**
 * The device of a loader: opens it, decides who decodes images, and brings the batches of a ring to it. When another is to
 * decode, the loader gives it a new ring.
 */

import type { NormalFeed } from '../../define/types.js'
import { Decision, type Decoder } from '../../device/decision.js'
import { Device, stageThread } from '../../device/device.js'
import type { DeviceOpened } from '../../device/messages.js'
import { isChwImage, type MakingOptions } from '../../engine/plan/making.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import type { DeviceStats } from '../../observe/stats.js'
import { cacheFolder } from '../../system/files/cache-folder.js'
import { chooseDecode, type DeviceChoice, librariesFor } from '../device-options.js'
import type { BatchOwner } from './batch.js'
import { DeviceDelivery } from './device-delivery.js'

export class DeviceRun {
  /** Who decodes at present. */
  who: Decoder = 'cpu'
  private decision: Decision | undefined
  private delivery: DeviceDelivery | undefined
  /** Whether workers or depth of the present ring are being tuned. */
  private tuning: () => boolean = () => false

  private constructor(
    private readonly choice: DeviceChoice,
    private readonly device: Device,
    private readonly opened: DeviceOpened,
    private readonly notice: (text: string) => void,
  ) {}

  /** Starts the stage's thread and opens the device there; rejects with one sentence where there is none. */
  static async open(
    choice: DeviceChoice,
    feed: NormalFeed,
    notice: (text: string) => void = () => {},
  ): Promise<DeviceRun> {
    const { ordinal, start = stageThread } = choice
    const wanted = { ordinal, cache: cacheFolder(), ...librariesFor(choice.decode, feed) }
    const { device, opened } = await Device.open(start(wanted))
    return new DeviceRun(choice, device, opened, notice)
  }

  /** Decides who decodes, or that it is to be measured. */
  decide(feed: NormalFeed): void {
    const { decode, measure, why } = chooseDecode(this.choice.decode, feed, this.opened)
    this.who = decode
    if (measure) this.decision = new Decision(this.choice.trial)
    this.notice(why)
  }

  /** Serves the batches of a feeding; of one that was served before nothing is under way any more. */
  deliver(feeding: Feeding, feed: NormalFeed, owner: BatchOwner): DeviceDelivery {
    const { consumer, channelsLast } = this.choice
    this.tuning = () => feeding.ring.tuning
    this.delivery = new DeviceDelivery(feeding, this.device, {
      owner,
      fields: feed.fields.map(field => field.name),
      channelsLast: new Set(channelsLast ? chwImages(feed) : []),
      consumer,
      refusedRows: this.delivery?.refusedRows ?? 0,
    })
    return this.delivery
  }

  /** What makers leave to the device: images, of which they may decode a share all the same, and arrays. */
  get making(): Omit<MakingOptions, 'world'> {
    const { channelsLast } = this.choice
    return { ...madeBy(this.who, this.decision), nvcomp: this.opened.nvcomp !== undefined, channelsLast }
  }

  /** Who is to decode from the next batch on, when that is not who does so now and the program holds no batch. */
  get due(): Due | undefined {
    const { decision, delivery, who } = this
    if (decision === undefined || decision.who === who || !delivery?.vacant) return undefined
    return { who: decision.who, ...madeBy(decision.who, decision) }
  }

  /** One step was made (seconds). */
  stepped(samples: number, seconds: number, waited: number): void {
    if (this.tuning()) this.decision?.pause()
    else this.decision?.step(this.who, samples, seconds, waited)
    this.tell()
  }

  /** The other one can't be had. */
  refuse(error: Error): void {
    this.decision?.refuse(error.message)
    this.tell()
  }

  get stats(): DeviceStats {
    const { facts, decoder } = this.opened
    return {
      name: facts.name,
      decode: this.who,
      ...(decoder !== undefined && { decoder }),
      refused: this.delivery?.refusedRows ?? 0,
    }
  }

  close(): Promise<void> {
    return this.device.close()
  }

  private tell(): void {
    if (this.decision?.why === undefined || this.decision.who !== this.who) return
    this.notice(this.decision.why)
    this.decision = undefined
  }
}

/** Who decodes from now on, and what that means for the makers. */
export interface Due {
  who: Decoder
  decode: 'cpu' | 'gpu'
  cpuShare?: number
}

/** Where nothing is measured, the share is the one that was asked for. */
function madeBy(who: Decoder, decision: Decision | undefined): { decode: 'cpu' | 'gpu'; cpuShare?: number } {
  return { decode: who === 'cpu' ? 'cpu' : 'gpu', ...(decision && { cpuShare: decision.cpuShare }) }
}

/** Images whose memory `channelsLast` changes: those that would have their channels first. */
function chwImages(feed: NormalFeed): string[] {
  return feed.fields.filter(isChwImage).map(field => field.name)
}
