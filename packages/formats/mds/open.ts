/**
 * Opens MDS (Mosaic's streaming): index.json names shards, their columns and sizes. A shard is read uncompressed where all are
 * there so; otherwise its compressed file is a unit.
 */

import { createHash, getHashes } from 'node:crypto'
import { inFile, SourceError } from '../../core/basics/errors.js'
import type { CodecName } from '../../core/codec/codec.js'
import type { PathsJson } from '../../core/define/types.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import { readRange } from '../../core/store/access.js'
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
import { decoderOf, type MdsColumn, refusal } from './encoding.js'

interface MdsManifest extends ShardManifest {
  kind: 'mds'
  /** The columns of shards; mostly all shards have the same. */
  forms: MdsColumn[][]
  /** Which of these each shard has. */
  formOf: number[]
}

class MdsSource extends ShardSource {
  private readonly forms: MdsColumn[][]

  constructor(manifest: MdsManifest) {
    const { forms, formOf } = manifest
    const sizes = forms.map(form => form.map(({ size }) => size))
    super(manifest, sizes, formOf)
    this.forms = forms
  }

  /** A column by its name, or a value of a list: `pictures[1]`. */
  protected find(form: number, name: string): Wanted | undefined {
    const columns = this.forms[form]
    const placeOf = (wanted: string): number => columns.findIndex(column => column.name === wanted)
    const place = placeOf(name)
    if (place >= 0) return { place, decode: decoderOf(columns[place]) }
    const [, list, item] = /^(.+)\[(\d{1,9})\]$/s.exec(name) ?? []
    const listed = list === undefined ? -1 : placeOf(list)
    return listed < 0 ? undefined : { place: listed, decode: decoderOf(columns[listed], Number(item)) }
  }
}

/** Folders of MDS, each with its index.json. */
export interface MdsJson {
  path: PathsJson
}

const CODECS: Readonly<Record<string, CodecName>> = {
  zstd: 'zstd',
  gz: 'gzip',
  snappy: 'snappy',
  br: 'brotli',
}

/** Offsets in a shard have 32 bits. */
const MOST_BYTES = 2 ** 32

/** A shard as index.json has it. */
interface ListedShard {
  index: FoundIndex
  samples: number
  form: number
  raw: ListedFile
  zip?: ListedFile & { codec: CodecName }
}

async function openMds(json: PathsJson | MdsJson, context: OpenContext): Promise<MdsManifest> {
  const { path } = withPath(json)
  using stores = new Stores()
  const forms = new Map<string, { number: number; columns: MdsColumn[] }>()
  const indexes = await findIndexes(path, context.root, stores, 'mds')
  const listed = indexes.flatMap(index => shardsOf(index, forms))
  if (listed.length === 0)
    throw new SourceError('an mds source without a single shard: its index.json names none')
  const columns = [...forms.values()].map(({ columns }) => columns)
  refusePickles(columns, context.wanted)
  const { files, stats } = await present(listed, stores)
  if (context.check === 'nothing') await checkHashes(files, stores, context)
  const found = files.map(({ file, name }, i) => ({ file, name, ...stats[i] }))
  const digests = indexes.map(({ digest }) => digest)
  return await openMany('mds', found, digests, context, async () => {
    return { manifest: await readShards(listed, columns, files, stats, stores), indexes: [] }
  })
}

