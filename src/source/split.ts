/**
 * Train and validation parts, or folds, by hash. Where a sample falls depends on its key and the seed alone, so
 * adding data, or moving samples to other shards, never moves a sample from one part to another. The price: parts
 * have their sizes on average, not to the sample (n samples at fraction p: ± √(n·p·(1−p))).
 *
 * `groupBy` hashes the value of an index column instead of the key: all samples of a patient, a video, a document
 * fall together. `stratifyBy` hashes key and stratum: each stratum is divided on its own, with the proportions on
 * average again, since exact quotas would have to move samples whenever a stratum grows. With both, groups stay
 * whole: the group's hash decides.
 */
import type { SplitJson } from '../define/types.js'
import { nearest, SourceError } from '../errors.js'
import { hashKey, place } from './key-hash.js'
import { attachSelected, RowCollector, selectedManifest } from './selected.js'
import type { Source, SourceKind } from './source.js'
import { indexColumn } from './subset.js'

export const split: SourceKind<SplitJson> = {
  async open(json, context, nesting) {
    const child = await nesting.open(json.source, context)
    const source = nesting.attach(child)
    const hash = hashOf(source, json)
    const seed = json.seed ?? 0
    const wanted = chooser(json)
    const rows = new RowCollector(source.count)
    for (let row = 0; row < source.count; row++) if (wanted(place(hash(row), seed))) rows.add(row)
    const { source: _, ...parameters } = json
    return selectedManifest('split', parameters, child, source, rows.finish())
  },
  attach: attachSelected,
}

function hashOf(source: Source, { groupBy, stratifyBy }: SplitJson): (row: number) => number {
  if (groupBy !== undefined) {
    const column = indexColumn(source, groupBy, 'groupBy')
    return row => hashKey(`group ${column.at(row)}`)
  }
  if (stratifyBy !== undefined) {
    const column = indexColumn(source, stratifyBy, 'stratifyBy')
    return row => hashKey(`${column.at(row)}\0${source.key(row)}`)
  }
  return row => source.keyHash?.(row) ?? hashKey(source.key(row))
}

/** Whether a place in [0, 1) belongs to the part that is taken. */
function chooser({ parts, folds, take }: SplitJson): (place: number) => boolean {
  if (parts !== undefined) {
    const [from, to] = bounds(parts, String(take))
    return at => at >= from && at < to
  }
  if (folds === undefined) throw new SourceError('split: say "parts" or "folds"')
  const fold = typeof take === 'object' ? take.not : Number(take)
  if (!(Number.isInteger(fold) && fold >= 0 && fold < folds)) {
    throw new SourceError(`split: there is no fold ${fold} of ${folds}; they are numbered from 0`)
  }
  const other = typeof take === 'object'
  return at => (Math.floor(at * folds) === fold) !== other
}

/** The stretch of [0, 1) that a part has. By name, not as written: JSON objects have no order to rely on. */
function bounds(parts: Readonly<Record<string, number>>, take: string): [number, number] {
  const names = Object.keys(parts).sort()
  let from = 0
  for (const name of names) {
    const to = from + parts[name]
    if (name === take) return [from, to > 1 - 1e-9 ? 1 : to]
    from = to
  }
  const near = nearest(take, names)
  throw new SourceError(
    `split: there is no part "${take}"${near ? `; did you mean "${near}"?` : ` (${names.join(', ')})`}`,
  )
}
