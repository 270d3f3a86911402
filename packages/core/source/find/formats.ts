/** Which format a file has, by its name, or by its first bytes. */

import { FRAME, lengthAt } from '../../../formats/tfrecord/record.js'
import type { SourceName } from '../../define/nested.js'

/** By the ends of names, of patterns too. */
const BY_NAME: readonly [RegExp, SourceName][] = [
  [/\.(tar|tgz|tar\.gz)$/i, 'tar'],
  [/\.(arrow|feather)$/i, 'arrow'],
  [/\.(parquet|pq)$/i, 'parquet'],
  [/\.npy$/i, 'npy'],
  [/\.npz$/i, 'npz'],
  [/\.safetensors$/i, 'safetensors'],
  [/\.(h5|hdf5|he5|hdf)$/i, 'hdf5'],
  [/\.(nc|nc4|netcdf)$/i, 'netcdf4'],
  [/\.zarr(\.zip)?\/?$/i, 'zarr'],
  [/\.tfrecords?(\.gz)?$/i, 'tfrecord'],
  [/\.(jsonl|ndjson)(\.gz|\.zst)?$/i, 'jsonl'],
  [/\.[ct]sv(\.gz|\.zst)?$/i, 'csv'],
]

/** The format that a name says; undefined: none that is known. */
export function formatOf(path: string): SourceName | undefined {
  return BY_NAME.find(([name]) => name.test(path))?.[1]
}

/** The end of a name that says its format. */
export function formatEnd(path: string): string {
  return BY_NAME.map(([name]) => name.exec(path)?.[0]).find(end => end !== undefined) ?? ''
}

/** How files of a format begin, where that alone says it. */
const BY_START: readonly [start: string, SourceName][] = [
  ['PAR1', 'parquet'],
  ['ARROW1', 'arrow'],
  ['\x93NUMPY', 'npy'],
  ['\x89HDF\r\n\x1a\n', 'hdf5'],
]

/** The format of which a file is that begins so; undefined: none that is known by its start. */
export function formatByStart(start: Buffer): SourceName | undefined {
  const latin = start.toString('latin1', 0, 16)
  const known = BY_START.find(([begin]) => latin.startsWith(begin))?.[1]
  if (known !== undefined) return known
  if (start.toString('latin1', 257, 262) === 'ustar') return 'tar'
  return start.length >= FRAME && lengthAt(start, 0) !== undefined ? 'tfrecord' : undefined
}
