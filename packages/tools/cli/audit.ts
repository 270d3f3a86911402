/**
 * The exactly-once audit: one JSON line a step, `{"epoch","step","rank","position","ids"}`, and the state after the
 * last finished step. Together they survive a kill at any moment: lines that the state does not cover are cut off
 * when the run is resumed, so that the file always tells of each sample once.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MillraceError, StateError } from '../../core/basics/errors.js'
import type { Batch } from '../../core/deliver/node/batch.js'
import { encodeState, readState, type State } from '../../core/order/state.js'
import type { Place } from '../../core/order/steps.js'
import { writeWhole } from '../../core/system/files/draft.js'
import { readRegular } from '../../core/system/files/regular.js'

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
    if (from) ftruncateSync(this.fd, coveredBytes(path, from))
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
function coveredBytes(path: string, { epoch, position }: Place): number {
  const text = readFileSync(path, 'utf8')
  let at = 0
  for (;;) {
    const end = text.indexOf('\n', at)
    if (end < 0) break
    const line = placeOf(text.slice(at, end), path)
    if (line.epoch > epoch || (line.epoch === epoch && line.position >= position)) break
    at = end + 1
  }
  return Buffer.byteLength(text.slice(0, at))
}

function placeOf(line: string, path: string): Place {
  try {
    const place = JSON.parse(line) as Partial<Place> | null
    if (place?.epoch !== undefined && place.position !== undefined) return place as Place
  } catch {
    // said below
  }
  throw new StateError(
    `${path} is no log of ids, so it can't be continued: give --ids another file, or remove this one`,
  )
}

/** Better to hear now than after the run that a file can't be written, or replaced by another (`byRename`). */
export function checkPlace(option: string, path: string | undefined, byRename: boolean): void {
  if (path === undefined) return
  const folder = dirname(resolve(path))
  const refuse = (why: string) => new MillraceError(`${option} ${path}: ${why}`)
  if (!existsSync(folder)) throw refuse(`there is no folder ${folder}`)
  const there = statSync(path, { throwIfNoEntry: false })
  if (there?.isDirectory()) throw refuse('that is a folder; give the name of a file')
  if (there && !there.isFile()) throw refuse('that is no plain file')
  const written = there && !byRename ? path : folder
  try {
    accessSync(written, constants.W_OK)
  } catch {
    throw refuse(`${written} can't be written`)
  }
}

export function loadState(path: string): State {
  let text: string
  try {
    text = readRegular(path)
  } catch (cause) {
    throw new StateError(`can't read the state ${path}: ${(cause as Error).message}`, { cause })
  }
  return readState(text)
}

export function saveState(path: string, state: State): void {
  writeWhole(path, `${encodeState(state)}\n`, false)
}
