/**
 * What is known of a window of a run: all that accounting, model and verdicts are made of. Plain JSON: a window that is
 * written to a file can be judged again, anywhere. Times are ms, on CLOCK_MONOTONIC where they are points in time.
 */

export interface Evidence {
  version: 1
  /** The window. */
  from: number
  to: number
  facts: Facts
  /** Steps of the trainer, oldest first. */
  steps: StepTimes[]
  /** What each maker did, in slices of some 50 ms or more. */
  makers: MakerSlice[]
  /** What the machine did in the window. Null: it was not looked at. */
  host: HostSignals | null
  /** Single claims, oldest first (some thousand at most). Slices alone hide slow samples. Claims of some µs are told joined. */
  claims?: ClaimTimes[]
  /** Results of experiments. */
  probes: Probes
  /** The ranks of the run, where more than one was seen. */
  ranks?: RankTimes[]
  /** Records that were written over before they could be read. */
  lost: number
  /** ms from the end of the last step to that of the window, of a trainer that runs: a wait that goes on is written nowhere. */
  silentMs?: number
  /** Waits for a batch (ms, how many steps waited about so long), where steps are joined: percentiles are made of them. */
  waits?: [ms: number, steps: number][]
  /** Where rows share units: how many were found in the cache, waited for, and loaded. */
  cache?: { hits: number; waits: number; loads: number }
}

/** How the run was set up. */
export interface Facts {
  /** Makers at work: 0 means that the consumer makes the rows itself. */
  workers: number
  depth: number
  /** Claims that a batch is divided into. */
  claims: number
  /** Rows of a batch. */
  rows: number
  slotBytes: number
  rank: number
  world: number
  /** Cores that makers and trainer may use: affinity and the control group's quota. A fraction where a quota is one. */
  cores: number
  /** Where batches go, and who decodes there. */
  device?: { name: string; decode: 'cpu' | 'gpu' | 'both' }
  /** Bytes of the whole source where known, and memory that the page cache could still take. */
  sourceBytes?: number
  freeBytes?: number
  /** When the feed was opened (ms of CLOCK_MONOTONIC). */
  begun?: number
  /**
   * What of the start is the data's (ms): opening the sources, and the work of the slowest maker until the first batch was
   * there. The rest is what threads and code take to start. `indexes`: how many were made, since none was there.
   */
  start?: { opening: number; making: number; indexes?: number }
  /** A loader that is not ours (`diagnose --loader`): its makers are processes; whether they live from epoch to epoch. */
  foreign?: string
  persistent?: boolean
}

/** One step of the trainer, or several that were joined: then times are sums. */
export interface StepTimes {
  /** When the batch was asked for. */
  asked: number
  /** The batch was not complete: from asked until it was. */
  supply: number
  /** The batch was complete: from then until the trainer had it. */
  handOver: number
  /** The trainer waited for the copy to the device. */
  transfer: number
  /** From got to the next request: the trainer's own work. */
  compute: number
  samples: number
  /** Steps joined here; usually 1. */
  count: number
  /** The first batch of the run; the first of a later epoch. */
  first?: boolean
  epochStart?: boolean
  /** Whether the batch was complete when it was asked for. */
  ready?: boolean
  /** Garbage collection of the trainer's process within the waits of this step. */
  gc?: number
}

/** Kinds of a maker's work (ms). */
export interface MakerWork {
  open: number
  read: number
  decode: number
  transform: number
  map: number
  close: number
}

/** What one maker did between two looks at its CPU time. */
export interface MakerSlice {
  maker: number
  from: number
  to: number
  work: MakerWork
  /** Waiting for a free slot, and having nothing to do. */
  wait: number
  idle: number
  /** CPU time, and waiting for a core. Null: the system does not say. */
  cpu: number | null
  delay: number | null
  gc: number
  bytes: number
  rows: number
  claims: number
  reads: number
  opens: number
}

/** One claim of a maker: how long it worked on it (ms, running, queued and blocked together), and its rows. */
export interface ClaimTimes {
  ms: number
  rows: number
}

/** What the machine did between two looks. Cores are numbers of cores: 1.5 is one and a half cores busy. */
export interface HostSignals {
  seconds: number
  /** Cores that we may use, and how busy each of them was (0…1). */
  allowed: number
  coreBusy: number[]
  idleCores: number
  /** Cores used by the engine's threads, by the trainer's process apart from them, and by all others on the allowed cores. */
  engineCores: number
  trainerCores: number
  otherCores: number
  /** Share of the time in which the trainer's thread wanted a core and had none. Null: the system does not say. */
  trainerDelay?: number | null
  /** Share of the time in which some task waited: PSI. Null: the kernel does not say. */
  psi: { cpu: number | null; io: number | null; memory: number | null }
  /** Share of the time in which the control group was throttled. */
  throttled: number | null
  rssBytes: number
  pageCacheBytes: number | null
  memoryLimitBytes: number | null
  /** Bytes of files that had been in memory, were taken back, and were read again: of the control group, or of the machine. */
  refaultBytes?: number | null
  /** Bytes that came from the disk, and all bytes read: of the engine's process. */
  diskBytes: number | null
  readBytes: number | null
  gpu?: {
    name: string
    hasWork: number | null
    smActive: number | null
    memoryBytes: number | null
    watts: number | null
  }
}

