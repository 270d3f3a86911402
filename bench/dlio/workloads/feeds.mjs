/** The feed of each workload: sources of Millrace over the files that were written. What is delivered is what was read. */
import { BudgetError } from '../../../build/core/basics/errors.js'
import { bytes as inBytes } from '../../../build/observe/verdict/units.js'
import { recordBytesOf } from './write/random-bytes.mjs'

/** RetinaNet's input. */
const PICTURE = [800, 800]
/** A slot has room for so many bytes at most; ragged fields take their room twice. */
const SLOT = 2 ** 31
export function feedOf(of, data) {
  const { workload } = of
  return {
    source: sourceOf(of, data),
    order: { shuffle: 'global', seed: data.seed },
    fields: { [fieldOf(of)]: field(of, data) },
    batch: { size: workload.batch, last: 'drop' },
  }
}
export function fieldOf({ workload }) {
  return workload.format === 'npz' ? 'x' : 'image'
}
function sourceOf({ workload }, { pattern }) {
  if (workload.format === 'npz') return { npz: pattern }
  return workload.format === 'tfrecord' ? { tfrecord: pattern } : { files: pattern }
}
function field(of, data) {
  const { format } = of.workload
  if (format === 'jpeg') return { from: 'jpg', as: 'image', apply: [{ resize: PICTURE }] }
  // Records of one size need no lengths.
  if (of.deviation === 0) return { from: 'image', as: 'npy', dtype: 'u8', shape: [of.recordBytes] }
  const ragged = raggedOf(of, data)
  if (format === 'tfrecord') return { from: 'image', as: 'bytes', ragged }
  return { from: 'x', as: 'npy', dtype: 'u8', shape: [ragged.max], ragged: { total: ragged.total } }
}
/** The longest record, and as much as the longest records of a batch have together. */
function raggedOf(of, { records, seed }) {
  const sizes = Array.from({ length: records }, (_, record) => recordBytesOf(of, seed, record))
  sizes.sort((a, b) => b - a)
  const total = sizes.slice(0, of.workload.batch).reduce((sum, size) => sum + size, 0)
  if (2 * total > SLOT)
    throw new BudgetError(
      `a batch of ${of.workload.batch} records of ${of.workload.name} may have ${inBytes(total)}, and a slot has room for half of ` +
        `${inBytes(SLOT)}: take --scale 1/8, which asks for the same bytes/s`,
    )
  return { max: sizes[0], total }
}
