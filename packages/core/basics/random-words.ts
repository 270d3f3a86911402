/**
 * Numbers of the keyed random generator (random.ts). The kernels' copy (facts.cuh) and Python's
 * (python/millrace/_generated/) are generated from this file: npm run generate.
 */

/** Multipliers of murmur3's 32-bit finaliser. */
export const MIX_FIRST = 0x85ebca6b
export const MIX_SECOND = 0xc2b2ae35

/** What is mixed with each part of a key, so that equal parts don't cancel out. */
export const KEY_SEED = 0x9e3779b9
export const KEY_POSITION = 0x3c6ef372
export const KEY_EPOCH = 0x78dde6e4
export const KEY_KEY = 0x1b873593
export const KEY_HIGH = 0xdaa66d2b

/** Rounds before the first number, as sfc32's author asks, so that near keys give far streams. */
export const ROUNDS = 12

/** The golden ratio's part of 2³²: multiples of it are spread evenly. */
export const WEYL = 0x9e3779b9
