/**
 * The GPU as a loader uses it: batches are delivered on it, and it may decode images. packages/cuda has the GPU itself; the
 * package's entry point says so with `deviceOpener`, and a program without the option `device` loads nothing of it.
 */
import type { Dtype, TypedArray } from '../../basics/dtype.js'
import { MissingError } from '../../basics/errors.js'
import type { NormalFeed } from '../../define/types.js'
import type { MakingOptions } from '../../engine/plan/making.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import type { DeviceChoice } from '../device-options.js'
import type { BatchOwner } from './batch.js'
import type { Sink } from './sink.js'

export interface LoaderDevice {
  /** Decides who decodes at first. `saved`: the CPU's share by a state; `cant`: why the tuner does not find out. */
  decide(feed: NormalFeed, saved?: number, cant?: string): void
  /** Who decodes: `open` while the tuner finds out; `found` is the CPU's share, 0…1, that it found or a state had. */
  readonly decoder: { open: boolean; found?: number }
  /** The making of rows as it has to be for this device. */
  readonly making: DeviceMaking
  /** Another one is to decode from the next batch on, and the program holds no batch. */
  readonly due: DecoderChange | undefined
  /** A state was loaded that says who decodes: it goes on so. */
  adopt(cpuShare: number | undefined): void
  /** Takes the batches of a feeding; of one that it served before nothing is under way any more. */
  sink(feeding: Feeding, feed: NormalFeed, owner: BatchOwner): Sink
  readonly stats: DeviceStats
  close(): Promise<void>
}

export type DeviceMaking = Omit<MakingOptions, 'world'>

/** Another one is to decode, which takes another ring. */
export interface DecoderChange {
  making: DeviceMaking
  /** The other ring has taken over. */
  done(): void
  /** It can't be had. */
  refused(error: Error): void
}

export interface DeviceStats {
  name: string
  /** Who decodes images at present. */
  decode: 'cpu' | 'gpu' | 'both'
  /** The device's decoder and its version, where there is one. */
  decoder?: string
  /** Pictures that it refused, and the CPU decoded. */
  refused: number
}

/** An array on the device. It is finished: whatever is launched from now on, on any stream, sees its values. */
export interface DeviceArray {
  /** Address of the first element, in the device's primary context. */
  readonly devicePointer: bigint
  readonly dtype: Dtype
  readonly shape: readonly number[]
  /** From one element to the next along each axis, in elements. */
  readonly strides: readonly number[]
  readonly byteLength: number
  /**
   * A copy, in the order in which the elements lie in memory (`strides`); f16 and bf16 as their bits. It is ordered
   * after the work that was given to the consumer's stream before.
   */
  copyToHost(): Promise<TypedArray>
}

/** Rows of varying length: row i is values[offsets[i]…offsets[i+1]]. */
export interface DeviceRagged {
  values: DeviceArray
  offsets: DeviceArray
}

/** Opens the device for a feed; rejects with one sentence where there is none. */
export type OpenDevice = (feed: NormalFeed, notice?: (text: string) => void) => Promise<LoaderDevice>

type Opener = (choice: DeviceChoice, ...of: Parameters<OpenDevice>) => Promise<LoaderDevice>

let opener: Opener = async () => {
  throw new MissingError('this program has no way to a GPU: take `open` of the package "millrace"')
}

/** Says who opens devices. */
export function deviceOpener(open: Opener): void {
  opener = open
}

/** The way to the device that the options name. */
export function openerOf(choice: DeviceChoice): OpenDevice {
  return (feed, notice) => opener(choice, feed, notice)
}
