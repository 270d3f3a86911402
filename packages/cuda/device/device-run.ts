/**
 * The device of a loader: opens it, and brings the batches of a ring to it. The options say who decodes images, or the tuner
 * finds out, and asks for it by a word of the ring; then the loader gives the device another ring.
 */

import { CPU, decoderOf, decoderPlace, GPU, SHARES, twentiethsOf } from '../../core/basics/decoder.js'
import type { NormalFeed } from '../../core/define/types.js'
import type { DeviceChoice } from '../../core/deliver/device-options.js'
import type { BatchOwner } from '../../core/deliver/node/batch.js'
import type {
  DecoderChange,
  DeviceMaking,
  DeviceStats,
  LoaderDevice,
} from '../../core/deliver/node/device.js'
import { leaveDecoder, whyDecoded } from '../../core/deliver/tuning.js'
import { fieldsForDevice, isChwImage } from '../../core/engine/plan/making.js'
import type { Feeding } from '../../core/engine/ring/feeding.js'
import { cacheFolder } from '../../core/system/files/cache-folder.js'
import { staysOnCpu } from '../../pixels/transform/device/picture.js'
import { Device, type StagePort, stageThread } from './device.js'
import { DeviceSink } from './device-sink.js'
import type { DeviceOpened, DeviceWanted } from './messages.js'

interface DeviceRunOptions {
  notice?: (text: string) => void
  /** Starts the stage, by default in a thread of its own. */
  start?: (wanted: DeviceWanted) => StagePort
  /** Another one may be asked to decode, also where nothing is tuned: tests do. */
  asked?: boolean
}

export class DeviceRun implements LoaderDevice {
  /** Twentieths of images that the CPU decodes at present. */
  private twentieths = CPU
  /** The tuner finds out who decodes, has found out (or a state knew), or is not asked. */
  private asking: 'open' | 'found' | 'given' = 'given'
  /** The twentieths of a state that was loaded. */
  private saved: number | undefined
  private delivering: DeviceSink | undefined
  private feeding: Feeding | undefined

  private constructor(
    private readonly choice: DeviceChoice,
    private readonly device: Device,
    private readonly opened: DeviceOpened,
    private readonly notice: (text: string) => void,
    private readonly asked: boolean,
  ) {}

  /** Starts the stage's thread and opens the device there; rejects with one sentence where there is none. */
  static async open(
    choice: DeviceChoice,
    feed: NormalFeed,
    { notice = () => {}, start = stageThread, asked = false }: DeviceRunOptions = {},
  ): Promise<DeviceRun> {
    const { ordinal, decode } = choice
    const wanted = { ordinal, cache: cacheFolder(), ...librariesFor(decode, feed) }
    const { device, opened } = await Device.open(start(wanted))
    return new DeviceRun(choice, device, opened, notice, asked)
  }

  decide(feed: NormalFeed, saved?: number, cant?: string): void {
    const { choice, opened } = this
    const known = { saved, cant: this.asked ? undefined : cant }
    const { decode, measure, why } = chooseDecode(choice.decode, feed, opened, known)
    this.twentieths = decode === 'gpu' ? GPU : CPU
    if (measure) this.asking = 'open'
    else if (saved !== undefined && choice.decode === 'auto') {
      this.asking = 'found'
      this.twentieths = decode === 'gpu' ? twentiethsOf(saved) : CPU
    }
    this.notice(why)
  }

  get decoder(): LoaderDevice['decoder'] {
    const { asking, twentieths } = this
    return { open: asking === 'open', ...(asking === 'found' && { found: twentieths / SHARES }) }
  }

  adopt(cpuShare: number | undefined): void {
    if (this.asking !== 'open' || cpuShare === undefined) return
    this.saved = twentiethsOf(cpuShare)
    if (this.feeding) leaveDecoder(this.feeding)
  }

  sink(feeding: Feeding, feed: NormalFeed, owner: BatchOwner): DeviceSink {
    const { consumer, channelsLast } = this.choice
    this.feeding = feeding
    this.delivering = new DeviceSink(feeding, this.device, {
      owner,
      fields: feed.fields.map(field => field.name),
      // Images whose memory that changes: those that would have their channels first.
      channelsLast: new Set(channelsLast ? feed.fields.filter(isChwImage).map(({ name }) => name) : []),
      consumer,
      refusedRows: this.delivering?.refusedRows ?? 0,
      taken: () => this.stepped(),
    })
    return this.delivering
  }

  get making(): DeviceMaking {
    return this.makingBy(this.twentieths)
  }

