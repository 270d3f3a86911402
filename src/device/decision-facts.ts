/**
 * By which numbers it is decided who decodes images with `decode: "auto"`, in Node (decision.ts) and in Python.
 * Python's copy (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/**
 * What comes before a trial says nothing yet, at least so many steps and seconds: batches are on their way, and the
 * workers, which fill their ring anew, are busier than they will be.
 */
export const SETTLING = { steps: 10, seconds: 1.5 } as const

/** What a trial takes at least. */
export const MEASURING = { steps: 20, seconds: 1.5 } as const

/** A trainer that waits for less than this share of the time is fed well enough. */
export const FINE = 0.02

/** A way that costs the trainer more must be this much faster to be worth it. */
export const BETTER = 1.01

/** When both decode, the CPU gets so much of what it managed alone. */
export const LESS = 0.9

/** Shares of the CPU are rounded to this part of one. */
export const SHARES = 20
