/**
 * Copies bytes into shared memory. V8 copies into a shared buffer word by word, so that no word is torn. No thread reads a
 * row that is being made, so the C library's memcpy will do, which is three to ten times as fast.
 */
import { addressOf, memcpy } from '../native.js'
import type { Workspace } from './workspace.js'

/** Below this a call into native code costs more than it saves. */
const WORTH_IT = 16384

/** Copies `bytes` to offset `at` of the workspace's memory. */
export function copyInto(work: Workspace, bytes: Uint8Array, at: number): void {
  if (bytes.length < WORTH_IT) work.u8.set(bytes, at)
  else memcpy(work.pointer(at), bytes, bytes.length)
}

/** From this on a call with numbers for addresses costs less than V8's copy of bytes that don't begin at a word. */
const WORTH_NUMBERS = 256

/** Copies pieces of another memory, such as the cache, into a workspace's. Its address is looked up once. */
export class Copier {
  private from: Uint8Array | undefined
  private address = 0
  private readonly into: number

  constructor(private readonly work: Workspace) {
    this.into = Number(work.address)
  }

  /** Copies `bytes` from offset `at` of `from`, which is the whole memory, to offset `to` of the workspace's memory. */
  copy(from: Uint8Array, at: number, bytes: number, to: number): void {
    const { u8 } = this.work
    if (!(at >= 0 && to >= 0 && bytes >= 0 && at + bytes <= from.length && to + bytes <= u8.length))
      throw new RangeError(`${bytes} bytes at ${at} of ${from.length} are copied to ${to} of ${u8.length}`)
    if (bytes < WORTH_NUMBERS) {
      u8.set(from.subarray(at, at + bytes), to)
      return
    }
    if (this.from !== from) {
      this.from = from
      this.address = Number(addressOf(from.buffer)) + from.byteOffset
    }
    memcpy(this.into + to, this.address + at, bytes)
  }
}

/** Copies bytes of the workspace's memory to another place in it. The two must not overlap. */
export function moveInside(work: Workspace, to: number, from: number, bytes: number): void {
  if (bytes < WORTH_A_CALL) work.u8.copyWithin(to, from, from + bytes)
  else memcpy(work.pointer(to), work.pointer(from), bytes)
}

/** The same for bytes that don't begin at a word: V8 then copies one by one. */
const WORTH_A_CALL = 2048

const isShared = (bytes: Uint8Array): boolean => bytes.buffer instanceof SharedArrayBuffer

/** Copies between any two arrays: all of `from` to the beginning of `into`. The two must not overlap. */
export function copyBytes(from: Uint8Array, into: Uint8Array): void {
  const aligned = ((from.byteOffset | into.byteOffset) & 7) === 0
  if (aligned || from.length < WORTH_A_CALL || !(isShared(from) || isShared(into))) {
    into.set(from)
    return
  }
  if (from.length > into.length) throw new RangeError(`${from.length} bytes are copied to ${into.length}`)
  memcpy(into, from, from.length)
}
