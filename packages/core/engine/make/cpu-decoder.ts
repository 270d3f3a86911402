/**
 * Decodes on the CPU what a device refused: a picture or an array that lies in the slot as its file's bytes is replaced, in
 * place, by finished pixels or elements. Only the CPU says that a sample is bad. The thread of a device stage in Node has
 * one of these, and the engine that serves a Python process another.
 */

import { operatorKey, Random } from '../../basics/random.js'
import { blankBytes } from '../../batch/remove-rows.js'
import { type Slot, Stamp } from '../../batch/slot.js'
import { decoderOf } from '../../define/kind.js'
import { Workspace } from '../../system/memory/workspace.js'
import type { Job } from '../plan/job.js'
import { describeFailure, type Failure, FieldFailure } from './failures.js'
import type { RowContext } from './program.js'

/** What it has to know of a job. */
export type DecoderJob = Pick<Job, 'memory' | 'layout' | 'feed' | 'workspaces'>

/** A row that the CPU can't decode either. */
export interface BadRow extends Failure {
  row: number
  /** The sample: its source, and its row there. */
  source: number
  sourceRow: number
}

export class CpuDecoder {
  private readonly work: Workspace
  private readonly random = new Random()

  constructor(private readonly job: DecoderJob) {
    const { memory, workspaces } = job
    // With a workspace of its own: workers may be at work in theirs.
    this.work = Workspace.behind(memory, workspaces.bytes, workspaces.limit)
  }

  /** Undefined: the row is finished now. */
  redo(slot: Slot, name: string, row: number): BadRow | undefined {
    const { feed, layout } = this.job
    const index = layout.fields.findIndex(field => field.name === name)
    const place = layout.fields[index]
    const at = slot.at + place.at + row * place.unitBytes
    this.work.reset()
    try {
      const field = feed.fields[index]
      decoderOf(field).device!.redo(field, place, at, this.contextOf(slot, row))
      return undefined
    } catch (error) {
      this.work.u8.fill(0, at, at + blankBytes(place))
      const [source, sourceRow] = [slot.sources[row], slot.rows[row]]
      return { row, source, sourceRow, ...describeFailure(new FieldFailure(name, error)) }
    }
  }

  /** The same random choices as at the first time. */
  private contextOf(slot: Slot, row: number): RowContext {
    const { seed } = this.job.feed
    const epoch = slot.stamps[Stamp.Epoch]
    const position = slot.positions[row]
    return {
      work: this.work,
      position,
      chosen: new Map(),
      random: (field, op) => this.random.key(seed, epoch, position, operatorKey(field, op.name, op.ordinal)),
    }
  }
}
