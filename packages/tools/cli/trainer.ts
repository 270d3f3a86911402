/**
 * A trainer without a GPU: takes batches, "computes" for a given time, and records how long it waited and computed.
 * `run` and `demo` show by it whether a feed keeps up, and write the exactly-once audit with it.
 */
import type { Batch } from '../../core/deliver/node/batch.js'
import type { Loader } from '../../core/deliver/node/loader.js'
import { sleep } from '../bench/measure/sleep.js'

/** One step: when the trainer asked for its batch, how long it waited, how long it computed (ms). */
export interface TrainerStep {
  start: number
  wait: number
  compute: number
}

export interface TrainerResult {
  /** How many there were, and their times: of an endless trainer those of the latest. */
  count: number
  steps: TrainerStep[]
  samples: number
  seconds: number
  /** Share of the time spent waiting, and in (simulated) compute; both without the first step. */
  waitFraction: number
  au: number
}

export interface TrainerOptions {
  /** Length of a step in ms; 0: nothing is computed. */
  stepMs: number
  /** Of a trainer that goes on without end: only its latest steps are kept. */
  endless?: boolean
  /** Ends the loop after its step, or while it waits. */
  signal?: AbortSignal
  /** Called with every batch before it is "computed". */
  onBatch?: (batch: Batch, step: number) => void
  /** Called after every step. */
  onStep?: (step: number) => void
}

/** Steps that an endless trainer keeps. */
const KEPT = 10_000

/** Goes through `loops` loops over the loader. */
export async function train(loader: Loader, loops: number, options: TrainerOptions): Promise<TrainerResult> {
  const steps: TrainerStep[] = []
  let count = 0
  let samples = 0
  const begun = performance.now()
  let asked = begun
  for (let loop = 0; loop < loops; loop++) {
    for await (const batch of until(loader, options.signal)) {
      const got = performance.now()
      options.onBatch?.(batch, count)
      samples += batch.samples
      sleep(options.stepMs)
      options.onStep?.(count++)
      const done = performance.now()
      steps.push({ start: asked - begun, wait: got - asked, compute: done - got })
      if (options.endless && steps.length >= 2 * KEPT) steps.splice(0, KEPT)
      asked = done
    }
  }
  const later = steps.slice(1)
  const wait = later.reduce((sum, step) => sum + step.wait, 0)
  const wall = later.reduce((sum, step) => sum + step.wait + step.compute, 0)
  return {
    count,
    steps,
    samples,
    seconds: (performance.now() - begun) / 1000,
    waitFraction: wall > 0 ? wait / wall : 0,
    au: wall > 0 && options.stepMs > 0 ? Math.min(1, (later.length * options.stepMs) / wall) : 0,
  }
}

/** The batches of a loop, until the signal comes: also while one is waited for that never comes. */
async function* until(loader: Loader, signal: AbortSignal | undefined): AsyncGenerator<Batch> {
  const batches = loader[Symbol.asyncIterator]()
  let wake = (): void => {}
  signal?.addEventListener('abort', () => wake())
  while (!signal?.aborted) {
    // A promise a step, not one for all: each of its races would stay in memory.
    const next = await new Promise<IteratorResult<Batch> | undefined>((resolve, reject) => {
      wake = () => resolve(undefined)
      batches.next().then(resolve, reject)
    })
    if (next === undefined || next.done) return
    yield next.value
  }
}
