/**
 * When a wait counts as a stall, and when a loss counts. Python's copy of STALL (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** A wait longer than this (ms) counts as a stall; shorter ones are the price of asking. */
export const STALL = 0.05

/** A trainer that loses less than this share of the time is fed well enough. */
export const FINE = 0.02