/** The manifest. Where shards are not compressed, their tables of offsets are read. */
async function readShards(
  listed: readonly ListedShard[],
  columns: MdsColumn[][],
  files: readonly ListedFile[],
  stats: readonly Stat[],
  stores: Stores,
): Promise<MdsManifest> {
  const shards: Shard[] = listed.map(({ raw, samples }, i) => ({
    file: files[i].file,
    name: raw.name,
    count: samples,
    was: stats[i].version,
  }))
  const packed = listed.map(({ raw, zip }, i) => (files[i] === raw ? undefined : zip?.codec))
  const units = packed.every(codec => codec === undefined) ? undefined : unitsOf(listed, files, packed)
  const withTable = units === undefined ? shards : []
  placeTables(withTable)
  const parts = listed.map(({ raw, samples }) => ({ name: raw.name, count: samples, bytes: raw.bytes }))
  const table = await readTables(
    stores,
    withTable.map((shard, i) => ({ ...shard, bytes: stats[i].bytes, table: shard.table! })),
  )
  return {
    kind: 'mds',
    // Whether shards are units is part of the order: windows are made of units.
    fingerprint: shardsPrint('mds', [columns, units !== undefined], parts, () =>
      inFile(listed[0].index.file, ': it names no sample'),
    ),
    stamp: stampOf(shards),
    indexBytes: table.byteLength,
    shards,
    table,
    ...(units && { units }),
    schema: schemaOf(columns),
    columns: readable(columns),
    forms: columns,
    formOf: listed.map(({ form }) => form),
  }
}

function shardsOf(
  index: FoundIndex,
  forms: Map<string, { number: number; columns: MdsColumn[] }>,
): ListedShard[] {
  const { file, json } = index
  if (json.version !== 2 || !Array.isArray(json.shards))
    throw new SourceError(
      'chunks' in json
        ? `${file} is an index of LitData, not of MDS: name the folder by {"litdata": …}`
        : `${file} is no index of MDS, version 2: it needs "version": 2 and "shards": […]`,
      { file },
    )
  return json.shards.map((shard, i) => {
    const fault = (problem: string): SourceError =>
      inFile(file, `: shard ${i} ${problem}: write the dataset again, or correct its index`)
    const {
      format,
      samples,
      column_names: names,
      column_encodings: encodings,
      column_sizes: sizes,
    } = shard ?? {}
    if (format !== 'mds')
      throw fault(`has the format ${JSON.stringify(format)}, not "mds" (use the source of that format)`)
    if (!isCount(samples)) throw fault('tells no number of samples')
    const lists = [names, encodings, sizes]
    if (!lists.every(list => Array.isArray(list) && list.length === names.length))
      throw fault('has column_names, column_encodings and column_sizes of different lengths')
    const columns: MdsColumn[] = names.map((name: unknown, c: number) => {
      const [encoding, size] = [encodings[c], sizes[c] ?? 0]
      if (typeof name !== 'string' || typeof encoding !== 'string' || !isCount(size))
        throw fault(`has a malformed column ${c}`)
      return { name, encoding, size }
    })
    const key = JSON.stringify(columns)
    const form = forms.get(key) ?? { number: forms.size, columns }
    forms.set(key, form)
    const raw = listedFile(index, shard.raw_data, fault)
    if (!raw) throw fault('has no raw_data')
    const zip = listedFile(index, shard.zip_data, fault)
    if (!zip) return { index, samples, form: form.number, raw }
    const name = String(shard.compression).split(':')[0]
    if (!Object.hasOwn(CODECS, name))
      throw fault(
        `is compressed with ${JSON.stringify(shard.compression)}: read are ${Object.keys(CODECS).join(', ')} and none`,
      )
    return { index, samples, form: form.number, raw, zip: { ...zip, codec: CODECS[name] } }
  })
}

