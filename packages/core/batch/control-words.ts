/**
 * What lies where on the control page of a ring. Python's copy (python/millrace/_generated/) and the table in
 * docs/protocol.md are generated from this file: npm run generate.
 */

/** Bytes of the control page. */
export const CONTROL_BYTES = 65536

/** Slots of a ring at most. */
export const MAX_DEPTH = 32

/** Workers of a ring at most. */
export const MAX_MAKERS = 256

/** Chunks of one batch at most; a larger batch has larger ones. */
export const MAX_CHUNKS = 2048

/** Claims that can wait to be made again: all chunks of a batch. */
export const MAX_REDO = MAX_CHUNKS

/** Poisoned rows that are remembered: of old ones the batches are long delivered. */
export const MAX_POISON = 32

/** 32-bit words of the control page. */
export const Word = {
  /** Slots that may be in use. Can change while running. */
  Depth: 0,
  /** Slots given back so far (wraps). */
  Released: 1,
  /** Batches completed so far (wraps). The consumer waits on it. */
  Completed: 3,
  /** 1 while nothing may be claimed: the ring is being moved or closed. */
  Paused: 4,
  /** Generation: counts moves of the ring. Workers then read the start anew. */
  Generation: 5,
  /** Counts claims that were put on the list of those to be made again (wraps). */
  Redo: 6,
  /** How many rows are poisoned. */
  Poisoned: 7,
  /** Version of the job that workers must have: another order came with it. */
  Version: 8,
  /** The value of Redo at which that list was last found empty. */
  RedoSeen: 9,
  /**
   * Chunks of a batch that are claimed together, less one: bits 0–6 from the batch on whose low bits are bits 14–31, bits 7–13 before it.
   * So makers of one batch all claim alike, although it changes while they run.
   */
  Stride: 10,
  /** Workers that take claims at present. */
  Makers: 11,
  /** Rows between the claims of all workers and the one that is hinted to the stores, while reads are slow. Can change while running. */
  Ahead: 12,
  /**
   * Who is to decode images, where that is open: 1 + the twentieths of them that the CPU decodes; 0: as it is. The consumer
   * carries it out, by another ring. DECODER_FOUND is added when it is decided.
   */
  Decoder: 13,
  /** Slot of batch k, at k modulo MAX_DEPTH. */
  TableSlot: 32,
  /** Low 32 bits of k + 1 once batch k has a slot, at k modulo MAX_DEPTH. */
  TableBatch: 64,
  /** Worker + 1 while it opens the batch of that place. */
  Opening: 96,
  /** Of slot s: 0, it is free; worker + 1 while that one opens a batch in it; HELD by a batch or its consumer. */
  Holder: 128,
} as const

/** Byte offsets of the wider columns of the control page. */
export const At = {
  /** f64: heartbeat, the engine's CLOCK_MONOTONIC in seconds. */
  Beat: 640,
  /** f64[3]: epoch, position and limit of the ring's start. */
  Start: 1024,
  /** i64: the next claim. */
  Claim: 1088,
  /** i64[MAX_MAKERS]: what each worker holds, a claim's word; negative while it is about to take it; 0: nothing. */
  Claims: 2048,
  /** f64[MAX_POISON]: rows that killed two workers, as batch × rows + row. */
  Poison: 4608,
  /** f64[MAX_MAKERS]: since when each worker is at its present row, in ms since 1970; 0: at none. */
  Since: 8192,
  /** i32[MAX_MAKERS]: which row of its batch that is. */
  Row: 10240,
  /** f64[MAX_MAKERS]: bytes that each worker has read. */
  Bytes: 12288,
  /** i64[MAX_REDO]: claims to be made again. */
  Redo: 16384,
} as const

/**
 * Bits of a claim's word that are the number of its first chunk + 1. The next PASS_BITS tell how often its batch was begun again,
 * the next GENERATION_BITS after how many moves of the ring, and those above these how many chunks it has, less one.
 */
export const CLAIM_BITS = 40n
export const PASS_BITS = 8n
export const GENERATION_BITS = 8n

/** Chunks of one claim at most. */
export const MAX_STRIDE = 128

/** Added to the word `Decoder`: it stays so. */
export const DECODER_FOUND = 256

/** A word `Holder` of a slot that has a batch. */
export const HELD = -1
