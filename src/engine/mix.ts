/** The operators of a batch: mixup and cutmix, a second pass over the finished slot. */
import { Header, type Slot, Stamp } from '../batch/slot.js'
import { operatorKey, type Random } from '../define/random.js'
import type { Workspace } from '../system/workspace.js'
import { mixBatch, spareBytes } from '../transform/mix.js'
import type { Job } from './job.js'

/** Mixes the rows of a closed slot in place, keyed by the position at which they begin. */
export function mixSlot(job: Job, slot: Slot, work: Workspace, random: Random): void {
  const { feed, layout } = job
  for (const op of feed.batch.apply) {
    const image = layout.fields.find(field => field.name === op.params.field)!
    const label = layout.fields.find(field => field.name === op.params.label)!
    const classes = label.shape[0]
    work.reset()
    const rows = {
      memory: work.memory,
      count: slot.words[Header.Count],
      imageAt: slot.at + image.at,
      rowBytes: image.unitBytes,
      dtype: image.dtype,
      layout: image.layout ?? 'chw',
      shape: image.shape,
      labelAt: slot.at + label.at,
      classes,
      spareAt: work.take(spareBytes(image.unitBytes, classes)),
    }
    const key = operatorKey('batch', op.name, op.ordinal)
    mixBatch(op, rows, random.key(feed.seed, slot.stamps[Stamp.Epoch], slot.positions[0], key))
  }
}