/** Experiments. Each is there only if it was made. */
export interface Probes {
  /** A step with its batch at hand and makers at rest (ms), and how that was found: `held` in recordings of before alone. */
  ideal?: { ms: number; from: 'given' | 'held'; steps: number }
  /** A step with its batch at hand while makers were at work (ms). */
  atWork?: { ms: number; steps: number }
  /** Samples/s before and with twice the reads in flight, in turns. */
  doubled?: { workers: number; doubledWorkers: number; before: number[]; after: number[] }
  /** The same batches made twice in a process of their own: samples/s of the second time. */
  cached?: { samplesPerSecond: number; batches: number }
  /** Share of sampled rows whose bytes are absent from the page cache. */
  absent?: { share: number; rows: number }
  /** Steps of another batch size. */
  otherBatch?: { rows: number; stepMs: number }
  /** Most bytes/s that the storage gave in the window or in an experiment. */
  bytesPerSecond?: number
}

/** One rank of the run, as the others see it. */
export interface RankTimes {
  rank: number
  steps: number
  /** Means of a step. */
  supplyMs: number
  computeMs: number
  /** Samples/s that its makers could make: while they were at work. */
  capacity: number | null
}

/** Where a step's time went: shares that add up to 1. The last four are supply. */
export interface Parts {
  ideal: number
  slowed: number
  handOver: number
  transfer: number
  running: number
  queued: number
  blocked: number
  noSlot: number
}

/** One accounting of every step. */
export interface Accounting {
  steps: number
  samples: number
  seconds: number
  samplesPerSecond: number
  /** Means of a step (ms). `ideal` says where it is from; `upper` means that the true one may be smaller. */
  stepMs: number
  idealMs: number
  idealFrom: 'given' | 'held' | 'upper'
  /** 1 − ideal / step. */
  lost: number
  parts: Parts
  /** 95 % intervals of the parts, over blocks of steps. Null: too few steps. */
  intervals: Record<keyof Parts, [number, number]> | null
  /** Wait for a batch per step (ms): supply and hand-over together. `over50us`: share of the steps that waited longer than 0.05 ms. */
  wait: { mean: number; p50: number; p95: number; p99: number; max: number; over50us: number }
  /** Accelerator utilisation as DLIO's code counts it (measured compute / wall, first step left out), and by its rules (ideal × steps / wall). */
  au: { dlio: number; nominal: number }
  /** From the opening to the first batch, where the window has it; the mean wait for the first batch of a later epoch. */
  firstBatchMs: number | null
  epochGapMs: number | null
  /** Share of all waiting that fell on the first batch and on epoch starts. */
  startUpShare: number
  /** Shares of the makers' time: of work within it, then running + queued + blocked + noSlot = 1. */
  makers: {
    running: number
    queued: number
    blocked: number
    noSlot: number
    /**
     * How work was divided: by CPU time and run delay; by kinds, where the system does not say these (opening and reading
     * count as blocked, all else as running); or not at all, since no maker was seen (then all supply counts as noSlot).
     */
    from?: 'cpu' | 'kinds' | 'none'
    /** ms a sample by kind of work; the largest is `stage`. */
    work: MakerWork
    stage: keyof MakerWork | null
    cpuMsPerSample: number | null
    delayMsPerSample: number | null
    blockedMsPerSample: number | null
  }
  io: {
    bytes: number
    bytesPerSecond: number
    meanRead: number | null
    opens: number
    /** Opening as a share of opening and reading. */
    openShare: number
    /** Share of the wanted units that were in the cache. Null: there is none. */
    cacheHits: number | null
  }
  /** Garbage collection of the trainer's process within its waits. */
  gcMs: number
  host: HostSignals | null
}

/** A thing that can be changed. */
export interface Change {
  workers?: number
  depth?: number
  /** Factors on what was measured: 0.5 = half. */
  cpuPerSample?: number
  blockedPerSample?: number
  bytesPerSample?: number
  bytesPerSecond?: number
  /** Cores for the makers. */
  cores?: number
  stepMs?: number
}

export interface Prediction {
  /** Samples/s, and a step's length (ms). */
  samplesPerSecond: number
  stepMs: number
  lost: number
  /** New rate / old rate − 1, with its 95 % interval. */
  gain: number
  interval: [number, number]
  /** What limits then. */
  bound: 'makers' | 'cores' | 'bytes' | 'trainer'
}

export type VerdictName =
  | 'compute-bound'
  | 'launch-bound'
  | 'crowding-trainer'
  | 'hand-over'
  | 'transfer-bound'
  | 'start-up'
  | 'storage-bandwidth'
  | 'cache-warm-up'
  | 'io-latency'
  | 'small-files'
  | 'your-function'
  | 'under-parallel'
  | 'cpu-saturated'
  | 'crowded-host'
  | 'variance'
  | 'straggler'
  | 'memory-pressure'
  | 'runtime-pause'
  | 'inconclusive'
  /** No test matched: the largest part is named as it is. */
  | 'slowed'
  | 'running'
  | 'queued'
  | 'blocked'
  | 'no-slot'

export interface Remedy {
  /** In words, with the exact option or command. */
  action: string
  command?: string
  /** As `loader.tune()` takes it, where it is a setting. */
  set?: { workers?: number; depth?: number }
  predictedGain: number | null
  interval: [number, number] | null
  warning?: string
}

export interface Diagnosis {
  verdict: VerdictName
  second: VerdictName | null
  /** The stage of makers' work that takes most, where that matters. */
  stage: keyof MakerWork | null
  parts: Parts
  /** The numbers that decided, in words. */
  evidence: string[]
  /** The most that fixing the data could gain: step / ideal − 1. Null: without a trainer (a step of no length) there is no bound. */
  ceiling: number | null
  lost: number
  /** Workers in the window. */
  workers?: number
  remedies: Remedy[]
}
