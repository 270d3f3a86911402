/**
 * What explains a run: where the time of its steps went, and why. The engine writes spans and does without; packages/observe
 * brings it (packages/all/registry.ts), and the first feed that is opened loads it.
 */
import type { FeedPlan } from '../engine/plan/plan.js'
import type { Feeding } from '../engine/ring/feeding.js'
import type { OpenedOptions } from './options.js'
import type { RingTuner } from './ring-tuner.js'
import type { AccountRequest } from './serve/request.js'
import type { FeedingStats } from './stats.js'

/** Types of what an observer says, by name. It adds them (`declare module`); here they are plain data. */
// biome-ignore lint/suspicious/noEmptyInterface: packages/observe has what is in it
export interface ObservedTypes {}

export type Observed<Name extends string> = Name extends keyof ObservedTypes ? ObservedTypes[Name] : object

export interface Observer {
  /** Accounts of a loop in this process. Its feed was opened at `begun` (ms of CLOCK_MONOTONIC); `gpu`: it uses one. */
  loop(begun: number, gpu: boolean): LoopObserver
  /** Accounts of a client. `trainer`: its process. */
  client(trainer: number): Promise<ClientObserver>
  /** Looks at a run once a second, and writes the log that its options want. Rejects where it can't be written. */
  watch(run: WatchedRun): Promise<RunWatch>
  /** The tuner of this process. `mayTuneWorkers`: whether no open feed of it fixes the number of workers. */
  tuner(mayTuneWorkers: () => boolean): Promise<RingTuner>
}

/** A loop of this process. */
export interface LoopObserver {
  /** A batch of a ring was handed out. */
  handed(ring: number, step: TakenStep): void
  /** The program is done with it (ms of `performance.now()`). */
  stepped(now: number): void
  /** The loop's thread collected garbage, some time ago. */
  collected(start: number, duration: number): void
  /** The part of `stats()` that explains. */
  accounts(beside: Beside): Observed<'accounts'>
  metrics(beside: Beside): Record<string, number>
  evidence(beside: Beside): Observed<'evidence'>
  /** Looks at the loop for some seconds. */
  diagnose(ring: number, seconds: number): Promise<Observed<'diagnosis'>>
  close(): void
}

/** What is special about a step: it is the first of the run, or of a later epoch. */
export type StepMark = 'first' | 'epochStart' | undefined

/** A step whose batch the program has; times in ms of this thread's `performance.now()`. */
export interface TakenStep {
  asked: number
  /** When the batch was complete; and when it was on the device, where that is another. */
  completed: number
  arrived: number
  got: number
  samples: number
  /** Which step of its epoch it is. */
  stepInEpoch: number
  mark: StepMark
}

/** What a loader knows of its run beside times. */
export interface Beside extends Pick<FeedingStats, 'workers' | 'depth' | 'slotBytes' | 'cache'> {
  rank: number
  world: number
  device?: { name: string; decode: 'cpu' | 'gpu' | 'both' }
}

/** A client whose ring is served. */
export interface ClientObserver {
  /** A run or an epoch begins: its sums refer to this moment by the number. */
  lookAt(number: number): void
  /** Called a few times a second. */
  watch(): void
  /** The account of a window, and what it means, as the protocol has it. */
  tell(ring: ServedRing, request: AccountRequest): object
  close(): void
}

/** The ring of a client. */
export interface ServedRing {
  feeding: Feeding
  options: OpenedOptions
  opened: { plan: FeedPlan }
}

/** A run that is watched from its engine's process. */
export interface WatchedRun {
  /** Its ring: another one takes over where another is to decode. */
  feeding(): Feeding
  options: OpenedOptions
  hashes: { order: string; content: string }
  /** The process whose loop takes the batches. */
  trainer: number
  /** Whether the trainer uses a GPU. */
  gpu: boolean
  /** In the trainer's process: batches handed out since the ring was last moved, and bad samples. */
  handed?: () => number
  bad?: () => number
}

export interface RunWatch {
  /** The file of the run log. */
  readonly logFile: string | undefined
  /**
   * Calls the listener once a second, until the function that it returns is called. `idealMs`: how long a step takes with its
   * batch at hand, where that is known.
   */
  listen(listener: (watched: Observed<'watched'>) => void, idealMs?: number): () => void
  close(reason: string): void
}

let load: (() => Promise<Observer>) | undefined

/** Says who explains runs. */
export function useObserver(from: () => Promise<Observer>): void {
  load = from
}

/** Loads what explains runs. Undefined: this program has nothing that does. */
export async function loadObserver(): Promise<Observer | undefined> {
  return load?.()
}
