/**
 * The global shuffle: a keyed permutation of 0…n−1 that is computed position by position, so that an epoch of
 * a billion samples needs no table, no set-up and no state.
 *
 * A position of b bits, where 2^b is the least power of two ≥ n, is cut into a left half of ⌈b/2⌉ bits and a
 * right half of ⌊b/2⌋ bits. Each round replaces one half by its exclusive or with a keyed hash of the other
 * half. That can be undone whatever the hash is, so the whole is a bijection of 0…2^b−1. A result ≥ n is fed
 * in again until it is < n (cycle walking; fewer than two turns on average, as 2^b < 2n), which makes it a
 * bijection of 0…n−1 for *every* n. b is counted with integers: logarithms are off by one near powers of two.
 *
 * The results are part of every saved state: a change of a constant here changes the order of every feed.
 */

import { DefinitionError } from '../basics/errors.js'
import { hashText, Random } from '../basics/random.js'

/** What a permutation depends on, besides n. Each of them enters the key by a hash, never by a sum. */
export interface PermutationKey {
  seed: number
  epoch: number
  /** Tells apart permutations of one seed and epoch: a name or a number (1 and "1" are different streams). */
  stream?: string | number
}

export interface Permutation {
  readonly n: number
  /** The index that stands at `position`. */
  at(position: number): number
  /** The position at which `index` stands: `inverse(at(p)) === p`. */
  inverse(index: number): number
  /** Writes the indices of positions start, start+1, … into `out`, up to its end or to n. Returns how many. */
  fill(out: Int32Array | Uint32Array | Float64Array | number[], start: number): number
}

/** The halves of 52 bits have 26, and all sums stay exact in a double. */
const GREATEST_N = 2 ** 52

/** Below this a shuffled table of half a kilobyte is better and quicker than any cipher on so few bits. */
const TABLE_BELOW = 256

/** Six already pass every test of ours; twice that is the margin, and half the speed is still far beyond need. */
const ROUNDS = 12

/** Positions that are filled in together: 8 KiB, which stay in the nearest cache. */
const FILLED = 1024

/** The largest width for which a position is a non-negative 32-bit integer, the fast case. */
const INT32_BITS = 31

/** Makes the permutation of 0…n−1 for a key. Cheap: a few hundred nanoseconds, whatever n is. */
export function permutation(n: number, key: PermutationKey): Permutation {
  check(n, key)
  const random = new Random().key(key.seed, key.epoch, 0, streamKey(key.stream))
  if (n < TABLE_BELOW) return new TablePermutation(n, random)
  const bits = bitsFor(n)
  const rounds = new Int32Array(ROUNDS)
  for (let i = 0; i < ROUNDS; i++) rounds[i] = random.bits()
  return bits <= INT32_BITS ? new NarrowPermutation(n, bits, rounds) : new WidePermutation(n, bits, rounds)
}

/** The least b with 2^b ≥ n. */
function bitsFor(n: number): number {
  let bits = 0
  for (let size = 1; size < n; size *= 2) bits++
  return bits
}

function streamKey(stream: string | number | undefined): number {
  return stream === undefined ? 0 : hashText(`${typeof stream}:${stream}`)
}

function check(n: number, { seed, epoch }: PermutationKey): void {
  if (!Number.isInteger(n) || n < 0 || n > GREATEST_N)
    throw new DefinitionError('n', `a permutation needs a whole number from 0 to 2^52, not ${n}`)
  if (!Number.isSafeInteger(seed)) throw new DefinitionError('seed', `expected a whole number, not ${seed}`)
  if (!Number.isSafeInteger(epoch) || epoch < 0)
    throw new DefinitionError('epoch', `expected a whole number from 0, not ${epoch}`)
}

/** The round function: multiply, shift, multiply (constants of Wellons' lowbias32). Its high bits are the good ones. */
function scramble(x: number): number {
  x = Math.imul(x, 0x7feb352d)
  return Math.imul(x ^ (x >>> 15), 0x846ca68b)
}

/** Up to 31 bits: 32-bit integers throughout, which is what the optimising compiler is quickest with. */
class NarrowPermutation implements Permutation {
  private readonly rightBits: number
  private readonly rightMask: number
  /** How far a hash is shifted down to be as wide as the half. */
  private readonly leftShift: number
  private readonly rightShift: number

