/**
 * The hash of a sample's key: splits go by it, and repeated keys are found by it. It has 53 bits, so that it is a whole
 * Number and fits an f64 column of the index. It is part of the index format and of every split ever made, so it must never
 * change.
 */
import { mix32 } from '../../basics/random.js'

/** A whole number in [0, 2^53): two multiplicative hashes over the UTF-16 units, each finalised with the other. */
export function hashKey(text: string): number {
  let a = 0x9e3779b9
  let b = 0x85ebca6b ^ text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul((b << 5) ^ (b >>> 27) ^ unit, 0x9e3779b1)
  }
  const low = mix32(a ^ Math.imul(b, 0xc2b2ae35))
  const high = mix32(b ^ Math.imul(low, 0x27d4eb2f))
  return (high >>> 11) * 0x100000000 + low
}

/** Where in [0, 1) a key falls for a seed. Independent of everything but the two. */
export function place(hash: number, seed: number): number {
  const salt = mix32((seed ^ 0x7f4a7c15) + Math.floor(seed / 0x100000000))
  const low = mix32((hash >>> 0) ^ salt)
  const high = mix32(Math.floor(hash / 0x100000000) ^ Math.imul(low, 0x9e3779b1) ^ salt)
  return ((high >>> 5) * 67108864 + (mix32(low ^ high) >>> 6)) / 9007199254740992
}
