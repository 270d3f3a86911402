/**
 * One thread's part of a measure: blocking calls until the time is over, as workers make them. All threads get ready,
 * begin together, and take the next operation from one list. Before each read, the thread asks whether the bytes are absent
 * from the page cache. Then all threads read again what they have read, without asking: that is the speed of the page cache.
 */
import { Gate } from './gate.js'
import { Lane, type Run } from './lane.js'
import { type ProbeTask, type Work, workOf } from './work.js'

/** What a thread did. */
export interface TaskRuns {
  first: Run[]
  /** From the page cache. */
  again: Run[]
}

/** The share of the time for the first reads. */
const FIRST = 0.8
/** The second reads take no longer than this (ms): memory is fast. */
const AGAIN_MS = 200
/** So many operations are made a second time, over and over, and a few by each thread at least. */
const AGAIN = 64
const LEAST_AGAIN = 4

export function runTask(task: ProbeTask): TaskRuns {
  const gate = new Gate(task.gate, task.threads)
  let work: Work | undefined
  try {
    work = workOf(task)
    const [first, again] = [new Lane(), new Lane()]
    const made = gate.pass() ? readOnce(task, work, gate, first) : []
    if (work.again !== undefined && gate.pass()) readAgain(task, made, work.again, gate, again)
    return { first: first.runs, again: again.runs }
  } catch (error) {
    gate.fail()
    throw error
  } finally {
    work?.close()
  }
}

/** Does what this thread gets of the work, each operation once. Returns which of them can be made again. */
function readOnce({ ms, thread, threads }: ProbeTask, work: Work, gate: Gate, lane: Lane): number[] {
  const open = timeOf(FIRST * ms, gate)
  const made: number[] = []
  // Each has one of its own, also where the others have done all before it began.
  for (let i = thread; i < work.count && (made.length === 0 || open()); i = threads + gate.next()) {
    work.first(i, lane, open)
    if (made.length < AGAIN) made.push(i)
  }
  return made
}

function readAgain(
  { ms }: ProbeTask,
  made: readonly number[],
  read: Work['first'],
  gate: Gate,
  lane: Lane,
): void {
  const open = timeOf(Math.min((1 - FIRST) * ms, AGAIN_MS), gate)
  for (let n = 0; made.length > 0 && (n < LEAST_AGAIN || open()); n++) read(made[n % made.length], lane, open)
}

/** Whether there is time left. It counts from the moment when all threads are at work. */
function timeOf(ms: number, gate: Gate): () => boolean {
  gate.begin()
  let until: number | undefined
  return () => {
    if (until === undefined && gate.allBegun) until = performance.now() + ms
    return until === undefined || performance.now() < until
  }
}
