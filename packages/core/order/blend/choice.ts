/** The contract of a choice among the sources of a blend, and the plain data from which any thread makes it. */

export type ScheduleKind = 'shuffled' | 'deficit'

/** What a unit draws from, and how many units that had before. */
export interface Pick {
  one: number
  before: number
}

/** A choice for each unit, counted from where its weights begin to hold. */
export interface Choice {
  at(unit: number, out: Pick): Pick
  /** Units of each before a unit. */
  counts(unit: number): Float64Array
}

/** Plain data of a choice by weights; its larger table is shared, and made when it is first needed. */
export interface ChoiceData {
  kind: ScheduleKind
  /** Units of each in a round of 2^20. */
  shares: Uint32Array
  /** Names the choice, and the first unit that it is for: keys of its shuffles. */
  stream: string
  from: number
  /** Shuffled: extra units of each before each block of a round. */
  extras?: Uint16Array
  /** Deficit: the whole cycle. */
  cycle?: Cycle
}

/** One cycle of a deterministic choice, in shared memory: for each unit its source, and how many that had before in the cycle. */
export interface Cycle {
  units: number
  shares: Uint32Array
  labels: Uint16Array
  ranks: Uint32Array
}
