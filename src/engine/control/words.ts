/**
 * The control memory of an engine's process: a memfd of one page, by which another process of the same user changes workers and
 * depth of a ring, or lets workers rest for a moment (`millrace diagnose --attach PID --control`). One request at a time:
 *
 *   0 "MILLCTRL"  8 version  12 pid │ 64 request: 40 bytes │ 128 answer: 32 bytes
 *
 * Each side writes its own part with one write, ended by a checksum, and reads the other's. A part whose checksum is wrong is
 * half written: it is read again later.
 */
import { crc32 } from 'node:zlib'

/** By this name /proc shows the memory among a process's descriptors. */
export const CONTROL_NAME = 'millrace-control'
const CONTROL_MAGIC = 'MILLCTRL'
export const CONTROL_VERSION = 1
/** Bytes of the memory, and where its parts lie. */
export const CONTROL_MEMORY = 4096
export const REQUEST_AT = 64
export const ANSWER_AT = 128

const REQUEST_BYTES = 40
const ANSWER_BYTES = 32

/** What another process asks for. 0: it stays as it is. */
export interface ControlRequest {
  /** Counts requests: one that was answered is not answered again. Never 0. */
  sequence: number
  /** The process that asks. */
  asker: number
  ring: number
  workers: number
  depth: number
  /** Until when workers rest (ms of CLOCK_MONOTONIC). */
  restUntil: number
}

/** What became of a request. */
export const ControlResult = {
  Done: 1,
  NoRing: 2,
  BadWorkers: 3,
  BadDepth: 4,
  BadRest: 5,
  Failed: 6,
} as const
export type ControlResult = (typeof ControlResult)[keyof typeof ControlResult]

export interface ControlAnswer {
  /** The request that this answers. */
  sequence: number
  result: number
  /** As they are now. */
  workers: number
  depth: number
  /** The process whose request it was; 0 once it is gone, and what it had set was set back. */
  asker: number
  /** When it was done (ms of CLOCK_MONOTONIC). */
  at: number
}

export function headBytes(pid: number): Uint8Array {
  const bytes = new Uint8Array(16)
  new TextEncoder().encodeInto(CONTROL_MAGIC, bytes)
  const view = new DataView(bytes.buffer)
  view.setUint32(8, CONTROL_VERSION, true)
  view.setUint32(12, pid, true)
  return bytes
}

/** The version and process that a head names; undefined: it is none. */
export function readHead(bytes: Uint8Array): { version: number; pid: number } | undefined {
  if (bytes.length < 16 || Buffer.from(bytes.subarray(0, 8)).toString('latin1') !== CONTROL_MAGIC)
    return undefined
  const view = viewOf(bytes)
  return { version: view.getUint32(8, true), pid: view.getUint32(12, true) }
}

export function requestBytes(request: ControlRequest): Uint8Array {
  const bytes = new Uint8Array(REQUEST_BYTES)
  const view = viewOf(bytes)
  view.setFloat64(0, request.restUntil, true)
  const words = [request.sequence, request.asker, request.ring, request.workers, request.depth]
  for (const [i, word] of words.entries()) view.setUint32(8 + 4 * i, word, true)
  return sealed(bytes)
}

/** Undefined: there is none yet, or it is being written. */
export function readRequest(bytes: Uint8Array): ControlRequest | undefined {
  const view = whole(bytes, REQUEST_BYTES)
  if (view === undefined) return undefined
  const [sequence, asker, ring, workers, depth] = [0, 1, 2, 3, 4].map(i => view.getUint32(8 + 4 * i, true))
  return { sequence, asker, ring, workers, depth, restUntil: view.getFloat64(0, true) }
}

export function answerBytes(answer: ControlAnswer): Uint8Array {
  const bytes = new Uint8Array(ANSWER_BYTES)
  const view = viewOf(bytes)
  const words = [answer.sequence, answer.result, answer.workers, answer.depth, answer.asker]
  for (const [i, word] of words.entries()) view.setUint32(4 * i, word, true)
  view.setFloat64(20, answer.at, true)
  return sealed(bytes)
}

export function readAnswer(bytes: Uint8Array): ControlAnswer | undefined {
  const view = whole(bytes, ANSWER_BYTES)
  if (view === undefined) return undefined
  const [sequence, result, workers, depth, asker] = [0, 1, 2, 3, 4].map(i => view.getUint32(4 * i, true))
  return { sequence, result, workers, depth, asker, at: view.getFloat64(20, true) }
}

/** Bytes of each part, for those that read it. */
export const ControlBytes = { request: REQUEST_BYTES, answer: ANSWER_BYTES } as const

/** With its checksum in the last four bytes. */
function sealed(bytes: Uint8Array): Uint8Array {
  const end = bytes.length - 4
  viewOf(bytes).setUint32(end, crc32(bytes.subarray(0, end)), true)
  return bytes
}

function whole(bytes: Uint8Array, length: number): DataView | undefined {
  if (bytes.length < length) return undefined
  const view = viewOf(bytes)
  const end = length - 4
  // Zeros have a checksum of their own, which is not 0: a part that was never written is not whole.
  return view.getUint32(end, true) === crc32(bytes.subarray(0, end)) ? view : undefined
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
