/**
 * What a maker and its Python process say to each other. Frames go through the pipes; arrays and other bytes lie in
 * memory that both have mapped, the *arena*, and frames only say where. What finds no room there follows its frame.
 *
 *   frame   u32 length of the header │ header, JSON │ buffers that found no room, of the lengths in the header
 *   arena   u32 ask that is being answered, 64 B │ rows of a claim 8 MiB │ the sample's function 4 MiB │ a field's 4 MiB
 *
 * A request is a list of asks; each is answered by one reply, in order. The other end is python/millrace/_data/worker.py.
 */
import type { Random } from '../basics/random.js'
import {
  createRegion,
  mapOver,
  newMemory,
  PAGE,
  reserveSync,
  type SharedRegion,
  vacate,
} from '../system/memory/memory.js'
import { type Child, closeDescriptor } from '../system/process/child.js'

/** A stretch of the arena, bytes from … to. */
export type Room = readonly [from: number, to: number]

const MIB = 2 ** 20
export const ROWS: Room = [64, 8 * MIB]
export const SAMPLE: Room = [8 * MIB, 12 * MIB]
export const FIELD: Room = [12 * MIB, 16 * MIB]
const ARENA_BYTES = FIELD[1]

/** Where bytes lie: in the arena, or in which of the buffers behind the frame. */
export type WireBytes = { at: number; bytes: number } | { buffer: number }

/** A value on its way: numbers and text as they are; NaN and infinities by name. */
export type WireValue =
  | number
  | string
  | { float: string }
  /** Anything else that JSON can say, as text. */
  | { json: string }
  | { raw: WireBytes }
  /** An array as an .npy file, header and all: for the engine. */
  | { npy: WireBytes }
  /** An array's elements: for Python. */
  | { array: WireBytes; dtype: string; shape: readonly number[] }

/** A dataset or a function of the user's, pickled: by the hash of its bytes, and where they can be read. */
export interface Payload {
  id: string
  path: string
}

/** What can be asked. */
export type What = { payload: string } & (
  | { load: string }
  | { drop: true }
  /** `stream` is the number of the source that asks: each source goes through an iterable in its own time. */
  | { row: number; epoch: number; key: string; columns: readonly string[]; stream: number }
  | { call: WireValue; key: string }
  | { sample: Record<string, WireValue>; key: string }
)

export type Ask = { t: number } & What

export interface Reply {
  t: number
  /** Lengths of the buffers that follow. */
  buffers?: number[]
  /** End of what this reply took of its room. */
  next?: number
  columns?: Record<string, WireValue>
  value?: WireValue
  error?: string
}

/** Memory that a maker shares with its Python process. */
export class Arena {
  readonly region: SharedRegion = createRegion(ARENA_BYTES)
  readonly u8: Uint8Array
  private readonly words: Uint32Array
  private readonly memory = newMemory(ARENA_BYTES)

  constructor() {
    reserveSync(this.region)
    mapOver(this.memory, this.region)
    this.u8 = new Uint8Array(this.memory.buffer)
    this.words = new Uint32Array(this.memory.buffer, 0, 1)
  }

  /** The ask that Python is at, or was at when it died. */
  get at(): number {
    return this.words[0]
  }

  close(): void {
    closeDescriptor(this.region.fd)
    vacate(this.memory)
  }
}

const HEAD = 4

/** The two pipes of one child, as frames. */
export class Wire {
  private buffer = Buffer.alloc(PAGE)
  private from = 0
  private to = 0

  constructor(private readonly child: Child) {}

  send(room: Room, asks: readonly Ask[], buffers: readonly Uint8Array[] = []): void {
    const header = { room, asks, buffers: buffers.map(bytes => bytes.length) }
    const text = Buffer.from(JSON.stringify(header))
    const frame = Buffer.allocUnsafe(HEAD + text.length)
    frame.writeUInt32LE(text.length)
    text.copy(frame, HEAD)
    this.child.write(frame)
    for (const bytes of buffers) this.child.write(bytes)
  }

  /** The next reply and what follows it. */
  receive(): { reply: Reply; buffers: Uint8Array[] } {
    this.need(HEAD)
    const length = this.buffer.readUInt32LE(this.from)
    this.need(HEAD + length)
    const text = this.buffer.toString('utf8', this.from + HEAD, this.from + HEAD + length)
    this.from += HEAD + length
    const reply = JSON.parse(text) as Reply
    return { reply, buffers: (reply.buffers ?? []).map(bytes => this.take(bytes)) }
  }

  /** Reads until there are `bytes` in the buffer. */
  private need(bytes: number): void {
    if (this.to - this.from >= bytes) return
    if (this.from + bytes > this.buffer.length) {
      const larger = bytes > this.buffer.length ? Buffer.alloc(2 * bytes) : this.buffer
      this.buffer.copy(larger, 0, this.from, this.to)
      this.buffer = larger
      this.to -= this.from
      this.from = 0
    }
    while (this.to - this.from < bytes) this.to += this.child.read(this.buffer, this.to)
  }

  /** Exactly this many bytes, on their own. */
  private take(bytes: number): Uint8Array {
    const out = new Uint8Array(bytes)
    const here = Math.min(bytes, this.to - this.from)
    out.set(this.buffer.subarray(this.from, this.from + here))
    this.from += here
    for (let at = here; at < bytes; ) at += this.child.read(out, at)
    return out
  }
}

/** 128 bits that key the random numbers of one ask, as hexadecimal digits. */
export function keyFrom(random: Random): string {
  let key = ''
  for (let i = 0; i < 4; i++) key += random.bits().toString(16).padStart(8, '0')
  return key
}

/** Where the bytes of a value lie, if it has any. */
export function bytesOf(value: WireValue | undefined): WireBytes | undefined {
  if (typeof value !== 'object') return undefined
  if ('raw' in value) return value.raw
  if ('npy' in value) return value.npy
  return 'array' in value ? value.array : undefined
}
