/**
 * Spans in memory: who did what, when. Every process that writes spans has one file of them (a memfd): a head, a table of
 * lanes, a table of rings, and for each lane its counters and a ring of records. docs/measure.md shows the layout; Python's copy
 * is generated from this file (npm run generate).
 */

/** What a span is about. The numbers are part of the record. */
export const SpanKind = {
  /** A worker reads the bytes of a claim. */
  Read: 1,
  /** A worker decodes. */
  Decode: 2,
  /** A worker transforms values and writes them into the slot. */
  Transform: 3,
  /** A worker runs a function of the user's, or waits for one. */
  Map: 4,
  /** A worker closes a batch: moves rows, mixes. */
  Close: 5,
  /** A worker opens files, or asks how large they are and when they were changed. */
  Open: 6,
  /** A worker waits for a free slot, a device stage for the GPU, a consumer until a batch is complete. */
  Wait: 7,
  /** There is nothing to do. */
  Idle: 8,
  /** A device stage copies, decodes and transforms a batch, as far as its thread takes part in that. */
  Stage: 9,
  /** The consumer's own work between two batches: a training step. */
  Step: 10,
  /** The consumer takes a batch that is complete. */
  Hand: 11,
  /** The consumer waits until a batch is copied to its device. */
  Copy: 12,
  /** The thread collects garbage, within whatever else it does meanwhile. */
  Gc: 13,
} as const
export type SpanKind = (typeof SpanKind)[keyof typeof SpanKind]

/** The kinds by name, in the order of their numbers. */
export const SPAN_NAMES = [
  ...(['', 'read', 'decode', 'transform', 'map', 'close', 'open'] as const),
  ...(['wait', 'idle', 'stage', 'step', 'hand', 'copy', 'gc'] as const),
] as const
export type SpanName = Exclude<(typeof SPAN_NAMES)[number], ''>

/** Kinds up to this one are work of workers: `stats().spans` and the line after an epoch are about them. */
export const LAST_WORK = 6

/** How much is written: the more, the more it costs. */
export const SpanLevel = {
  /** Sums alone, and a record a second. */
  Counters: 1,
  /** Records; what follows each other within a few milliseconds is joined. */
  Spans: 2,
} as const
export type SpanLevel = (typeof SpanLevel)[keyof typeof SpanLevel]

/** The same by name, in the order of their numbers. */
export const LEVEL_NAMES = ['', 'counters', 'spans'] as const
export type LevelName = Exclude<(typeof LEVEL_NAMES)[number], ''>

/** Who writes a lane. */
export const LaneKind = {
  /** A worker: a thread that makes rows. */
  Maker: 1,
  /** A thread that reads ahead of the workers. None does yet. */
  Reader: 2,
  /** The thread of a device stage. */
  Device: 3,
  /** The loop that takes the batches: a trainer. */
  Consumer: 4,
} as const
export type LaneKind = (typeof LaneKind)[keyof typeof LaneKind]

/** The same by name, in the order of their numbers. */
export const LANE_NAMES = ['', 'worker', 'reader', 'device', 'consumer'] as const
export type LaneName = Exclude<(typeof LANE_NAMES)[number], ''>

/** The first eight bytes of a file of spans. */
export const SPANS_MAGIC = 'MILLSPAN'

/** The version of this layout. */
export const SPANS_VERSION = 2

/** By this name /proc shows the memory of spans among a process's descriptors. */
export const SPANS_NAME = 'millrace-spans'

/** Lanes of a file. The first 256 are those of workers, by their numbers. */
export const LANES = 320

/** The first lane that is no worker's. */
export const FIRST_OTHER_LANE = 256

/** Rings that the table has room for: a new one takes the place of one that is closed. */
export const RINGS = 256

/** Bytes of a record. */
export const RECORD_BYTES = 64

/** Records that a lane keeps: its latest. At the most that are written, 1,000 a second, those of 16 seconds. */
export const RECORDS = 16384

/** Bytes of an entry in the table of lanes. */
export const LANE_BYTES = 64

/** Bytes of an entry in the table of rings. */
export const RING_BYTES = 192

/** Bytes of the counters of a lane: two copies of its own, then two of each of its rings. */
export const COUNTER_BYTES = 4096

/** Bytes of a copy of the counters that a lane has of itself. */
export const OWN_BYTES = 64

/** Bytes of a copy of the counters that a lane has of a ring. */
export const SUM_BYTES = 192

/** Rings that a lane has counters of. The first is ring 0; a new one takes the place of one that is closed, or not used for longest. */
export const SUMS = 9

/** Where the table of lanes begins. */
export const LANES_AT = 128

/** Where the table of rings begins. */
export const RINGS_AT = 20608

/** Where the counters of lane 0 begin. */
export const COUNTERS_AT = 73728

/** Where the records of lane 0 begin. */
export const RECORDS_AT = 1384448

/** For so long (ms) spans are joined; with several rings, as many times as long. Six kinds of work: 1,000 records a second. */
export const JOIN_MS = 6

/** The same where there are only counters. */
export const COUNTERS_JOIN_MS = 1000

