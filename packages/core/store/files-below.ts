/** Finds the local files whose paths begin with a prefix, as a listing of an object store would. */
import { type Dirent, readdirSync, statSync } from 'node:fs'

/** Of a prefix that ends within a name, the folder that it lies in is looked at. A folder that is not there has no files. */
export function filesBelow(prefix: string): Generator<string> {
  return below(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, [])
}

/** `above` are the identities of the folders it lies in: a link to one of them is not followed. */
function* below(folder: string, prefix: string, above: readonly string[]): Generator<string> {
  const stats = statSync(folder, { throwIfNoEntry: false })
  const identity = `${stats?.dev}:${stats?.ino}`
  if (stats === undefined || above.includes(identity)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = folder + entry.name
    const kind = kindOf(entry, path)
    if (kind === 'folder' && (prefix.startsWith(`${path}/`) || path.startsWith(prefix)))
      yield* below(`${path}/`, prefix, [...above, identity])
    if (kind === 'file' && path.startsWith(prefix)) yield path
  }
}

function kindOf(entry: Dirent, path: string): 'file' | 'folder' | undefined {
  const what = entry.isFile() || entry.isDirectory() ? entry : statSync(path, { throwIfNoEntry: false })
  if (what?.isFile()) return 'file'
  return what?.isDirectory() ? 'folder' : undefined
}
