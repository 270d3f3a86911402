/**
 * Train and validation parts, or folds, by hash of the samples' keys.
 *
 * Plain: where a sample falls depends on its key and the seed alone, so adding data, packing it, or moving samples to
 * other shards never moves a sample from one part to another. The price: parts have their sizes on average, not to
 * the sample (n samples at fraction p: ± √(n·p·(1−p))). `groupBy` hashes the value of an index column instead of the
 * key: all samples of a patient, a video, a document fall together.
 *
 * `stratifyBy` divides every value of an index column on its own, exactly: see strata.ts.
 */

import { nearest, SourceError } from '../../basics/errors.js'
import { someSource } from '../../define/nested.js'
import type { SplitJson } from '../../define/types.js'
import type { Source, SourceKind } from '../source.js'
import { withIndexed } from './condition.js'
import { attachSelected, RowCollector, selectedManifest } from './selected.js'
import { placeOf, type Stretch, strataChooser } from './strata.js'

export const split: SourceKind<SplitJson> = {
  async open(json, context, nesting) {
    refuseSameHash(json)
    const names = [json.groupBy, json.stratifyBy].filter(name => name !== undefined)
    const child = await nesting.open(json.source, withIndexed(context, names))
    const source = nesting.attach(child)
    const stretch = stretchOf(json)
    const choose = json.stratifyBy === undefined ? plainChooser : strataChooser
    const wanted = choose(source, json, stretch)
    const rows = new RowCollector(source.count)
    for (let row = 0; row < source.count; row++) if (wanted(row)) rows.add(row)
    const { source: _, ...parameters } = json
    const byValues = json.groupBy !== undefined || json.stratifyBy !== undefined
    return selectedManifest('split', parameters, child, source, rows.finish(), byValues)
  },
  attach: attachSelected,
}

/** A split of a split by the same hash would cut the same line twice: folds of a training part would be unequal, or empty. */
function refuseSameHash({ source, seed = 0, groupBy }: SplitJson): void {
  const same = someSource(
    source,
    inner => 'split' in inner && (inner.split.seed ?? 0) === seed && inner.split.groupBy === groupBy,
  )
  if (!same) return
  throw new SourceError(
    `split: it divides a part of another split by the same hash (seed ${seed}), so its parts would be unequal or empty: ` +
      `give one of them another seed, such as "seed": ${seed + 1}`,
  )
}

function plainChooser(source: Source, json: SplitJson, { from, to, not }: Stretch): (row: number) => boolean {
  const at = placeOf(source, json)
  return row => {
    const p = at(row)
    return (p >= from && p < to) !== not
  }
}

function stretchOf({ parts, folds, take }: SplitJson): Stretch {
  if (parts !== undefined) return partStretch(parts, String(take))
  if (folds === undefined) throw new SourceError('split: say "parts" or "folds"')
  const not = typeof take === 'object'
  const fold = not ? take.not : Number(take)
  if (!(Number.isInteger(fold) && fold >= 0 && fold < folds)) {
    throw new SourceError(`split: there is no fold ${fold} of ${folds}; they are numbered from 0`)
  }
  return { from: fold / folds, to: (fold + 1) / folds, not }
}

/** The stretch that a part has. By name, not as written: JSON objects have no order to rely on. */
function partStretch(parts: Readonly<Record<string, number>>, take: string): Stretch {
  const names = Object.keys(parts).sort()
  let from = 0
  for (const name of names) {
    const to = from + parts[name]
    if (name === take) return { from, to: to > 1 - 1e-9 ? 1 : to, not: false }
    from = to
  }
  const near = nearest(take, names)
  throw new SourceError(
    `split: there is no part "${take}"${near ? `; did you mean "${near}"?` : ` (${names.join(', ')})`}`,
  )
}
