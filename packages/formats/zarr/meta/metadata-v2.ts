/** An array's metadata as Zarr 2 writes it: `.zarray`. */

import type { ChunkStep } from '../decode-chunk.js'
import { type ArrayMeta, checkedKind, sidesOf } from './array-meta.js'
import { stepOf } from './codec-names.js'
import { type Element, elementV2, shown } from './element.js'
import { ZarrFault } from './fault.js'
import { fillBytes } from './fill.js'

/** Filters that make texts of any length: of which form. */
const VLEN: Readonly<Record<string, Element['form']>> = {
  'vlen-utf8': 'vlen-text',
  'vlen-bytes': 'vlen-bytes',
}

export function arrayV2(json: Record<string, unknown>): ArrayMeta {
  if (json.zarr_format !== 2) throw new ZarrFault(`its zarr_format is ${shown(json.zarr_format)}, not 2`)
  const shape = sidesOf(json.shape, 'shape', 0)
  const chunk = sidesOf(json.chunks, 'chunks', 0, shape.length).map(side => Math.max(1, side))
  if (json.order !== 'C' && json.order !== 'F')
    throw new ZarrFault(`its order is ${shown(json.order)}, not C or F`)
  const axes = shape.map((_, axis) => axis)
  let element = elementV2(json.dtype)
  const filters = (json.filters ?? []) as unknown[]
  if (!Array.isArray(filters)) throw new ZarrFault(`its filters are ${shown(filters)}, no list`)
  const names = filters.map(idOf)
  if (element.form === 'vlen-text') {
    const form = VLEN[names[0]]
    if (form === undefined || names.length !== 1)
      throw new ZarrFault(`it holds Python objects (${names}): write texts, or numbers`)
    element = { ...element, form }
  }
  const filterSteps = names.map((name, i) =>
    name in VLEN ? [] : stepOf(name, filters[i] as object, element),
  )
  const compressor = json.compressor ?? undefined
  const compressed = compressor === undefined ? [] : stepOf(idOf(compressor), compressor as object, element)
  const steps: ChunkStep[] = [...compressed, ...filterSteps.reverse().flat()]
  const separator = json.dimension_separator === '/' ? '/' : '.'
  return {
    shape,
    kind: checkedKind({
      element,
      chunk,
      order: json.order === 'C' ? axes : axes.reverse(),
      steps,
      fill: fillBytes(json.fill_value ?? unsaid(json.dtype), element, 2),
      shards: [],
      keys: { lead: '', separator, skip: 0 },
      codecs: [...names, ...(compressor === undefined ? [] : [idOf(compressor)])],
    }),
  }
}

/** What stands for dates and durations where the metadata gives no fill value. Of other types it is zero. */
function unsaid(dtype: unknown): 'NaT' | undefined {
  return typeof dtype === 'string' && /^[<>|=][mM]8/.test(dtype) ? 'NaT' : undefined
}

function idOf(codec: unknown): string {
  const { id } = (codec ?? {}) as { id?: unknown }
  if (typeof id !== 'string') throw new ZarrFault(`it has a codec ${shown(codec)} without an id`)
  return id
}