  constructor(
    readonly n: number,
    bits: number,
    private readonly keys: Int32Array,
  ) {
    this.rightBits = bits >> 1
    this.rightMask = (1 << this.rightBits) - 1
    this.leftShift = 32 - (bits - this.rightBits)
    this.rightShift = 32 - this.rightBits
  }

  at(position: number): number {
    const { n, keys, rightBits, rightMask, leftShift, rightShift } = this
    let x = position | 0
    if (x !== position || x < 0 || x >= n) throw outside(position, n)
    do {
      let left = x >>> rightBits
      let right = x & rightMask
      for (let i = 0; i < keys.length; i += 2) {
        left ^= scramble(right ^ keys[i]) >>> leftShift
        right ^= scramble(left ^ keys[i + 1]) >>> rightShift
      }
      x = (left << rightBits) | right
    } while (x >= n)
    return x
  }

  inverse(index: number): number {
    const { n, keys, rightBits, rightMask, leftShift, rightShift } = this
    let x = index | 0
    if (x !== index || x < 0 || x >= n) throw outside(index, n)
    do {
      let left = x >>> rightBits
      let right = x & rightMask
      for (let i = keys.length - 2; i >= 0; i -= 2) {
        right ^= scramble(left ^ keys[i + 1]) >>> rightShift
        left ^= scramble(right ^ keys[i]) >>> leftShift
      }
      x = (left << rightBits) | right
    } while (x >= n)
    return x
  }

  /**
   * As `at`, but all positions take a turn before those that came out too large take another: four of them at a time, of
   * which the processor has something to do while it waits for the products of one.
   */
  fill(out: Int32Array | Uint32Array | Float64Array | number[], start: number): number {
    const { n } = this
    const count = checkFill(this, out, start)
    const again = new Uint32Array(Math.min(count, FILLED))
    const rotated = new Int32Array(again.length)
    for (let from = 0; from < count; from += FILLED) {
      const many = Math.min(FILLED, count - from)
      for (let i = 0; i < many; i++) rotated[i] = start + from + i
      this.rotate(rotated, many)
      let left = 0
      for (let i = 0; i < many; i++) {
        if (rotated[i] < n) out[from + i] = rotated[i]
        else {
          again[left] = from + i
          rotated[left++] = rotated[i]
        }
      }
      while (left > 0) {
        this.rotate(rotated, left)
        let kept = 0
        for (let i = 0; i < left; i++) {
          if (rotated[i] < n) out[again[i]] = rotated[i]
          else {
            again[kept] = again[i]
            rotated[kept++] = rotated[i]
          }
        }
        left = kept
      }
    }
    return count
  }

  /** One turn of each of the first `count` numbers, in place. */
  private rotate(numbers: Int32Array, count: number): void {
    const { keys, rightBits, rightMask, leftShift, rightShift } = this
    let at = 0
    for (; at + 3 < count; at += 4) {
      let leftA = numbers[at] >>> rightBits
      let leftB = numbers[at + 1] >>> rightBits
      let leftC = numbers[at + 2] >>> rightBits
      let leftD = numbers[at + 3] >>> rightBits
      let rightA = numbers[at] & rightMask
      let rightB = numbers[at + 1] & rightMask
      let rightC = numbers[at + 2] & rightMask
      let rightD = numbers[at + 3] & rightMask
      for (let i = 0; i < ROUNDS; i += 2) {
        const [even, odd] = [keys[i], keys[i + 1]]
        leftA ^= scramble(rightA ^ even) >>> leftShift
        leftB ^= scramble(rightB ^ even) >>> leftShift
        leftC ^= scramble(rightC ^ even) >>> leftShift
        leftD ^= scramble(rightD ^ even) >>> leftShift
        rightA ^= scramble(leftA ^ odd) >>> rightShift
        rightB ^= scramble(leftB ^ odd) >>> rightShift
        rightC ^= scramble(leftC ^ odd) >>> rightShift
        rightD ^= scramble(leftD ^ odd) >>> rightShift
      }
      numbers[at] = (leftA << rightBits) | rightA
      numbers[at + 1] = (leftB << rightBits) | rightB
      numbers[at + 2] = (leftC << rightBits) | rightC
      numbers[at + 3] = (leftD << rightBits) | rightD
    }
    for (; at < count; at++) {
      let left = numbers[at] >>> rightBits
      let right = numbers[at] & rightMask
      for (let i = 0; i < ROUNDS; i += 2) {
        left ^= scramble(right ^ keys[i]) >>> leftShift
        right ^= scramble(left ^ keys[i + 1]) >>> rightShift
      }
      numbers[at] = (left << rightBits) | right
    }
  }
}