/** Byte offsets in the head of the file. */
export const HeadAt = {
  /** u32: SPANS_VERSION. */
  Version: 8,
  /** u32: RECORD_BYTES. */
  RecordBytes: 12,
  /** u32: RECORDS. */
  Records: 16,
  /** u32: RECORDS_AT. */
  RecordsAt: 20,
  /** u32: LANES. */
  Lanes: 24,
  /** u32: LANES_AT. */
  LanesAt: 28,
  /** u32: LANE_BYTES. */
  LaneBytes: 32,
  /** u32: RINGS. */
  Rings: 36,
  /** u32: RINGS_AT. */
  RingsAt: 40,
  /** u32: RING_BYTES. */
  RingBytes: 44,
  /** u32: the process that writes. */
  Pid: 48,
  /** u32: COUNTERS_AT. */
  CountersAt: 64,
  /** u32: COUNTER_BYTES. */
  CounterBytes: 68,
  /** u32: OWN_BYTES. */
  OwnBytes: 72,
  /** u32: SUM_BYTES. */
  SumBytes: 76,
  /** u32: SUMS. */
  Sums: 80,
  /** f64: when the file was made (ms of CLOCK_MONOTONIC). */
  Begun: 56,
} as const

/** Byte offsets in an entry of the table of lanes. */
export const LaneAt = {
  /** i64: records written since the beginning. */
  Written: 0,
  /** u32: LaneKind; 0: the lane was never used. */
  Kind: 8,
  /** u32: which one of its kind. */
  Number: 12,
  /** u32: 1 while a thread writes it. */
  Open: 16,
  /** UTF-8, filled with zeros. */
  Name: 24,
} as const

/** Byte offsets in an entry of the table of rings. */
export const RingAt = {
  /** u32: by which records name the ring; 0: no ring. */
  Id: 0,
  /** u32. */
  Rank: 4,
  /** u32. */
  World: 8,
  /** u32: 1 until the ring is closed. */
  Open: 12,
  /** u32: the process whose workers fill the ring. */
  Engine: 16,
  /** u32: the ring's id in the spans of that process. */
  EngineRing: 20,
  /** f64: when it was opened (ms of CLOCK_MONOTONIC). */
  Begun: 24,
  /** u32: workers that fill it; 0: the consumer's thread does. Changes while it runs, as the depth does. */
  Workers: 32,
  /** u32: slots in use. */
  Depth: 36,
  /** u32: claims that a batch is divided into. */
  Claims: 40,
  /** u32: rows of a batch. */
  Rows: 44,
  /** u32: SpanLevel. */
  Level: 48,
  /** f64: bytes of a slot. */
  SlotBytes: 56,
  /** f64: batches of an epoch, or 0. */
  Steps: 64,
  /** UTF-8, filled with zeros. */
  Name: 72,
  /** u32: the id again. An entry whose two ids differ is being written. */
  Again: 188,
} as const

/** Byte offsets in a record. */
export const RecordAt = {
  /** f64: ms of CLOCK_MONOTONIC. */
  Start: 0,
  /** f64: ms; of joined spans the sum. */
  Duration: 8,
  /** f64: bytes read, or copied. */
  Bytes: 16,
  /** f64: number of the batch in its ring, or −1; of joined spans that of the first. */
  Batch: 24,
  /** f32: ms of CPU time that the thread used since the last record that has this, or NaN. */
  Cpu: 32,
  /** f32: ms that the thread waited for a core in the same time, or NaN. */
  Delay: 36,
  /** u32: first row within the batch; of joined spans that of the first. */
  FirstRow: 40,
  /** u32: rows; of joined spans the sum. */
  Rows: 44,
  /** u32: SpanKind in the low 8 bits, the ring's id in the others; ring 0: about no ring. */
  KindRing: 48,
  /** u32: how many spans were joined into this record. */
  Joined: 52,
  /** u32: 1 + number of the record in its lane (low 32 bits). A reader sees by it what was written over. */
  Number: 56,
  /** u32: CRC-32 of the 60 bytes before it. A record for which it is wrong is half written. */
  Check: 60,
} as const

/** Byte offsets in a copy of the counters that a lane has of itself. All are sums since the beginning. */
export const OwnAt = {
  /** u32: how often it was written. Of two copies that are whole, the one with the higher number holds. */
  Number: 0,
  /** f64: ms of CPU time of the lane's threads, or NaN. */
  Cpu: 8,
  /** f64: ms that they waited for a core, or NaN. */
  Delay: 16,
  /** f64: ms of collecting garbage. */
  Gc: 24,
  /** f64: when CPU time was looked up (ms of CLOCK_MONOTONIC). */
  At: 32,
  /** u32: CRC-32 of the 60 bytes before it. */
  Check: 60,
} as const

/** Byte offsets in a copy of the counters that a lane has of a ring. All but the first two and the time are sums since the beginning. */
export const SumAt = {
  /** u32: how often it was written. */
  Number: 0,
  /** u32: the ring's id, or 0. */
  Ring: 4,
  /** f64: ms of SpanKind 1; those of kind k are 8 · (k − 1) bytes behind. There is room for 15. */
  Ms: 8,
  /** f64: bytes read, or copied. */
  Bytes: 128,
  /** f64: rows of claims; of a consumer, of its steps. */
  Rows: 136,
  /** f64: claims; of a consumer steps, of a device stage batches. */
  Claims: 144,
  /** f64: reads of a store. */
  Reads: 152,
  /** f64: files that were opened or looked up. */
  Opens: 160,
  /** f64: up to when it counts (ms of CLOCK_MONOTONIC). */
  At: 168,
  /** u32: CRC-32 of the 188 bytes before it. */
  Check: 188,
} as const
