/**
 * Scales of axes, which xarray calls coordinates: arrays of one axis that bear its name, as `lat` does. Where they have
 * another length than the data, they are no columns, unless the definition names them.
 */
import type { ArrayMeta } from '../meta/array-meta.js'
import type { Hierarchy } from './hierarchy.js'

/** All arrays but the scales that have no row for each of the others'. */
export async function withoutScales(
  hierarchy: Hierarchy,
  paths: ReadonlyMap<string, string>,
  arrays: Map<string, ArrayMeta>,
): Promise<Map<string, ArrayMeta>> {
  if (lengths(arrays.values()).size < 2) return arrays
  const data: ArrayMeta[] = []
  const scales = new Set<string>()
  for (const [column, meta] of arrays) {
    const path = paths.get(column) as string
    if (meta.shape.length === 1 && (await isScale(hierarchy, path))) scales.add(column)
    else data.push(meta)
  }
  if (data.length === 0) return arrays
  const rows = lengths(data)
  return new Map([...arrays].filter(([column, { shape }]) => !scales.has(column) || rows.has(shape[0])))
}

async function isScale(hierarchy: Hierarchy, path: string): Promise<boolean> {
  const axes = await hierarchy.axes(path)
  return Array.isArray(axes) && axes.length === 1 && axes[0] === path.slice(path.lastIndexOf('/') + 1)
}

function lengths(arrays: Iterable<ArrayMeta>): Set<number> {
  return new Set([...arrays].map(({ shape }) => shape[0]))
}
