/**
 * Finds samples whose members are not adjacent in their shard: `tar` writes them so from a folder that it does not sort. Each
 * piece counts as a sample of its own, so labels are lost, and there are more samples than there should be.
 */
import { IndexFile } from '../../core/source/index/file.js'

/** What to tell about a shard; undefined where all is well. Pieces of one sample have no extension in common. */
export function scatteredIn(file: string, indexPath: string): string | undefined {
  const index = new IndexFile(indexPath)
  if (!index.has('repeat')) return undefined
  const [keys, hashes, repeats] = [index.text('key'), index.numbers('keyHash'), index.numbers('repeat')]
  const [starts, extensions] = [index.numbers('start'), index.numbers('extension')]
  const repeated = new Set(hashes.filter((_, row) => repeats[row] > 0))
  const first = new Map<string, Set<number>>()
  const scattered = new Set<string>()
  hashes.forEach((hash, row) => {
    if (!repeated.has(hash)) return
    const key = keys.at(row)
    const own = extensions.subarray(starts[row], starts[row + 1])
    const before = first.get(key)
    if (before === undefined) first.set(key, new Set(own))
    else if (own.every(extension => !before.has(extension))) scattered.add(key)
  })
  if (scattered.size === 0) return undefined
  const [such] = scattered
  return (
    `${file}: the members of ${scattered.size} of its samples (such as "${such}") are not adjacent, so each piece counts as a ` +
    'sample: write it again sorted by name (tar --sort=name)'
  )
}
