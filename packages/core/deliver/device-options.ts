/** Options of `open` that have to do with the GPU. */

import { DefinitionError } from '../basics/errors.js'

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
