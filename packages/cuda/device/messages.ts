/** The messages between the main thread and the thread of the device stage, errors among them. */

import { EngineError, MillraceError, MissingError } from '../../core/basics/errors.js'
import type { DecoderJob } from '../../core/engine/make/cpu-decoder.js'
import type { Generator } from '../../core/engine/plan/generate.js'
import { CudaError, type DeviceFacts } from '../driver/index.js'
import type { Finished } from './stage.js'

/** The thread is started with these. */
export interface DeviceWanted {
  /** Number of the device, as CUDA counts them. */
  ordinal: number
  /** There are pictures that nvJPEG could decode: it is looked for, and may be missing, or may not. */
  nvjpeg?: 'optional' | 'needed'
  /** There are arrays that nvCOMP could decompress: it is looked for, and may be missing. */
  nvcomp?: boolean
  /** The folder of compiled kernels. */
  cache: string
}

/** The ring whose batches are to be staged. */
export interface RingWanted {
  /** Its number in this process. */
  id: number
  job: DecoderJob
  scratchBytes: number
  consumer: bigint
  /** Makes fields out of nothing. */
  generator?: Generator
}

export type ToStage =
  | { ring: RingWanted }
  | { stage: { batch: number; slot: number } }
  | { release: number }
  | { download: { id: number; pointer: bigint; bytes: number } }
  | { close: true }

export type FromStage =
  | { opened: DeviceOpened }
  | { finished: Finished }
  /** Rows that nvJPEG or nvCOMP refused, and the CPU has made now. They are reported one by one: it may take long. */
  | { refused: number }
  | { downloaded: { id: number; bytes: Uint8Array<ArrayBuffer> } }
  /** One batch or download has failed; without a number, all that comes after. */
  | { failed: { batch?: number; id?: number; error: Failure } }
  | { closed: true }

export interface DeviceOpened {
  facts: DeviceFacts
  /** nvJPEG and its version, when pictures can be decoded; or why they can't. */
  decoder?: string
  without?: string
  /** nvCOMP and its version, when arrays can be decompressed; or why they can't. */
  nvcomp?: string
  withoutNvcomp?: string
}

/** An error's essence: classes don't survive the way between threads. */
export interface Failure {
  tag?: string
  message: string
  stack?: string
  call?: string
  code?: string
}

export function essence(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error) }
  const { message, stack } = error
  if (error instanceof CudaError) return { tag: error.tag, message, call: error.call, code: error.code }
  return error instanceof MillraceError ? { tag: error.tag, message } : { message, stack }
}

export function revive({ tag, message, stack, call = '', code = '' }: Failure): Error {
  if (tag === 'Cuda') return Object.assign(new CudaError(call, code), { message })
  if (tag === 'Missing') return new MissingError(message)
  if (tag !== undefined) return new EngineError(message)
  return Object.assign(new Error(message), stack === undefined ? {} : { stack })
}