function listedFile(
  index: FoundIndex,
  listed: { basename?: unknown; bytes?: unknown; hashes?: unknown } | null | undefined,
  fault: (problem: string) => SourceError,
): ListedFile | undefined {
  if (listed === null || listed === undefined) return undefined
  const { basename, bytes, hashes } = listed
  if (!isCount(bytes)) throw fault(`tells no size of ${JSON.stringify(basename)}`)
  if (bytes >= MOST_BYTES)
    throw fault(`has ${bytes} bytes in ${JSON.stringify(basename)}, more than its offsets can tell`)
  const file = shardFile(index, basename)
  return { file, name: `${index.prefix}${basename}`, bytes, hashes: isTexts(hashes) ? hashes : {} }
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')

/** The file of each shard: uncompressed where all shards are there so, otherwise compressed. */
async function present(
  listed: readonly ListedShard[],
  stores: Stores,
): Promise<{ files: ListedFile[]; stats: Stat[] }> {
  const raws = await forShards(listed, ({ raw }) => statShard(stores, raw.file))
  const allRaw = raws.every(stat => stat !== undefined)
  const files = listed.map(({ raw, zip }) => (allRaw || zip === undefined ? raw : zip))
  const stats = await forShards(files, async (file, i) => {
    const stat = file === listed[i].raw ? raws[i] : await statShard(stores, file.file)
    if (stat === undefined) throw missingShard(file.file, listed[i].index.file)
    if (stat.bytes !== file.bytes) throw wrongSize(file.file, listed[i].index.file, stat.bytes, file.bytes)
    return stat
  })
  return { files, stats }
}

function unitsOf(
  listed: readonly ListedShard[],
  files: readonly ListedFile[],
  packed: readonly (CodecName | undefined)[],
): Unit[] {
  return listed.flatMap(({ raw, samples }, i) =>
    samples === 0
      ? []
      : [
          {
            shard: i,
            first: 0,
            count: samples,
            offset: 0,
            length: files[i].bytes,
            bytes: raw.bytes,
            exact: true,
            base: 0,
            codec: packed[i],
          },
        ],
  )
}

function refusePickles(forms: readonly MdsColumn[][], wanted: readonly string[]): void {
  for (const column of forms.flat()) {
    const refused = wanted.includes(column.name) ? refusal(column) : undefined
    if (refused !== undefined) throw new SourceError(refused)
  }
}

/** Columns that are no pickles in every shard. */
function readable(forms: readonly MdsColumn[][]): string[] {
  const right = forms.flat().filter(column => refusal(column) === undefined)
  return [...new Set(right.map(({ name }) => name))]
}

function schemaOf(forms: readonly MdsColumn[][]): MdsManifest['schema'] {
  const found = new Map(forms.flat().map(({ name, encoding }) => [name, { name, type: encoding }]))
  return [...found.values()]
}

export const mds: SourceKind<PathsJson | MdsJson> = {
  open: openMds,
  attach: manifest => new MdsSource(manifest as MdsManifest),
}

/** A file as index.json has it. */
interface ListedFile {
  file: string
  name: string
  bytes: number
  hashes: Record<string, string>
}

/** Bytes that are read at a time. */
const PIECE = 4 << 20

async function checkHashes(
  files: readonly ListedFile[],
  stores: Stores,
  { progress, notice }: OpenContext,
): Promise<void> {
  const known = new Set(getHashes().map(name => name.toLowerCase()))
  const unknown = new Set<string>()
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const buffer = Buffer.allocUnsafeSlow(PIECE)
  let done = 0
  for (const { file, bytes, hashes } of files) {
    const names = Object.keys(hashes)
    for (const name of names) if (!known.has(name)) unknown.add(name)
    const sums = names.filter(name => known.has(name)).map(name => ({ name, sum: createHash(name) }))
    for (let offset = 0; offset < bytes && sums.length > 0; offset += PIECE) {
      const length = Math.min(PIECE, bytes - offset)
      await readRange(stores, { file, offset, length }, buffer.subarray(0, length))
      for (const { sum } of sums) sum.update(buffer.subarray(0, length))
      progress?.(done + offset + length, total, 'comparing hashes', 'bytes')
    }
    done += bytes
    for (const { name, sum } of sums) {
      const found = sum.digest('hex')
      if (found === hashes[name]) continue
      throw inFile(
        file,
        `: its ${name} is ${found}, index.json says ${hashes[name]}: the shard is damaged; copy or write it again`,
      )
    }
  }
  if (unknown.size > 0)
    notice?.(`hashes of the kind ${[...unknown].join(', ')} are not compared: they are not known here`)
}
