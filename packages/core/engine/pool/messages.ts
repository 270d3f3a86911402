/** What the pool and its makers say to each other, and the words they share. */
import type { MessagePort } from 'node:worker_threads'
import { MAX_MAKERS } from '../../batch/ring.js'
import type { LaneRef } from '../../spans/file.js'
import type { BadReport, Job } from '../plan/job.js'

/** Words that the pool shares with its makers. */
export const PoolWord = {
  /** Counts everything that may give a maker something to do; idle makers wait on it. */
  Wake: 0,
  /** Makers with a number of at least this much sleep: the pool was made smaller. */
  Awake: 1,
  /** 1 when the pool ends. */
  Stop: 2,
  /** Counts what was put into the inboxes: looking into one costs more than reading a word. */
  Inbox: 3,
  /** Until when makers take no claims: ms of CLOCK_MONOTONIC, its low 32 bits; 0: they work. See rest.ts. */
  Rest: 4,
  /** From here on, one word a maker: where it is in its life. */
  Life: 16,
  /** From here on, one word a maker: the ring whose job it is taking up, which may take long; 0: none. */
  Taking: 16 + MAX_MAKERS,
} as const

/** A maker is not there, is being started (which must not be cut short, see Pool), or runs. */
export const Life = { None: 0, Starting: 1, Running: 2 } as const

export interface MakerData {
  maker: number
  words: Int32Array
  /** Where it writes spans; undefined: nowhere. */
  spans: LaneRef | undefined
  /** Which files are mapped where. */
  mappings: SharedArrayBuffer
  /** Keeps it from being terminated in certain native calls. */
  terminationGuard: Int32Array
  /** From the pool: jobs to take up and to leave, cores to run on. */
  inbox: MessagePort
  /** To the pool: bad samples, and what went wrong with a job. */
  outbox: MessagePort
}

/** What the pool says to a maker. */
export type ToMaker =
  | { take: Job }
  | { leave: number }
  /** The cores to run on; null: as before it was bound. */
  | { bind: readonly number[] | null }

/** What a maker says to the pool. */
export type FromMaker =
  | { bad: BadReport }
  | { failed: { ring: number; message: string; tag?: string } }
  /** A function of the user's has failed after it had returned: which rings have such functions, and what to say. */
  | { late: { rings: number[]; message: string } }
  | { took: number }
  /** It could not be bound to cores, and why. */
  | { unbound: string }
