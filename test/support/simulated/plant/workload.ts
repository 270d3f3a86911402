/** What a computed run is given: the work, the machine, and what can be set while it runs. */

/** What can be set while it runs. */
export interface PlantSetting {
  /** Makers: 0 means that the trainer makes its rows itself, when it asks for them. */
  workers: number
  /** Batches that may be open at a time, the one that the trainer has among them. */
  depth: number
  /** Rows that a maker takes at a time; the last claim of a batch may have fewer. */
  claimRows: number
  /** Batches ahead of which the storage is told what will be read. */
  ahead: number
}

/** The work and the machine. All of it may change while the run goes on. */
export interface PlantWorkload {
  /** Cores that makers, trainer and neighbours share. */
  cores: number
  /** Rows of a batch. */
  rows: number
  /** ms a sample: CPU, and waiting for storage. */
  cpu: number
  blocked: number
  /** CPU that a claim costs beside its rows (ms). */
  claimCpu?: number
  /** Spread of a claim's cost (standard deviation of its logarithm); samples that cost `slowBy` times as much. */
  spread?: number
  slowShare?: number
  slowBy?: number
  /** Bytes a sample, and what the storage gives to all readers together (bytes/ms). No limit where it is not given. */
  bytes?: number
  bytesPerMs?: number
  /** Share of `blocked` that hints hide, once they reach `hintReach` batches ahead. */
  hintGain?: number
  hintReach?: number
  /** ms a step: the trainer's own work, its spread, how much of it is CPU (0…1), with how many threads, and taking a batch. */
  step: number
  stepSpread?: number
  stepCpu?: number
  stepThreads?: number
  handOver?: number
  /** Ranks that go in step and share makers and cores, and the factor on `step` of each. */
  ranks?: number
  rankSteps?: readonly number[]
  /** Other processes that always want a core. */
  hogs?: number
  /** By what share each maker that runs beyond the cores makes all makers slower: caches, switches. */
  overhead?: number
  /** How the machine's speed varies: standard deviation of its logarithm, with a memory of 2 s. */
  noise?: number
  /** Bytes of a slot, and memory that all slots together may take before the machine gets slow. */
  slotBytes?: number
  memoryBytes?: number
  /** What the evidence gets wrong: factors on CPU time and cores, and spread of each of the machine's signals. */
  told?: { cpu?: number; cores?: number; noise?: number }
}

/** Bytes a sample, where it does not matter. */
export const BYTES = 1e5

/** Claims of a batch. */
export function claimsOf(rows: number, claimRows: number): number {
  return Math.max(1, Math.ceil(rows / Math.max(claimRows, 1e-9) - 1e-9))
}

export function slotBytesOf({ slotBytes, rows, bytes = BYTES }: PlantWorkload): number {
  return slotBytes ?? rows * bytes
}

/** By how much a claim is dearer or cheaper than its rows: spread, and slow samples. */
export function costOf(w: PlantWorkload, rows: number, random: () => number): number {
  const { spread = 0, slowShare = 0, slowBy = 1 } = w
  const spreadBy = spread > 0 ? lognormal(spread, random) : 1
  if (!(slowShare > 0)) return spreadBy
  let cost = 0
  for (let i = 0; i < rows; i++) cost += random() < slowShare ? slowBy : 1
  return (spreadBy * cost) / Math.ceil(rows)
}

/** A factor of mean 1. */
export function lognormal(sigma: number, random: () => number): number {
  return Math.exp(sigma * normal(random) - sigma ** 2 / 2)
}

export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** Numbers of [0, 1) from a seed: mulberry32. */
export function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
