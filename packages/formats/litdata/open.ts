/** Opens LitData: index.json names chunks, what the leaves of a sample are, and how they are compressed. */

import { bytesOfStored } from '../../core/basics/array.js'
import { inFile, SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import type { Manifest, OpenContext, SourceKind } from '../../core/source/source.js'
import type { Stat } from '../../core/store/store.js'
import { Stores } from '../../core/store/stores.js'
import { withPath } from '../paths.js'
import type { Shard, ShardManifest, Unit } from '../shards/manifest.js'
import {
  type FoundIndex,
  findIndexes,
  forShards,
  isCount,
  missingShard,
  placeTables,
  readTables,
  shardFile,
  shardsPrint,
  stampOf,
  statShard,
  wrongSize,
} from '../shards/open-shards.js'
import { ShardSource, type Wanted } from '../shards/shard-source.js'
import { openMany } from '../shared/index-of-source.js'
import { openArrowRows } from './arrow-rows.js'
import { readFrames } from './frames.js'
import { decoderOf, refusal, tokenDtype, typeOf } from './leaf.js'

interface LitdataManifest extends ShardManifest {
  kind: 'litdata'
  leaves: { name: string; format: string }[]
  /** Chunks of tokens, whose samples have no sizes. */
  tokens: boolean
}

class LitdataSource extends ShardSource {
  private readonly parts: LitdataManifest['leaves']

  constructor(manifest: LitdataManifest) {
    const { leaves, tokens } = manifest
    super(manifest, [tokens ? [] : leaves.map(() => 0)])
    this.parts = leaves
  }

  protected find(_form: number, name: string): Wanted | undefined {
    const place = this.parts.findIndex(leaf => leaf.name === name)
    return place < 0 ? undefined : { place, decode: decoderOf(name, this.parts[place].format) }
  }
}

/** Folders of LitData, each with its index.json. */
export interface LitdataJson {
  path: PathsJson
  /** Of chunks of tokens: how many a sample has. Without it, samples are what was written. */
  block?: number
}

/** A chunk as index.json has it. */
interface ListedChunk {
  /** The index.json that names it. */
  index: FoundIndex
  file: string
  name: string
  samples: number
  bytes: number
  /** How many tokens it has. */
  dim: number
}

/** What is the same for all chunks. */
interface Form {
  leaves: LitdataManifest['leaves']
  tokens: boolean
  /** How chunks are compressed: as a whole, in frames, or not. */
  packed: 'whole' | 'frames' | 'none'
}

async function openLitdata(json: PathsJson | LitdataJson, context: OpenContext): Promise<Manifest> {
  const { path, block } = withPath(json)
  using stores = new Stores()
  const indexes = await findIndexes(path, context.root, stores, 'litdata')
  indexes.forEach(checkIndex)
  const listed = indexes.flatMap(chunksOf)
  const stats = await forShards(listed, chunk => statChunk(chunk, stores))
  const rows = indexes.some(mayHoldArrow) ? await openArrowRows(listed, stats, context, stores) : undefined
  if (rows !== undefined && block === undefined) return rows
  const forms = indexes.map(formOf)
  const [form] = forms
  const other = forms.findIndex(one => JSON.stringify(one) !== JSON.stringify(form))
  if (other > 0) {
    const { file } = indexes[other]
    throw inFile(
      file,
      `has other leaves than ${indexes[0].file}: make a source of each, and join them by "concat"`,
    )
  }
  if (block !== undefined && !form.tokens)
    throw new SourceError('"block" is for chunks of tokens (TokensLoader), which these are not: leave it out')
  for (const { name, format } of form.leaves) {
    const refused = context.wanted.includes(name) ? refusal(name, format) : undefined
    if (refused !== undefined) throw new SourceError(refused)
  }
  const found = listed.map(({ file, name }, i) => ({ file, name, ...stats[i] }))
  const options = [block, indexes.map(({ digest }) => digest)]
  return await openMany<LitdataManifest>('litdata', found, options, context, async () => {
    return { manifest: await readChunks(listed, stats, form, block, stores), indexes: [] }
  })
}

/** The manifest. Offsets of samples are read from the chunks. */
async function readChunks(
  listed: readonly ListedChunk[],
  stats: readonly Stat[],
  form: Form,
  block: number | undefined,
  stores: Stores,
): Promise<LitdataManifest> {
  const { shards, table, units } = await placesOf(listed, stats, form, block, stores)
  return {
    kind: 'litdata',
    fingerprint: shardsPrint(
      'litdata',
      [form, block ?? null],
      listed.map(({ name, bytes }, i) => ({ name, count: shards[i].count, bytes })),
      () =>
        new SourceError(
          'a litdata source without a single sample: its index.json names none, or "block" is too long',
        ),
    ),
    stamp: stampOf(shards),
    indexBytes: table.byteLength,
    shards,
    table,
    ...(units && { units }),
    schema: form.leaves.map(({ name, format }) => ({ name, type: typeOf(format) })),
    columns: form.leaves.flatMap(({ name, format }) => (refusal(name, format) === undefined ? name : [])),
    leaves: form.leaves,
    tokens: form.tokens,
  }
}

type Config = Record<string, unknown> | null | undefined

function checkIndex({ file, json }: FoundIndex): void {
  const format = (json.config as Config)?.data_format
  if (
    !Array.isArray(format) ||
    !format.every(leaf => typeof leaf === 'string') ||
    !Array.isArray(json.chunks)
  )
    throw new SourceError(
      'shards' in json
        ? `${file} is an index of MDS, not of LitData: name the folder by {"mds": …}`
        : `${file}: it is no index of LitData: it needs "chunks" and "config" with "data_format"; run optimize() to its end`,
      { file },
    )
}

/** Rows are kept as Arrow in chunks that are not compressed, and hold no tokens. */
function mayHoldArrow(index: FoundIndex): boolean {
  const { item_loader: loader, encryption } = index.json.config as Record<string, unknown>
  return loader !== 'TokensLoader' && packedIn(index) === 'none' && !encryption
}

async function statChunk({ file, bytes, index }: ListedChunk, stores: Stores): Promise<Stat> {
  const stat = await statShard(stores, file)
  if (stat === undefined) throw missingShard(file, index.file)
  if (packedIn(index) !== 'whole' && stat.bytes < bytes) throw wrongSize(file, index.file, stat.bytes, bytes)
  return stat
}

function packedIn({ json }: FoundIndex): Form['packed'] {
  const { compression, compression_level: level } = json.config as Record<string, unknown>
  return !compression ? 'none' : level === 'batch' ? 'frames' : 'whole'
}

function formOf(index: FoundIndex): Form {
  const { file, json } = index
  const fault = (problem: string): SourceError => inFile(file, `: ${problem}`)
  const config = json.config as Record<string, unknown>
  const format = config.data_format as string[]
  const { item_loader: loader = 'PyTreeLoader', compression, compression_level: level, encryption } = config
  if (encryption) throw fault('its chunks are encrypted: write them without that')
  if (loader !== 'PyTreeLoader' && loader !== 'TokensLoader')
    throw fault(`its chunks are for ${JSON.stringify(loader)}: read are PyTreeLoader and TokensLoader`)
  if (compression && !/^zstd(:\d+)?$/.test(String(compression)))
    throw fault(`its chunks are compressed with ${JSON.stringify(compression)}: read are zstd and none`)
  if (level === 'sample')
    throw fault(
      'its samples are compressed one by one, which is not read: write it with compression_level="batch" or without compression',
    )
  const tokens = loader === 'TokensLoader'
  const packed = packedIn(index)
  if (tokens) return { leaves: [{ name: 'tokens', format: format[0] }], tokens, packed }
  let names: string[]
  try {
    names = leafNames(config.data_spec)
  } catch (cause) {
    throw inFile(file, `: its data_spec can't be read: ${(cause as Error).message}`, { cause })
  }
  if (names.length !== format.length)
    throw fault(`its data_spec has ${names.length} leaves, its data_format ${format.length}`)
  return { leaves: names.map((name, i) => ({ name, format: format[i] })), tokens, packed }
}

function chunksOf(index: FoundIndex): ListedChunk[] {
  return (index.json.chunks as Record<string, unknown>[]).map((chunk, i) => {
    const { filename, chunk_size: samples, chunk_bytes: bytes, dim } = chunk ?? {}
    if (!isCount(samples) || !isCount(bytes) || !(dim === null || dim === undefined || isCount(dim)))
      throw inFile(index.file, `: chunk ${i} has a size that is no whole number`)
    const file = shardFile(index, filename)
    return {
      index,
      file,
      name: `${index.prefix}${filename}`,
      samples,
      bytes,
      dim: (dim as number | null) ?? 0,
    }
  })
}

/** Where samples lie: the table of their offsets, and units where chunks are compressed. */
async function placesOf(
  listed: readonly ListedChunk[],
  stats: readonly Stat[],
  form: Form,
  block: number | undefined,
  stores: Stores,
): Promise<{ shards: Shard[]; table: SharedArrayBuffer; units?: Unit[] }> {
  const width = block === undefined ? 0 : block * sizeOfToken(form)
  const shards: Shard[] = listed.map(({ file, name, samples, dim }, i) => ({
    file,
    name,
    count: block === undefined ? samples : Math.floor(dim / block),
    was: stats[i].version,
  }))
  const whole = form.packed === 'whole'
  if (block !== undefined || !whole) placeTables(shards)
  const units = form.packed === 'none' ? undefined : wholeUnits(listed, stats, shards)
  if (block !== undefined)
    return { shards, table: blockTable(listed, stats, shards, width, whole), ...(units && { units }) }
  if (whole) return { shards, table: new SharedArrayBuffer(0), units }
  const tables = shards.map((shard, i) => ({ ...shard, bytes: stats[i].bytes, table: shard.table! }))
  if (form.packed === 'none') return { shards, table: await readTables(stores, tables) }
  const framed = await forShards(tables, (chunk, i) => readFrames(stores, chunk, i))
  const table = new SharedArrayBuffer(4 * framed.reduce((sum, { offsets }) => sum + offsets.length, 0))
  framed.forEach(({ offsets }, i) => {
    new Uint32Array(table).set(offsets, shards[i].table)
  })
  return { shards, table, units: framed.flatMap(frames => frames.units) }
}

function wholeUnits(
  listed: readonly ListedChunk[],
  stats: readonly Stat[],
  shards: readonly Shard[],
): Unit[] {
  return listed.flatMap(({ samples, bytes }, i) => {
    const { count } = shards[i]
    // Before version 0.2.40 the size of a chunk did not count its table.
    const most = bytes + 4 * (samples + 2)
    const unit = {
      shard: i,
      first: 0,
      count,
      offset: 0,
      length: stats[i].bytes,
      bytes: most,
      exact: false,
      base: 0,
    }
    return count === 0 ? [] : [{ ...unit, codec: 'zstd' as const }]
  })
}

function sizeOfToken({ leaves: [{ format }] }: Form): number {
  const dtype = tokenDtype(format)
  if (dtype === undefined) throw new SourceError(`tokens of the type ${format} are not read`)
  return bytesOfStored(dtype)
}

/** Blocks of tokens follow one another from the end of a chunk's table on, over the borders of its samples. */
function blockTable(
  listed: readonly ListedChunk[],
  stats: readonly Stat[],
  shards: readonly Shard[],
  width: number,
  packed: boolean,
): SharedArrayBuffer {
  listed.forEach(({ file, samples, bytes }, i) => {
    const end = 4 * (samples + 2) + shards[i].count * width
    const size = packed ? bytes + 4 * (samples + 2) : stats[i].bytes
    if (end > size)
      throw inFile(file, `: its tokens end at byte ${end}, the chunk at byte ${size}: copy or write it again`)
    if (end >= 2 ** 32)
      throw inFile(file, 'has 4 GiB or more, which is not read in blocks: write smaller chunks')
  })
  const table = new Uint32Array(
    new SharedArrayBuffer(4 * shards.reduce((sum, { count }) => sum + count + 1, 0)),
  )
  shards.forEach(({ count, table: at }, i) => {
    const from = 4 * (listed[i].samples + 2)
    for (let b = 0; b <= count; b++) table[at! + b] = from + b * width
  })
  return table.buffer as SharedArrayBuffer
}

export const litdata: SourceKind<PathsJson | LitdataJson> = {
  open: openLitdata,
  attach: manifest => new LitdataSource(manifest as LitdataManifest),
}

/**
 * The names of a LitData sample's leaves. `data_spec` is a tree of Python's containers as JSON, [1, node]; a node has a type, a
 * context (for dicts their keys) and children. Dicts, lists and tuples are read: `meta.size`, `0`, `boxes.1`.
 */

interface Node {
  type?: unknown
  context?: unknown
  children_spec?: unknown
}

/** What a sample that is a single value is called. */
const ONLY = 'data'
/** Containers in containers that are read. */
const DEEPEST = 32

/** The names of all leaves in their order. Throws an Error that says what is wrong. */
function leafNames(spec: unknown): string[] {
  const parsed: unknown = typeof spec === 'string' ? JSON.parse(spec) : spec
  if (!Array.isArray(parsed) || parsed.length !== 2) throw new Error('it is no pair of version and tree')
  if (parsed[0] !== 1) throw new Error(`it has version ${parsed[0]}, only 1 is known`)
  const names: string[] = []
  walk(parsed[1] as Node, [], names)
  return names
}

function walk(node: Node, path: readonly (string | number)[], names: string[]): void {
  if (path.length > DEEPEST) throw new Error(`its containers are nested more than ${DEEPEST} deep`)
  if (typeof node !== 'object' || node === null) throw new Error('a node of it is no object')
  const children = node.children_spec
  if (!Array.isArray(children)) throw new Error('a node of it has no children')
  if (node.type === null) {
    names.push(path.length === 0 ? ONLY : path.join('.'))
    return
  }
  const keys = keysOf(node, children.length)
  children.forEach((child, i) => {
    walk(child as Node, [...path, keys[i]], names)
  })
}

function keysOf({ type, context }: Node, count: number): (string | number)[] {
  if (type === 'builtins.list' || type === 'builtins.tuple') return Array.from({ length: count }, (_, i) => i)
  if (type !== 'builtins.dict' && type !== 'collections.OrderedDict')
    throw new Error(`it has a container ${JSON.stringify(type)}: dicts, lists and tuples are read`)
  const keys: unknown = typeof context === 'string' ? JSON.parse(context) : context
  const right =
    Array.isArray(keys) &&
    keys.length === count &&
    keys.every(key => ['string', 'number'].includes(typeof key))
  if (!right) throw new Error('a dict of it has keys that are no texts')
  return keys as (string | number)[]
}
