/**
 * What the engine and its clients agree on beside the memory (docs/protocol.md), and options that a feed has in Node and in
 * Python. Python's copy (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** Version of the protocol. Both sides refuse another one by name. */
export const PROTOCOL = 3

/** Milliseconds between two heartbeats of the engine. */
export const HEARTBEAT = 250

/** Batches made ahead, unless the option `depth` says otherwise. */
export const DEPTH = 4

/** Seconds that one sample may take, unless the option `timeout` says otherwise. */
export const TIMEOUT = 60

/** A wait longer than this (ms) counts as a stall; shorter ones are the price of asking. */
export const STALL = 0.05