  get due(): DecoderChange | undefined {
    if (this.asking !== 'open' || !this.delivering?.vacant) return undefined
    const twentieths = this.saved ?? this.feeding?.ring.decoder?.twentieths
    if (twentieths === undefined || twentieths === this.twentieths) return undefined
    return {
      making: this.makingBy(twentieths),
      done: () => {
        this.twentieths = twentieths
      },
      refused: error => {
        this.asking = 'found'
        if (this.feeding) leaveDecoder(this.feeding)
        this.notice(`images are decoded on ${decoderPlace(this.twentieths)}: ${error.message}`)
      },
    }
  }

  /** A batch was taken: if it is decided who decodes, give notice of it. */
  private stepped(): void {
    if (this.asking !== 'open' || this.feeding === undefined) return
    if (this.saved !== undefined) this.settle(this.saved, 'as the state says')
    const { decoder } = this.feeding.ring
    if (decoder?.found) this.settle(decoder.twentieths, whyDecoded(this.feeding))
  }

  private settle(twentieths: number, why = ''): void {
    if (twentieths !== this.twentieths) return
    this.asking = 'found'
    this.notice(`images are decoded on ${decoderPlace(twentieths)}: ${why}`)
  }

  /**
   * Makers leave images and compressed arrays to the device, and may decode a share of the images all the same. Where
   * nothing is tried, the share is the one that was asked for.
   */
  private makingBy(twentieths: number): DeviceMaking {
    const { channelsLast } = this.choice
    const nvcomp = this.opened.nvcomp !== undefined
    if (twentieths === CPU) return { decode: 'cpu', nvcomp, channelsLast }
    const share = this.asking !== 'given' && { cpuShare: twentieths / SHARES }
    return { decode: 'gpu', nvcomp, channelsLast, ...share }
  }

  get stats(): DeviceStats {
    const { facts, decoder } = this.opened
    return {
      name: facts.name,
      decode: decoderOf(this.twentieths),
      ...(decoder !== undefined && { decoder }),
      refused: this.delivering?.refusedRows ?? 0,
    }
  }

  close(): Promise<void> {
    return this.device.close()
  }
}

/** The libraries that are looked for: those that the feed has work for. */
export function librariesFor(
  decode: DeviceChoice['decode'],
  feed: NormalFeed,
): Pick<DeviceWanted, 'nvjpeg' | 'nvcomp'> {
  if (decode === 'cpu') return {}
  return {
    ...(fieldsForDevice(feed, 'picture').length > 0 && { nvjpeg: decode === 'gpu' ? 'needed' : 'optional' }),
    ...(fieldsForDevice(feed, 'compressed').length > 0 && { nvcomp: true }),
  }
}

/** Who decodes, and why: one line. `saved`: the CPU's share by a state; `cant`: why the tuner does not find out. */
function chooseDecode(
  wanted: DeviceChoice['decode'],
  feed: NormalFeed,
  { facts, decoder, without, nvcomp, withoutNvcomp }: DeviceOpened,
  { saved, cant }: { saved?: number; cant?: string } = {},
): { decode: 'cpu' | 'gpu'; measure?: true; why: string } {
  if (wanted === 'cpu')
    return { decode: 'cpu', why: 'images are decoded on the CPU, as the option "decode" says' }
  if (fieldsForDevice(feed, 'generated').length > 0)
    return { decode: 'gpu', why: `batches are generated on the GPU (${facts.name})` }
  const images = feed.fields.filter(field => field.as === 'image')
  const left = fieldsForDevice(feed, 'picture')
  const arrays = nvcomp === undefined ? [] : fieldsForDevice(feed, 'compressed')
  if (left.length === 0 && arrays.length === 0) {
    const [first] = images
    const why =
      first === undefined
        ? (withoutNvcomp ?? 'the feed has no images')
        : `of field "${first.name}": ${staysOnCpu(first, feed)}`
    return { decode: wanted === 'gpu' ? 'gpu' : 'cpu', why: `nothing is decoded on the GPU: ${why}` }
  }
  if (left.length > 0 && decoder === undefined)
    return { decode: 'cpu', why: `images are decoded on the CPU: ${without}` }
  const names = [...left, ...arrays].map(name => `"${name}"`).join(', ')
  if (wanted === 'gpu') {
    const by = [facts.name, ...(left.length > 0 ? [decoder] : []), ...(arrays.length > 0 ? [nvcomp] : [])]
    return { decode: 'gpu', why: `${names} decoded on the GPU (${by.join(', ')})` }
  }
  if (saved !== undefined) {
    const twentieths = twentiethsOf(saved)
    const why = `${names} decoded on ${decoderPlace(twentieths)}, as the state says`
    return { decode: twentieths === CPU ? 'cpu' : 'gpu', why }
  }
  if (cant !== undefined) return { decode: 'cpu', why: `${names} decoded on the CPU: ${cant}` }
  const why = `${names} decoded on the CPU for now: whether it keeps up is being measured`
  return { decode: 'cpu', measure: true, why }
}
