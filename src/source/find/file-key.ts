/**
 * The key of a file: its path without the extension, and with `_` for the dots that are left in its name, since in a
 * tar shard a key ends at the first dot. So a folder, the shards that it was packed into, and those that they were
 * divided into again have the same keys, and `split` puts a sample into the same part of all of them. Two files that
 * differ in their extension only have one key, and fall together. It must never change.
 */
export function fileKey(path: string): string {
  const slash = path.lastIndexOf('/') + 1
  const dot = path.lastIndexOf('.')
  const stem = dot > slash ? path.slice(0, dot) : path
  return stem.indexOf('.', slash) < 0 ? stem : stem.slice(0, slash) + stem.slice(slash).replaceAll('.', '_')
}
