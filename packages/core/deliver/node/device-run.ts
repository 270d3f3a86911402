/**
 * The device of a loader: opens it, and brings the batches of a ring to it. Who decodes images is given, or found by the tuner,
 * which asks for it by a word of the ring; then the loader gives the device a new one.
 */

import { Device, stageThread } from '../../../cuda/device/device.js'
import type { DeviceOpened } from '../../../cuda/device/messages.js'
import type { DeviceStats } from '../../../observe/stats.js'
import { CPU, decoderOf, decoderPlace, GPU, SHARES, twentiethsOf } from '../../basics/decoder.js'
import type { NormalFeed } from '../../define/types.js'
import { isChwImage, type MakingOptions } from '../../engine/plan/making.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import { cacheFolder } from '../../system/files/cache-folder.js'
import { chooseDecode, type DeviceChoice, librariesFor } from '../device-options.js'
import { leaveDecoder, whyDecoded } from '../tuning.js'
import type { BatchOwner } from './batch.js'
import { DeviceDelivery } from './device-delivery.js'

export class DeviceRun {
  /** Twentieths of images that the CPU decodes at present. */
  twentieths = CPU
  /** Whether the tuner finds out who decodes, has found out, or is not asked. */
  private decoder: 'open' | 'found' | 'given' = 'given'
  /** Of a state that was loaded. */
  private saved: number | undefined
  private delivery: DeviceDelivery | undefined
  private feeding: Feeding | undefined

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

  /** Who decodes at first. `saved`: the CPU's share by a state; `cant`: why the tuner does not find out. */
  decide(feed: NormalFeed, saved?: number, cant?: string): void {
    const { choice, opened } = this
    const known = { saved, cant: choice.asked ? undefined : cant }
    const { decode, measure, why } = chooseDecode(choice.decode, feed, opened, known)
    this.twentieths = decode === 'gpu' ? GPU : CPU
    if (measure) this.decoder = 'open'
    else if (saved !== undefined && choice.decode === 'auto') {
      this.decoder = 'found'
      this.twentieths = decode === 'gpu' ? twentiethsOf(saved) : CPU
    }
    this.notice(why)
  }

  /** Whether the tuner is to find out who decodes. */
  get decides(): boolean {
    return this.decoder === 'open'
  }

  /** The CPU's share, once that is found. */
  get found(): number | undefined {
    return this.decoder === 'found' ? this.twentieths / SHARES : undefined
  }

  /** A state was loaded that says who decodes: it goes on so. */
  adopt(cpuShare: number | undefined): void {
    if (this.decoder !== 'open' || cpuShare === undefined) return
    this.saved = twentiethsOf(cpuShare)
    if (this.feeding) leaveDecoder(this.feeding)
  }

  /** Serves the batches of a feeding; of one that was served before nothing is under way any more. */
  deliver(feeding: Feeding, feed: NormalFeed, owner: BatchOwner): DeviceDelivery {
    const { consumer, channelsLast } = this.choice
    this.feeding = feeding
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
    const nvcomp = this.opened.nvcomp !== undefined
    return { ...this.madeWith(this.twentieths), nvcomp, channelsLast }
  }

  /** Who is to decode from the next batch on, when that is not who does so now and the program holds no batch. */
  get due(): Due | undefined {
    if (this.decoder !== 'open' || !this.delivery?.vacant) return undefined
    const twentieths = this.saved ?? this.feeding?.ring.decoder?.twentieths
    if (twentieths === undefined || twentieths === this.twentieths) return undefined
    return { twentieths, ...this.madeWith(twentieths) }
  }

  /** One step was made: if it is decided who decodes, that is said. */
  stepped(): void {
    if (this.decoder !== 'open' || this.feeding === undefined) return
    if (this.saved !== undefined) this.settle(this.saved, 'as the state says')
    const { decoder } = this.feeding.ring
    if (decoder?.found) this.settle(decoder.twentieths, whyDecoded(this.feeding))
  }

  private settle(twentieths: number, why = ''): void {
    if (twentieths !== this.twentieths) return
    this.decoder = 'found'
    this.notice(`images are decoded on ${decoderPlace(twentieths)}: ${why}`)
  }

  /** The other one can't be had. */
  refuse(error: Error): void {
    this.decoder = 'found'
    if (this.feeding) leaveDecoder(this.feeding)
    this.notice(`images are decoded on ${decoderPlace(this.twentieths)}: ${error.message}`)
  }

  /** Where nothing is tried, the share is the one that was asked for. */
  private madeWith(twentieths: number): { decode: 'cpu' | 'gpu'; cpuShare?: number } {
    if (twentieths === CPU) return { decode: 'cpu' }
    return { decode: 'gpu', ...(this.decoder !== 'given' && { cpuShare: twentieths / SHARES }) }
  }

  get stats(): DeviceStats {
    const { facts, decoder } = this.opened
    return {
      name: facts.name,
      decode: decoderOf(this.twentieths),
      ...(decoder !== undefined && { decoder }),
      refused: this.delivery?.refusedRows ?? 0,
    }
  }

  close(): Promise<void> {
    return this.device.close()
  }
}

/** Who decodes from now on, and what that means for the makers. */
export interface Due {
  twentieths: number
  decode: 'cpu' | 'gpu'
  cpuShare?: number
}

/** Images whose memory `channelsLast` changes: those that would have their channels first. */
function chwImages(feed: NormalFeed): string[] {
  return feed.fields.filter(isChwImage).map(field => field.name)
}
