/**
 * Which samples go into which shard, decided before the first byte is written, from the source and the options
 * alone. So a pack that was killed can be continued: the same plan gives the same bytes.
 */
import { createHash } from 'node:crypto'
import { SourceError } from '../../../core/basics/errors.js'
import { hashText, Random } from '../../../core/basics/random.js'
import { storedBytes } from '../../../core/source/row-reader.js'
import type { Manifest, Source } from '../../../core/source/source.js'
import { keyOfRow, type PackedKeys, packedKeys } from './keys.js'
import { memberNames, membersOf } from './members.js'
import { memberBytes } from './tar-writer.js'

/** How the samples are divided: exactly one of the three. */
export type Division = { shards: number } | { perShard: number } | { shardBytes: number }

export interface PackPlan {
  /** Names this plan: source, order and division. */
  hash: string
  samples: number
  /** Bytes of all the shards, as near as the index tells. */
  bytes: number
  /** Row at each place of the packed order, shared among the threads; undefined when that is the source's own. */
  order: Uint32Array | undefined
  /** What the samples are called. */
  keys: PackedKeys
  shards: ShardPlan[]
}

/** One shard: the places `begin`…`end`−1 of the packed order. */
export interface ShardPlan {
  name: string
  begin: number
  end: number
}

export interface PlanOptions {
  prefix: string
  division: Division
  /** Shuffles the samples with this seed. */
  shuffle?: number
}

/** Two blocks of zeros that end a tar file. */
const TAIL = 1024

export function planPack(source: Source, manifest: Manifest, options: PlanOptions): PackPlan {
  if (source.count === 0) throw new SourceError('there are no samples to pack: the source is empty')
  const order = options.shuffle === undefined ? undefined : shuffled(source.count, options.shuffle)
  const keys = packedKeys(source)
  const sizes = sampleSizes(source, keys)
  const ends = divide(
    source.count,
    options.division,
    place => sizes[order === undefined ? place : order[place]],
  )
  const digits = Math.max(4, String(ends.length - 1).length)
  const shards = ends.map((end, i) => ({
    name: `${options.prefix}-${String(i).padStart(digits, '0')}.tar`,
    begin: i === 0 ? 0 : ends[i - 1],
    end,
  }))
  const bytes = sizes.reduce((sum, size) => sum + size, 0) + TAIL * shards.length
  const { prefix, division, shuffle = null } = options // and nothing else: threads and folders don't change the bytes
  const { kind, digest, values } = manifest.fingerprint
  const identity = JSON.stringify(['pack 3', kind, digest, values, manifest.stamp, prefix, division, shuffle])
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32)
  return { hash, samples: source.count, bytes, order, keys, shards }
}

/** In place of a file's bytes. */
const NOTHING = new Uint8Array(0)

/** Bytes that each row will take in a tar file: where that is not known, those of one data member and one label, as nearly all have. */
function sampleSizes(source: Source, keys: PackedKeys): Float64Array {
  const names = memberNames(source)
  const { columns } = source
  return Float64Array.from({ length: source.count }, (_, row) => {
    const data = storedBytes(source, row, columns)
    const { name, own } = keyOfRow(source, row, keys)
    const extra = own === name ? 0 : memberBytes(name, 0, own) - memberBytes(name, 0)
    if (source.wholeFile?.(row) === undefined)
      return extra + memberBytes(`${name}.jpg`, data) + memberBytes(`${name}.cls`, 1)
    const members = membersOf(
      source,
      row,
      source.sample(row, 0, columns, { ranges: [NOTHING], units: [] }),
      names,
    )
    return Object.entries(members).reduce((sum, [extension, value]) => {
      return sum + memberBytes(`${name}.${extension}`, value === NOTHING ? data : value.length)
    }, extra)
  })
}

/** Where each shard ends, in places of the packed order. */
function divide(count: number, division: Division, size: (place: number) => number): number[] {
  if ('shardBytes' in division) {
    const ends: number[] = []
    let bytes = TAIL
    for (let place = 0; place < count; place++) {
      const more = size(place)
      if (bytes > TAIL && bytes + more > division.shardBytes) {
        ends.push(place)
        bytes = TAIL
      }
      bytes += more
    }
    return [...ends, count]
  }
  const shards =
    'shards' in division ? Math.min(division.shards, count) : Math.ceil(count / division.perShard)
  return Array.from({ length: shards }, (_, i) =>
    'shards' in division
      ? Math.round(((i + 1) * count) / shards)
      : Math.min(count, (i + 1) * division.perShard),
  )
}

/** Fisher and Yates over shared memory: four bytes a sample, held once. */
function shuffled(count: number, seed: number): Uint32Array {
  const order = new Uint32Array(new SharedArrayBuffer(4 * count))
  const random = new Random().key(seed, 0, 0, hashText('pack'))
  for (let i = 0; i < count; i++) {
    const j = random.int(i + 1)
    order[i] = order[j]
    order[j] = i
  }
  return order
}
