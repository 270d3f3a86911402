/** Options of `open` that have to do with the GPU. */

import { DefinitionError } from '../basics/errors.js'
import { type Given, OPTIONS } from './option-table.js'

/** The device that batches are delivered to, and what it does. */
export interface DeviceChoice {
  ordinal: number
  decode: 'auto' | 'cpu' | 'gpu'
  channelsLast: boolean
  consumer: bigint
}

/** Undefined: batches stay in host memory. */
export function readDeviceOptions(
  options: { [Name in 'device' | 'decode' | 'channelsLast' | 'stream' | 'notice']?: Given<Name> },
): DeviceChoice | undefined {
  const { device, channelsLast = false, stream = 0n } = options
  const decode = OPTIONS.decode.shape(options.decode ?? 'auto', 'options.decode')
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
