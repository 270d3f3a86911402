/** Options of `open` that have to do with the GPU, and who decodes. */

import type { StagePort } from '../../cuda/device/device.js'
import type { DeviceOpened, DeviceWanted } from '../../cuda/device/messages.js'
import { staysOnCpu } from '../../pixels/transform/device/picture.js'
import { CPU, decoderPlace, twentiethsOf } from '../basics/decoder.js'
import { DefinitionError } from '../basics/errors.js'
import type { NormalFeed } from '../define/types.js'
import { fieldsForDevice } from '../engine/plan/making.js'

export interface DeviceOptions {
  /** "cuda" or "cuda:1": batches are delivered on that GPU, as DeviceArrays. By default they are in host memory. */
  device?: string
  /**
   * Who decodes images: "cpu", the workers; "gpu", the device; "auto" (the default): the workers, and if they don't keep
   * up with the trainer, what the tuner finds to be fastest: they, the device, or both. That stays, and is part of the
   * state. Only pixel values change, and by less than 2/255 on average.
   */
  decode?: 'auto' | 'cpu' | 'gpu'
  /** With a device: the memory of images is [n, h, w, c], though their shape is [n, c, h, w]. */
  channelsLast?: boolean
  /** With a device: the CUDA stream on which batches are used; by default CUDA's default stream. */
  stream?: bigint | number
}

/** The same, read. */
export interface DeviceChoice {
  /** Starts the stage; by default in a thread of its own. */
  start?: (wanted: DeviceWanted) => StagePort
  /** Another may be asked to decode, also where nothing is tuned. */
  asked?: true
  ordinal: number
  decode: 'auto' | 'cpu' | 'gpu'
  channelsLast: boolean
  consumer: bigint
}

/** Undefined: batches stay in host memory. */
export function readDeviceOptions(
  options: DeviceOptions & { notice?: (text: string) => void },
): DeviceChoice | undefined {
  const { device, decode = 'auto', channelsLast = false, stream = 0n } = options
  if (!['auto', 'cpu', 'gpu'].includes(decode)) {
    throw new DefinitionError(
      'options.decode',
      `expected "auto", "cpu" or "gpu", not ${JSON.stringify(decode)}`,
    )
  }
  if (device === undefined) {
    for (const name of ['channelsLast', 'stream'] as const) {
      if (options[name]) throw new DefinitionError(`options.${name}`, 'it needs the option device: "cuda"')
    }
    if (decode === 'gpu')
      throw new DefinitionError('options.decode', 'to decode on a GPU, also give the option device: "cuda"')
    if (options.decode === 'auto')
      options.notice?.('images are decoded on the CPU: batches stay in host memory, no device was given')
    return undefined
  }
  const [, ordinal = '0'] = /^cuda(?::(\d{1,3}))?$/.exec(device) ?? unknown(device)
  return { ordinal: Number(ordinal), decode, channelsLast, consumer: BigInt(stream) }
}

function unknown(device: string): never {
  throw new DefinitionError('options.device', `expected "cuda" or "cuda:n", not ${JSON.stringify(device)}`)
}

/** What is looked for on the device: only what the feed has work for. */
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
export function chooseDecode(
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
