/**
 * Borders of segments in a whole batch. Each row has noted where its own segments begin; when the batch is closed, they become the
 * borders of all rows laid end to end, as attention kernels for sequences of varying length take them.
 *
 *   rows of 8 places    [0 3 8 8] [0 8 8 8] [0 2 6 8]
 *   the batch           [0 3 8 16 18 22 24 24 24 24 24 24]      its last border is repeated: empty segments
 */
import type { FieldPlace } from './layout.js'

/**
 * Makes the borders of `count` rows, in place; `borders` holds all of them. A row without entries, which is all zeros, is one
 * segment. Returns what is wrong, if anything.
 */
export function joinDocumentBoundaries(
  borders: Int32Array,
  count: number,
  { name, shape, flat }: FieldPlace,
): string | undefined {
  const each = shape[0]
  const places = flat!
  const room = count * each
  let next = 0
  for (let row = 0; row < count; row++) {
    const base = row * places
    // Never written beyond what is read: each row takes as many entries as it has, at most.
    const from = row * each
    borders[next++] = base
    let last = 0
    for (let i = 1; i < each; i++) {
      const start = borders[from + i]
      if (start <= last || start >= places) break
      borders[next++] = base + start
      last = start
    }
  }
  if (next === room && count > 0)
    return (
      `field "${name}" has room for ${room - 1} segments in a batch of ${count} rows, and this one has ${next}: ` +
      `raise "capacity" of the source to ${each + 1}`
    )
  borders.fill(count * places, next, room)
  return undefined
}
