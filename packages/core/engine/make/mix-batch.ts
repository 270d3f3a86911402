/** The operators of a batch, mixup, cutmix and mosaic: a second pass over the finished slot. */

import { mixWords, writeMix } from '../../../pixels/transform/device/parameter-row.js'
import { pictureOf } from '../../../pixels/transform/device/picture.js'
import { chooseMix, mixRows, spareBytes } from '../../../pixels/transform/mix/mix.js'
import { operatorKey, type Random } from '../../basics/random.js'
import { Header, type Slot, Stamp } from '../../batch/slot.js'
import type { Workspace } from '../../system/memory/workspace.js'
import type { Job } from '../plan/job.js'
import { mosaicSlot } from './mosaic-batch.js'

/**
 * Mixes the rows of a closed slot in place, keyed by the position at which they begin. Images that are finished on the
 * device are mixed there: here it is only noted how. Returns what is wrong with the batch as a whole, if anything.
 */
export function mixSlot(job: Job, slot: Slot, work: Workspace, random: Random): string | undefined {
  const { feed, layout } = job
  for (const op of feed.batch.apply) {
    const key = operatorKey('batch', op.name, op.ordinal)
    const keyed = random.key(feed.seed, slot.stamps[Stamp.Epoch], slot.positions[0], key)
    if (op.name === 'mosaic') {
      const problem = mosaicSlot(op, job, slot, work, keyed)
      if (problem !== undefined) return problem
      continue
    }
    const image = layout.fields.find(field => field.name === op.params.field)!
    const label = layout.fields.find(field => field.name === op.params.label)!
    const classes = label.shape[0]
    const device = image.device === undefined ? undefined : pictureOf(image)
    const { dtype, layout: order = 'chw', shape } = device ?? image
    const mixing = chooseMix(op, { layout: order, shape }, keyed)
    if (mixing === undefined) continue
    work.reset()
    const count = slot.words[Header.Count]
    const rowBytes = device === undefined ? image.unitBytes : 0
    if (device !== undefined)
      writeMix(work.memory, slot.at + image.at, image.unitBytes, count, mixWords(mixing))
    mixRows(mixing, {
      memory: work.memory,
      count,
      imageAt: slot.at + image.at,
      rowBytes,
      dtype,
      layout: order,
      shape,
      labelAt: slot.at + label.at,
      classes,
      spareAt: work.take(spareBytes(rowBytes, classes)),
    })
  }
  return undefined
}
