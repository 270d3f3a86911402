/** Where units begin in a source that is made of others. */
import type { Source } from '../source.js'

/** All the starts of both lists, which ascend, each once. */
export function withBoundaries(starts: Float64Array, more: Float64Array): Float64Array {
  const merged = new Float64Array(starts.length + more.length)
  let [i, j, count] = [0, 0, 0]
  while (i < starts.length || j < more.length) {
    const next = Math.min(starts[i] ?? Infinity, more[j] ?? Infinity)
    while (starts[i] === next) i++
    while (more[j] === next) j++
    merged[count++] = next
  }
  return merged.slice(0, count)
}

/** Of sources one after the other. A row that shares no unit is a unit by itself. Undefined where no row shares one. */
export function unitsInTurn(
  parts: readonly Source[],
  firstRows: ArrayLike<number>,
): Float64Array | undefined {
  if (parts.every(part => part.unitStarts === undefined)) return undefined
  const lengths = parts.map(({ unitStarts, count }) => unitStarts?.length ?? count)
  const starts = new Float64Array(lengths.reduce((sum, length) => sum + length, 0))
  let at = 0
  parts.forEach(({ unitStarts }, part) => {
    for (let i = 0; i < lengths[part]; i++) starts[at++] = firstRows[part] + (unitStarts?.[i] ?? i)
  })
  return starts
}

/**
 * Of sources side by side: those of the part with the largest units, since these cost most to load twice; cut where a run
 * begins.
 */
export function unitsBeside(parts: readonly Source[], runs: Float64Array): Float64Array | undefined {
  const starts = parts.flatMap(({ unitStarts }) => (unitStarts === undefined ? [] : [unitStarts]))
  if (starts.length === 0) return undefined
  return withBoundaries(
    starts.reduce((a, b) => (b.length < a.length ? b : a)),
    runs,
  )
}
