/**
 * The counters of a lane: sums since the beginning, of the lane itself and of the rings that it works for. The lane's thread
 * adds up in memory of its own, and writes the sums out every few milliseconds: into one of two copies in turn, each with a
 * number and a checksum. So one copy is always whole, whenever a reader looks and whenever the process is killed.
 */
import { crc32 } from 'node:zlib'
import { OWN_BYTES, OwnAt, SUM_BYTES, SUMS, SumAt } from './span-words.js'

/** Where the copies of ring 0 begin in the counters of a lane. */
export const SUMS_IN_LANE = 2 * OWN_BYTES

/** Indexes into sums of a ring, which lie as in the memory. Those of kind k are at k. */
const SUM_WORDS = SUM_BYTES / 8
export const BYTES = SumAt.Bytes / 8
export const ROWS = SumAt.Rows / 8
export const CLAIMS = SumAt.Claims / 8
export const READS = SumAt.Reads / 8
export const OPENS = SumAt.Opens / 8
const AT = SumAt.At / 8

/** Of two copies that lie one behind the other the latest that is whole. Undefined: none was ever written. */
export function latestCopy(copies: Uint8Array, at: number, bytes: number): Uint8Array | undefined {
  const [first, second] = [at, at + bytes].map(from => wholeCopy(copies.subarray(from, from + bytes)))
  if (first === undefined || second === undefined) return first ?? second
  return ((numberOf(first) - numberOf(second)) | 0) > 0 ? first : second
}

function wholeCopy(copy: Uint8Array): Uint8Array | undefined {
  const end = copy.length - 4
  return numberOf(copy) > 0 && u32(copy, end) === crc32(copy.subarray(0, end)) ? copy : undefined
}

function numberOf(copy: Uint8Array): number {
  return u32(copy, 0)
}

function u32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true)
}

/** Two copies of some sums in shared memory. */
class Copies {
  private readonly bytes: Uint8Array
  private readonly checked: Uint8Array
  private readonly u32: Uint32Array
  readonly f64: Float64Array
  private readonly copies: readonly [Uint8Array, Uint8Array]

  /** Begins with what is there. */
  constructor(memory: ArrayBufferLike, at: number, size: number) {
    this.bytes = new Uint8Array(size)
    this.checked = this.bytes.subarray(0, size - 4)
    this.u32 = new Uint32Array(this.bytes.buffer)
    this.f64 = new Float64Array(this.bytes.buffer)
    this.copies = [new Uint8Array(memory, at, size), new Uint8Array(memory, at + size, size)]
    const latest = latestCopy(new Uint8Array(memory, at, 2 * size), 0, size)
    if (latest) this.bytes.set(latest)
  }

  /** The ring whose sums these are; only of those of rings. */
  get ring(): number {
    return this.u32[SumAt.Ring / 4]
  }

  set ring(ring: number) {
    this.u32[SumAt.Ring / 4] = ring
  }

  get empty(): boolean {
    return this.u32[0] === 0
  }

  /** Writes the older copy. */
  write(): void {
    const { u32, bytes } = this
    // 0 would mean that none was written.
    const number = (u32[0] + 1) >>> 0 || 1
    u32[0] = number
    u32[u32.length - 1] = crc32(this.checked)
    this.copies[number & 1].set(bytes)
  }
}

/** A place for the sums of one ring. */
interface Place {
  copies: Copies
  /** When it was last written, or its ring was closed. */
  used: number
  open: boolean
}

/** The counters of a lane, as its thread writes them. */
export class CounterWriter {
  private readonly own: Copies
  private readonly places: readonly Place[]

  /** Goes on with the sums that are there. */
  constructor(memory: ArrayBufferLike, at: number) {
    this.own = new Copies(memory, at, OWN_BYTES)
    this.places = Array.from({ length: SUMS }, (_, i) => ({
      copies: new Copies(memory, at + SUMS_IN_LANE + i * 2 * SUM_BYTES, SUM_BYTES),
      used: 0,
      open: false,
    }))
  }

  /** Adds to what the lane knows of itself. NaN: not known. */
  addTimes(cpu: number, delay: number): void {
    const { f64 } = this.own
    f64[OwnAt.Cpu / 8] += cpu
    f64[OwnAt.Delay / 8] += delay
  }

  addGc(ms: number): void {
    this.own.f64[OwnAt.Gc / 8] += ms
  }

  writeOwn(at: number): void {
    this.own.f64[OwnAt.At / 8] = at
    this.own.write()
  }

  /** The sums of a ring so far, to be added to. */
  sumsOf(ring: number): Float64Array {
    const sums = new Float64Array(SUM_WORDS)
    const place = this.placeOf(ring)
    if (place) sums.set(place.copies.f64)
    return sums
  }

  /** Writes the sums of a ring, up to `at` (ms of CLOCK_MONOTONIC). */
  write(ring: number, sums: Float64Array, at: number): void {
    const place = this.placeOf(ring) ?? this.oldest()
    const { copies } = place
    place.used = at
    place.open = true
    for (let i = 1; i < AT; i++) copies.f64[i] = sums[i]
    copies.f64[AT] = at
    copies.ring = ring
    copies.write()
  }

  /** The ring is closed. Its sums stay until their place is needed. */
  leave(ring: number): void {
    const place = this.placeOf(ring)
    if (place) place.open = false
  }

  private placeOf(ring: number): Place | undefined {
    if (ring === 0) return this.places[0]
    for (let i = 1; i < SUMS; i++) if (this.places[i].copies.ring === ring) return this.places[i]
    return undefined
  }

  /** The place that is needed least: an empty one, that of a closed ring, or the one not written for longest. */
  private oldest(): Place {
    const need = ({ copies, used, open }: Place): number =>
      copies.empty ? Number.NEGATIVE_INFINITY : open ? used : used - Number.MAX_SAFE_INTEGER
    return this.places.slice(1).reduce((least, place) => (need(place) < need(least) ? place : least))
  }
}
