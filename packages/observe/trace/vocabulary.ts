/**
 * How the work of threads is called in a trace: by the categories and names that DFTracer has for machine learning, so that
 * tools which know these find their way. What they don't tell apart is named behind a dot.
 */
import type { LaneName, SpanName } from '../../core/spans/span-words.js'

export interface Word {
  cat: string
  name: string
}

/** Around all that a worker does for one claim. */
export const ITEM: Word = { cat: 'data', name: 'item' }
/** Around all that the trainer waits for one batch. */
export const FETCH: Word = { cat: 'dataloader', name: 'fetch' }
/** An epoch begins. */
export const EPOCH: Word = { cat: 'pipeline', name: 'epoch' }
/** A feed is open, or is filled in another way from here on: workers, depth, rows of a batch, … */
export const FEED: Word = { cat: 'pipeline', name: 'feed' }
/** What arrows are called. */
export const FLOW: Word = { cat: 'flow', name: 'batch' }

/** What the recorder could not write: the name of an event of metadata. */
export const MISSING = 'records_missing'
/** The key of the process's name in DFTracer's metadata of a process (PR). */
export const PROCESS_NAME = 'process_name'

const WORDS: Readonly<Record<SpanName, Word>> = {
  open: { cat: 'data', name: 'io.open' },
  read: { cat: 'data', name: 'io.read' },
  decode: { cat: 'data', name: 'preprocess.decode' },
  transform: { cat: 'data', name: 'preprocess.transform' },
  map: { cat: 'data', name: 'preprocess.map' },
  close: { cat: 'data', name: 'preprocess.close' },
  wait: { cat: 'data', name: 'wait' },
  idle: { cat: 'data', name: 'idle' },
  stage: { cat: 'device', name: 'transfer.stage' },
  step: { cat: 'compute', name: 'step' },
  hand: { cat: 'dataloader', name: 'fetch.hand' },
  copy: { cat: 'device', name: 'transfer' },
  gc: { cat: 'runtime', name: 'gc' },
}

/** Waiting means another thing for each kind of thread. */
const WAITS: Readonly<Record<LaneName, Word>> = {
  worker: { cat: 'data', name: 'wait.slot' },
  reader: { cat: 'data', name: 'wait' },
  device: { cat: 'device', name: 'wait' },
  consumer: { cat: 'dataloader', name: 'fetch.wait' },
}

export function wordOf(kind: SpanName, lane: LaneName): Word {
  return kind === 'wait' ? WAITS[lane] : WORDS[kind]
}
