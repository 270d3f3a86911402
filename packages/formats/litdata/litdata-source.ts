/**
 * Samples of LitData while a feed runs. A sample is a size (u32) for each leaf, then the leaves; where a chunk holds tokens, it is
 * the tokens alone.
 */
import { DecodeError } from '../../core/basics/errors.js'
import type { Columns } from '../../core/source/source.js'
import type { ShardManifest } from '../shards/manifest.js'
import { ShardSource } from '../shards/shard-source.js'
import type { Decoder } from '../shards/values.js'
import { decoderOf } from './leaf.js'

export interface LitdataManifest extends ShardManifest {
  kind: 'litdata'
  leaves: { name: string; format: string }[]
  /** Chunks of tokens, whose samples have no sizes. */
  tokens: boolean
}

interface Wanted {
  name: string
  place: number
  decode: Decoder
}

export class LitdataSource extends ShardSource {
  private readonly parts: LitdataManifest['leaves']
  private readonly tokens: boolean
  /** By the very array of names: the engine uses the same one for every row. */
  private readonly resolved = new WeakMap<readonly string[], Wanted[]>()

  constructor(manifest: LitdataManifest) {
    super(manifest)
    this.parts = manifest.leaves
    this.tokens = manifest.tokens
  }

  protected decode(_shard: number, bytes: Uint8Array, columns: readonly string[]): Columns {
    const out: Columns = {}
    for (const { name, place, decode } of this.resolve(columns)) {
      const value = decode(this.tokens ? bytes : leafIn(bytes, place, this.parts.length))
      if (value !== undefined) out[name] = value
    }
    return out
  }

  private resolve(columns: readonly string[]): Wanted[] {
    let wanted = this.resolved.get(columns)
    if (wanted === undefined) {
      wanted = columns.flatMap(name => {
        const place = this.parts.findIndex(leaf => leaf.name === name)
        return place < 0 ? [] : [{ name, place, decode: decoderOf(name, this.parts[place].format) }]
      })
      this.resolved.set(columns, wanted)
    }
    return wanted
  }
}

/** The bytes of a leaf of a sample. */
function leafIn(bytes: Uint8Array, place: number, leaves: number): Uint8Array {
  const head = 4 * leaves
  if (bytes.length >= head) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let from = head
    for (let i = 0; i < place; i++) from += view.getUint32(4 * i, true)
    const to = from + view.getUint32(4 * place, true)
    if (to <= bytes.length) return bytes.subarray(from, to)
  }
  throw new DecodeError(
    `the sample has ${bytes.length} bytes, fewer than its ${leaves} leaves need: the chunk is damaged, or its index.json belongs to ` +
      'another; copy or write them again',
  )
}
