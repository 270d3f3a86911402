/** What a ring is called in the spans: as its opener says, or by the source of its feed. */
import { basename } from 'node:path'
import type { NormalFeed } from '../../define/types.js'

/** Sources whose first text is a path, or is that of a source within them. */
const OF_FILES = [
  'folder',
  'files',
  'tar',
  'arrow',
  'csv',
  'parquet',
  'jsonl',
  'text',
  'zarr',
  'tfrecord',
  'hdf5',
  'netcdf4',
  'npy',
  'npz',
  'safetensors',
  'litdata',
  'mds',
  'concat',
  'zip',
  'subset',
  'split',
  'blend',
]

/** `tar train-{0000..0015}.tar`: the kind of the source, and the last part of its first path, if it is of files. */
export function ringName({ source }: NormalFeed, given?: string): string {
  if (given !== undefined) return given
  const [[kind, about]] = Object.entries(source)
  const path = OF_FILES.includes(kind) ? firstText(about) : undefined
  return path === undefined ? kind : `${kind} ${basename(path)}`
}

function firstText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return undefined
  for (const part of Object.values(value)) {
    const found = firstText(part)
    if (found !== undefined) return found
  }
  return undefined
}
