/** A loader whose device is simulated: the stage runs in this thread, behind the same messages as in its own. */
import { normalizeFeed } from '../../../packages/core/define/normalize.js'
import type { FeedJson } from '../../../packages/core/define/types.js'
import { readDeviceOptions } from '../../../packages/core/deliver/device-options.js'
import { Loader } from '../../../packages/core/deliver/node/loader.js'
import type { Supply } from '../../../packages/core/deliver/node/supply.js'
import { type ClientOptions, fillOptions, type OpenOptions } from '../../../packages/core/deliver/options.js'
import type { StagePort } from '../../../packages/cuda/device/device.js'
import type { DeviceBatch } from '../../../packages/cuda/device/device-batch.js'
import { DeviceRun } from '../../../packages/cuda/device/device-run.js'
import {
  essence,
  type FromStage,
  type RingWanted,
  type ToStage,
} from '../../../packages/cuda/device/messages.js'
import { StageServer } from '../../../packages/cuda/device/server.js'
import { addressOf } from '../../../packages/cuda/driver/index.js'
import type { SimulatedGpu } from './simulated-gpu.js'

export type AnyDeviceBatch = DeviceBatch & Record<string, unknown>

/** Opens a feed; rows are made in this thread. By `decider`, `askDecoder` stands for a tuner. */
export function openSimulated(
  json: FeedJson,
  gpu: SimulatedGpu,
  { cpuShare, ...options }: OpenOptions & ClientOptions = {},
  root = '/',
  start = () => simulatedPort(gpu),
  { asked = false }: { asked?: boolean } = { asked: true },
): Loader<AnyDeviceBatch> {
  const all: OpenOptions = { device: 'cuda', workers: 0, ...options }
  const choice = readDeviceOptions(all)!
  return new Loader<AnyDeviceBatch>(normalizeFeed(json, root), {
    ...fillOptions(all, undefined, { cpuShare }),
    device: (feed, notice) => DeviceRun.open(choice, feed, { notice, start, asked }),
  })
}

/** What the tuner does: asks for another decoder. `found`: it stays. */
export function askDecoder(loader: Loader<AnyDeviceBatch>, twentieths: number, found = false): void {
  const { feeding } = (loader as unknown as { supply: Supply }).supply
  feeding.ring.askDecoder(twentieths, found)
}

/** Messages are copied, as between threads, and come in another turn of the event loop. A GPU that hangs hears nothing. */
export function simulatedPort(gpu: SimulatedGpu): StagePort {
  let heard: (message: FromStage) => void = () => {}
  const say = (message: FromStage): void => {
    const copy = structuredClone(message)
    setImmediate(() => heard(copy))
  }
  const server = new StageServer(
    gpu,
    memory => {
      gpu.ring = { address: addressOf(memory.buffer), buffer: memory.buffer }
      return gpu.ring.address
    },
    say,
  )
  return {
    post: (message: ToStage) => {
      if (gpu.hangs) return
      // A WebAssembly memory can't be cloned here; it is shared anyway.
      const copy = 'ring' in message ? { ring: withScratch(message.ring, gpu) } : structuredClone(message)
      setImmediate(() => server.receive(copy))
    },
    listen: listener => {
      heard = listener
      const { facts, nvcomp } = gpu
      say({ opened: { facts, decoder: 'nvJPEG 0.0.0', ...(nvcomp && { nvcomp }) } })
    },
    hold: () => {},
    // Nor does a thread end that is in the middle of a call.
    end: () => (gpu.hangs ? new Promise(() => {}) : Promise.resolve()),
  }
}

function withScratch(ring: RingWanted, { scratchBytes = ring.scratchBytes }: SimulatedGpu): RingWanted {
  return { ...ring, scratchBytes }
}

/** A port whose device can't be opened. */
export function failingPort(error: Error): StagePort {
  return {
    post: () => {},
    listen: heard => setImmediate(() => heard({ failed: { error: essence(error) } })),
    hold: () => {},
    end: async () => {},
  }
}
