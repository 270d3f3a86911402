/**
 * The exactly-once audit: one JSON line a step, `{"epoch","step","rank","position","ids"}`, and the state after the
 * last finished step. Together they survive a kill at any moment: lines that the state does not cover are cut off
 * when the run is resumed, so that the file always tells of each sample once.
 */
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Batch } from '../deliver/batch.js'
import { StateError } from '../errors.js'
import { encodeState, readState, type State } from '../order/state.js'
import type { Place } from '../order/steps.js'
import { writeWhole } from '../system/draft.js'

/** Appends to a log of ids. */
export class IdLog {
  private readonly fd: number

  /** Begins a new log; or, resuming at `from`, goes on with an old one, without what lies behind that place. */
  constructor(
    path: string,
    private readonly rank: number,
    from?: Place,
  ) {
    this.fd = openSync(path, from && existsSync(path) ? 'r+' : 'w')
    if (from) ftruncateSync(this.fd, coveredBytes(readFileSync(path, 'utf8'), from))
  }

  add(batch: Batch): void {
    const { epoch, step, position, ids } = batch
    const line = JSON.stringify({ epoch, step, rank: this.rank, position, ids })
    writeSync(this.fd, `${line}\n`, fstatSync(this.fd).size)
  }

  close(): void {
    closeSync(this.fd)
  }
}

/** Length of the lines before a place. A line cut short by a kill is not among them. */
function coveredBytes(text: string, { epoch, position }: Place): number {
  let at = 0
  for (;;) {
    const end = text.indexOf('\n', at)
    if (end < 0) break
    const line = JSON.parse(text.slice(at, end)) as Place
    if (line.epoch > epoch || (line.epoch === epoch && line.position >= position)) break
    at = end + 1
  }
  return Buffer.byteLength(text.slice(0, at))
}

export function loadState(path: string): State {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new StateError(`can't read the state ${path}: ${(cause as Error).message}`, { cause })
  }
  return readState(text)
}

export function saveState(path: string, state: State): void {
  writeWhole(path, `${encodeState(state)}\n`, false)
}
