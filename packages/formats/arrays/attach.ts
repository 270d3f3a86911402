/** Attaches to opened files with arrays, in any thread. */
import type { Manifest, Source } from '../../core/source/source.js'
import { AxisRows, AxisUnits } from './axis-rows.js'
import { FileRows } from './file-rows.js'
import type { ArraysManifest } from './manifest.js'

export function attachArrays(manifest: Manifest): Source {
  const arrays = manifest as ArraysManifest
  if (arrays.rows === 'files') return new FileRows(arrays)
  return arrays.units ? new AxisUnits(arrays) : new AxisRows(arrays)
}
