/** An array's metadata as Zarr 3 writes it: `zarr.json`, with its list of codecs, and shards in shards. */

import type { ChunkStep } from '../decode-chunk.js'
import { type ArrayMeta, type ChunkKeys, checkedKind, type ShardLevel, sidesOf } from './array-meta.js'
import { stepOf } from './codec-names.js'
import { type Element, elementV3, nameOf, shown } from './element.js'
import { ZarrFault } from './fault.js'
import { fillBytes } from './fill.js'

/** Shards within shards that are followed. */
const DEEPEST = 8

export function arrayV3(json: Record<string, unknown>): ArrayMeta {
  if (json.zarr_format !== 3) throw new ZarrFault(`its zarr_format is ${shown(json.zarr_format)}, not 3`)
  refuseUnknown(json)
  const shape = sidesOf(json.shape, 'shape', 0)
  const grid = nameOf(json.chunk_grid)
  if (grid.name !== 'regular')
    throw new ZarrFault(`its chunk_grid is "${grid.name}", which is not read: write regular chunks`)
  const chunk = sidesOf(grid.configuration.chunk_shape, 'chunk_shape', 1, shape.length)
  const chain = readChain(json.codecs, chunk, elementV3(json.data_type), 0)
  const fill = fillBytes(json.fill_value, chain.element, 3)
  return { shape, kind: checkedKind({ ...chain, fill, keys: keysOf(json.chunk_key_encoding) }) }
}

/** Extensions that must be understood are named by keys that Zarr 3 does not have. */
function refuseUnknown(json: Record<string, unknown>): void {
  const known = [
    'zarr_format',
    'node_type',
    'shape',
    'data_type',
    'chunk_grid',
    'chunk_key_encoding',
    'fill_value',
  ]
  known.push('codecs', 'attributes', 'dimension_names', 'storage_transformers', 'consolidated_metadata')
  for (const [key, value] of Object.entries(json)) {
    if (known.includes(key) || (value as { must_understand?: unknown } | null)?.must_understand === false)
      continue
    throw new ZarrFault(`it has "${key}", an extension that is not read`)
  }
  const transformers = json.storage_transformers
  if (Array.isArray(transformers) && transformers.length > 0)
    throw new ZarrFault('it has storage_transformers, which are not read')
}

function keysOf(json: unknown): ChunkKeys {
  const { name, configuration } = nameOf(json)
  if (name !== 'default' && name !== 'v2')
    throw new ZarrFault(`its chunk_key_encoding is "${name}": it is default or v2`)
  const separator = configuration.separator ?? (name === 'default' ? '/' : '.')
  if (separator !== '/' && separator !== '.')
    throw new ZarrFault(`its separator is ${shown(separator)}: it is "/" or "."`)
  return { lead: name === 'default' ? 'c' : '', separator, skip: 0 }
}

interface Chain {
  element: Element
  chunk: number[]
  order: number[]
  steps: ChunkStep[]
  shards: ShardLevel[]
  codecs: string[]
}

/** A list of codecs: arrays to arrays, then one from an array to bytes, then bytes to bytes. */
function readChain(json: unknown, chunk: number[], given: Element, depth: number): Chain {
  if (!Array.isArray(json) || json.length === 0)
    throw new ZarrFault(`its codecs are ${shown(json)}: it has no list of them`)
  let order = chunk.map((_, axis) => axis)
  let element: Element | undefined
  const filters: ChunkStep[][] = []
  const steps: ChunkStep[][] = []
  const codecs: string[] = []
  for (const [i, codec] of json.entries()) {
    const { name: full, configuration } = nameOf(codec)
    const name = full.replace(/^numcodecs\./, '')
    if (name !== 'bytes') codecs.push(name)
    if (name === 'transpose' && element === undefined) order = transposed(order, configuration.order)
    else if (name === 'sharding_indexed' && element === undefined) {
      if (order.some((axis, at) => axis !== at) || i + 1 < json.length)
        throw new ZarrFault('it has other codecs around its shards: write them into the codecs of the shard')
      return sharded(configuration, chunk, given, depth)
    } else if (name === 'bytes' && element === undefined)
      element = { ...given, bigEndian: configuration.endian === 'big' && given.bytes > 1 }
    else if ((name === 'vlen-utf8' || name === 'vlen-bytes') && element === undefined)
      element = { ...given, form: name === 'vlen-utf8' ? 'vlen-text' : 'vlen-bytes' }
    else (element === undefined ? filters : steps).push(stepOf(name, configuration, given))
  }
  if (element === undefined) throw new ZarrFault('its codecs have none that makes bytes of arrays')
  if (filters.flat().length > 0 && order.some((axis, at) => axis !== at))
    throw new ZarrFault('it has a transpose behind other filters: write it without one of them')
  if (element.form.startsWith('vlen') !== given.form.startsWith('vlen'))
    throw new ZarrFault(`its codecs ${codecs.join(', ')} don't fit its data_type`)
  return {
    element,
    chunk,
    order,
    shards: [],
    codecs,
    steps: [...steps.reverse(), ...filters.reverse()].flat(),
  }
}

/** The codec `transpose`: axis i of what is stored is axis `order[i]`. */
function transposed(before: readonly number[], given: unknown): number[] {
  const axes = before.map((_, axis) => axis)
  const order = given === 'C' ? axes : given === 'F' ? [...axes].reverse() : given
  const right = Array.isArray(order) && [...order].sort((a, b) => a - b).every((axis, i) => axis === i)
  if (!right || (order as number[]).length !== before.length)
    throw new ZarrFault(`its transpose has the order ${shown(given)}`)
  return (order as number[]).map(axis => before[axis])
}

function sharded(
  configuration: Record<string, unknown>,
  shape: number[],
  element: Element,
  depth: number,
): Chain {
  if (depth === DEEPEST) throw new ZarrFault(`it has more than ${DEEPEST} levels of shards`)
  const chunk = sidesOf(configuration.chunk_shape, 'chunk_shape of shards', 1, shape.length)
  if (chunk.some((side, axis) => shape[axis] % side !== 0))
    throw new ZarrFault(`its shards of shape [${shape}] are no multiple of their chunks of shape [${chunk}]`)
  const location = configuration.index_location ?? 'end'
  if (location !== 'start' && location !== 'end')
    throw new ZarrFault(`its index_location is ${shown(location)}`)
  const index = (configuration.index_codecs ?? []) as unknown[]
  if (!Array.isArray(index) || index.length === 0) throw new ZarrFault(`its index_codecs are ${shown(index)}`)
  const [first, ...rest] = index.map(nameOf)
  const names = rest.map(({ name }) => name)
  if (first.name !== 'bytes' || names.some((name, i) => name !== 'crc32c' || i > 0))
    throw new ZarrFault(`its index_codecs are ${[first.name, ...names]}: bytes, and crc32c, are read`)
  const bigEndian = first.configuration.endian === 'big'
  const inner = readChain(configuration.codecs, chunk, element, depth + 1)
  const level: ShardLevel = { shape, index: location, checksum: names.length > 0, bigEndian }
  return { ...inner, shards: [level, ...inner.shards], codecs: ['sharding_indexed', ...inner.codecs] }
}
