/** Which rows of a batch are shown, in words. */
import type { Gallery as Rows } from '../../dashboard/view.js'

/** Rows that are asked for. */
export const ASKED = 16

/** Rows of a batch, where the definition says how many. */
export function batchSize(definition: unknown): number | null {
  const { batch } = (definition ?? {}) as { batch?: { size?: unknown } }
  return typeof batch?.size === 'number' ? batch.size : null
}

/** Which rows these are, and why they are so few where they are fewer than were asked for. */
export function shownWords({ rows, batch, epoch, step }: Rows, size: number | null): string {
  const count = `${rows.length}${size === null ? '' : ` of ${size}`} rows`
  const few = rows.length < Math.min(ASKED, size ?? ASKED)
  const why = few ? ' The trainer takes its batches so quickly that no more could be read.' : ''
  return `${count} as the trainer gets them, after augmentation: batch ${batch}, epoch ${epoch}, step ${step}.${why}`
}
