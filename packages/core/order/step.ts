/** What a step is: where a run stands between two of them, what one rank takes of an epoch, and which samples make its part. */

/** A place between two steps: everything before it has been handed out. The end of an epoch is (epoch + 1, 0). */
export interface Place {
  epoch: number
  position: number
}

/** What one rank takes of an epoch. */
export interface StepShare {
  /** Positions in an epoch. */
  length: number
  world: number
  rank: number
  /** Rows of a step on one rank. */
  batch: number
  last: 'drop' | 'keep' | 'pad'
  /** Batches by tokens: positions count bins, a step of one rank is a bin, and `length` and `batch` say nothing of steps. */
  bins?: StepBins
}

/** The bins of each epoch. */
export interface StepBins {
  count(epoch: number): number
  /** Where a bin begins, on the line of the epoch's samples. */
  first(epoch: number, bin: number): number
}

export interface StepLimits {
  start: Place
  /** Epochs to go through, the one begun by `start` included. Null or absent: no limit. */
  epochs?: number | null
  steps?: number
}

/** One step of one rank. */
export interface RankStep {
  epoch: number
  /** Counted from the epoch's beginning in steps of this size, also where a run was taken up in the middle. */
  stepInEpoch: number
  /** First position of the step, all ranks together. */
  position: number
  /** First sample of the step on the epoch's line of samples: the position itself, where that counts samples. */
  from: number
  /** First sample of this rank. With `pad` it may lie beyond the epoch's end: then all its rows are fillers. */
  first: number
  /** Rows of this rank, fillers included. */
  count: number
  /** How many of them are real; they come first, at places first, first + 1, … of the epoch's line of samples. */
  valid: number
  /** The place of the sample that stands in for row `row` ≥ valid. */
  filler(row: number): number
  /** Where a run goes on that ends after this step. */
  nextState: Place
}

export interface StepPlan {
  /** Where it starts. A place from which no step of its epoch is left is the beginning of the next one. */
  readonly start: Place
  /** How many steps there are from the start: Infinity when nothing limits them. */
  readonly total: number
  /** Steps left of the epoch in which the plan starts, by the tail rule alone. */
  readonly stepsInFirstEpoch: number
  /** Steps of every epoch after it. */
  readonly stepsInEpoch: number
  /** Where the plan ends; undefined when it never does. */
  readonly end: Place | undefined
  /** Step s, counted from the start, through all epochs. */
  at(step: number): RankStep
}
