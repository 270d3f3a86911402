/** What tunes the rings of a process, as the engine knows it: packages/observe brings it (observer.ts). */

/** Finds good workers, depth and the like for the rings of a process. */
export interface RingTuner {
  /** From now on the ring is tuned. */
  add(ring: TunedRing): void
  remove(id: number): void
  /** It is open who decodes the images of a ring, or no longer. Returns whether it knows the ring. */
  decides(id: number, open: boolean): boolean
  /** Why the images of a ring are decoded where they are; undefined: that is not decided. */
  whyDecoded(id: number): string | undefined
  /** The program has set something itself: that stays. */
  given(id: number, knob: 'workers' | 'depth'): void
  /** The number of workers is given from now on: what is being tried of it is taken back. */
  leaveWorkers(): Promise<void>
}

/** What may be tuned. Never what a batch holds: size, order, seed, window, dtype. */
export type Knob = 'workers' | 'depth' | 'claim' | 'ahead' | 'decode'

/** One setting. Workers are those of all rings. */
export interface Setting {
  ring: number
  knob: Knob
  value: number
  /** Of `decode`: it is decided, for these reasons. */
  found?: string
}

/** A ring that is tuned. */
export interface TunedRing {
  id: number
  /** The run that it belongs to: where another is to decode, the run goes on with another ring. */
  run: string
  feed: string
  /** The process whose loop takes the batches. */
  trainer: number
  /** What may be set: what was not given. */
  may: { workers: boolean; depth: boolean; claim: boolean; decoder: boolean }
  slotBytes: number
  mostDepth: number
  /** What is set at present. `decoder`: twentieths of images that the CPU decodes. */
  now(): {
    workers: number
    depth: number
    ahead: number
    decoder: number
    /** Rows that are claimed at a time, and between which they may be. */
    claim: { rows: number; least: number; most: number }
  }
  set(setting: Setting): void | Promise<void>
}
