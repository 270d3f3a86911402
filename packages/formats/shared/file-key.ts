/**
 * The key of a file: its path without the extension, with `_` for the other dots in its name, since in a tar shard a key
 * ends at the first dot. A folder and the shards that are packed from it, once or again, therefore have the same keys, and
 * `split` puts a sample into the same part of all of them. Two files that differ only in their extension have one key, and
 * stay together. This rule must never change.
 */
export function fileKey(path: string): string {
  const slash = path.lastIndexOf('/') + 1
  const dot = path.lastIndexOf('.')
  const stem = dot > slash ? path.slice(0, dot) : path
  return stem.indexOf('.', slash) < 0 ? stem : stem.slice(0, slash) + stem.slice(slash).replaceAll('.', '_')
}
