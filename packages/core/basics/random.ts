/**
 * Keyed random numbers. A choice depends on (seed, epoch, position, field, operator, ordinal) and on nothing
 * else, so any worker makes the same choice for the same sample. The generator is sfc32: 128 bits of
 * state, 32 bits an output, passes PractRand; the key is mixed into the state by murmur3's finaliser.
 */
import * as words from './random-words.js'

// Constants of this module: those of another are loaded anew each time, which took 70 ns a key instead of 60.
const { KEY_EPOCH, KEY_HIGH, KEY_KEY, KEY_POSITION, KEY_SEED, MIX_FIRST, MIX_SECOND, ROUNDS } = words

/** A 32-bit hash of a string (FNV-1a over UTF-16 units, then finalised). Compute once, at compile time. */
export function hashText(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return mix32(h)
}

/** Murmur3's 32-bit finaliser: every input bit reaches every output bit. */
export function mix32(x: number): number {
  x = Math.imul(x ^ (x >>> 16), MIX_FIRST)
  x = Math.imul(x ^ (x >>> 13), MIX_SECOND)
  return (x ^ (x >>> 16)) >>> 0
}

/** The key of one operator of one field: `operatorKey('image', 'flip', 0)`. A following field uses the followed field's name. */
export function operatorKey(field: string, operator: string, ordinal: number): number {
  return hashText(`${field}\u0000${operator}\u0000${ordinal}`)
}

/** A stream of random numbers that can be keyed again in place, so that the hot path allocates nothing. */
export class Random {
  private a = 0
  private b = 0
  private c = 0
  private d = 1

  /** Starts the stream of (seed, epoch, position, key). Position may exceed 32 bits. */
  key(seed: number, epoch: number, position: number, key: number): this {
    const low = position >>> 0
    const high = Math.floor(position / 0x100000000) >>> 0
    this.a = mix32(seed ^ KEY_SEED) ^ mix32(low + KEY_POSITION)
    this.b = mix32((Math.floor(seed / 0x100000000) ^ epoch) + KEY_EPOCH) ^ mix32(key ^ KEY_KEY)
    this.c = mix32(this.a + key) ^ mix32(high + epoch + KEY_HIGH)
    this.d = 1
    for (let i = 0; i < ROUNDS; i++) this.bits()
    return this
  }

  /** 32 random bits, as an unsigned integer. */
  bits(): number {
    const t = (this.a + this.b + this.d) | 0
    this.d = (this.d + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + t) | 0
    return t >>> 0
  }

  /** Uniform in [0, 1), 53 bits. */
  next(): number {
    const high = this.bits() >>> 5
    return (high * 67108864 + (this.bits() >>> 6)) / 9007199254740992
  }

  /** Uniform in [low, high). */
  uniform(low: number, high: number): number {
    return low + (high - low) * this.next()
  }

  /** A whole number in [0, n). */
  int(n: number): number {
    return Math.floor(this.next() * n)
  }

  /** Standard normal, by Box and Muller; uses two draws. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }
}