/** 32 to 52 bits: the position is a double, its halves of at most 26 bits are integers. */
class WidePermutation implements Permutation {
  private readonly rightSize: number
  private readonly leftShift: number
  private readonly rightShift: number

  constructor(
    readonly n: number,
    bits: number,
    private readonly keys: Int32Array,
  ) {
    const rightBits = bits >> 1
    this.rightSize = 2 ** rightBits
    this.leftShift = 32 - (bits - rightBits)
    this.rightShift = 32 - rightBits
  }

  at(position: number): number {
    const { n, keys, rightSize, leftShift, rightShift } = this
    let x = position
    if (!(x >= 0 && x < n) || Math.floor(x) !== x) throw outside(position, n)
    do {
      let left = Math.floor(x / rightSize) | 0
      let right = (x - left * rightSize) | 0
      for (let i = 0; i < keys.length; i += 2) {
        left ^= scramble(right ^ keys[i]) >>> leftShift
        right ^= scramble(left ^ keys[i + 1]) >>> rightShift
      }
      x = left * rightSize + right
    } while (x >= n)
    return x
  }

  inverse(index: number): number {
    const { n, keys, rightSize, leftShift, rightShift } = this
    let x = index
    if (!(x >= 0 && x < n) || Math.floor(x) !== x) throw outside(index, n)
    do {
      let left = Math.floor(x / rightSize) | 0
      let right = (x - left * rightSize) | 0
      for (let i = keys.length - 2; i >= 0; i -= 2) {
        right ^= scramble(left ^ keys[i + 1]) >>> rightShift
        left ^= scramble(right ^ keys[i]) >>> leftShift
      }
      x = left * rightSize + right
    } while (x >= n)
    return x
  }

  fill(out: Int32Array | Uint32Array | Float64Array | number[], start: number): number {
    return fillFrom(this, out, start)
  }
}

/** A few samples: the shuffled list itself, and its inverse. */
class TablePermutation implements Permutation {
  private readonly indices: Uint8Array
  private readonly positions: Uint8Array

  constructor(
    readonly n: number,
    random: Random,
  ) {
    this.indices = Uint8Array.from({ length: n }, (_, i) => i)
    shuffle(this.indices, random)
    this.positions = new Uint8Array(n)
    for (let i = 0; i < n; i++) this.positions[this.indices[i]] = i
  }

  at(position: number): number {
    const index = this.indices[position]
    if (index === undefined) throw outside(position, this.n)
    return index
  }

  inverse(index: number): number {
    const position = this.positions[index]
    if (position === undefined) throw outside(index, this.n)
    return position
  }

  fill(out: Int32Array | Uint32Array | Float64Array | number[], start: number): number {
    return fillFrom(this, out, start)
  }
}

/** Fisher and Yates, in place, from the end. */
export function shuffle(items: Uint8Array | Uint16Array | Uint32Array, random: Random): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    const item = items[i]
    items[i] = items[j]
    items[j] = item
  }
}

function fillFrom(
  source: Permutation,
  out: Int32Array | Uint32Array | Float64Array | number[],
  start: number,
): number {
  const count = checkFill(source, out, start)
  for (let i = 0; i < count; i++) out[i] = source.at(start + i)
  return count
}

/** How many indices there are to write, if they can be written. */
function checkFill(
  source: Permutation,
  out: Int32Array | Uint32Array | Float64Array | number[],
  start: number,
): number {
  if (source.n > 2 ** 32 && out instanceof Uint32Array) throw tooNarrow('Uint32Array', source.n)
  if (source.n > 2 ** 31 && out instanceof Int32Array) throw tooNarrow('Int32Array', source.n)
  if (!Number.isInteger(start) || start < 0 || start > source.n) throw outside(start, source.n)
  return Math.min(out.length, source.n - start)
}

function outside(position: number, n: number): RangeError {
  return new RangeError(`${position} is not a whole number from 0 to ${n - 1}`)
}

function tooNarrow(type: string, n: number): RangeError {
  return new RangeError(`a ${type} can't hold the indices of a permutation of ${n}; give a Float64Array`)
}
