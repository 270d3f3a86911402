/**
 * Samples of MDS while a feed runs. A sample is a size (u32) for each column whose size varies, then the bytes of all columns in
 * their order.
 */
import { DecodeError } from '../../core/basics/errors.js'
import type { Columns } from '../../core/source/source.js'
import type { ShardManifest } from '../shards/manifest.js'
import { ShardSource } from '../shards/shard-source.js'
import type { Decoder } from '../shards/values.js'
import { decoderOf, type MdsColumn } from './encoding.js'

export interface MdsManifest extends ShardManifest {
  kind: 'mds'
  /** The columns of shards; mostly all shards have the same. */
  forms: MdsColumn[][]
  /** Which of these each shard has. */
  formOf: number[]
}

/** A wanted column: its place, and how it is read. */
interface Wanted {
  name: string
  place: number
  decode: Decoder
}

export class MdsSource extends ShardSource {
  private readonly forms: MdsColumn[][]
  private readonly formOf: number[]
  /** By the very array of names: the engine uses the same one for every row. */
  private readonly resolved = new WeakMap<readonly string[], (Wanted[] | undefined)[]>()
  private readonly ends: number[] = []

  constructor(manifest: MdsManifest) {
    super(manifest)
    this.forms = manifest.forms
    this.formOf = manifest.formOf
  }

  protected decode(shard: number, bytes: Uint8Array, columns: readonly string[]): Columns {
    const form = this.formOf[shard]
    const wanted = this.resolve(form, columns)
    this.measure(this.forms[form], bytes)
    const out: Columns = {}
    for (const { name, place, decode } of wanted) {
      const value = decode(bytes.subarray(this.ends[place], this.ends[place + 1]))
      if (value !== undefined) out[name] = value
    }
    return out
  }

  /** Sets `ends` to where each column begins, and the last ends. */
  private measure(form: readonly MdsColumn[], bytes: Uint8Array): void {
    const { ends } = this
    let head = 0
    for (const { size } of form) if (size === 0) head += 4
    if (head > bytes.length) throw tooShort(bytes.length, head)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let at = 0
    let end = head
    ends[0] = head
    for (let i = 0; i < form.length; i++) {
      let { size } = form[i]
      if (size === 0) {
        size = view.getUint32(at, true)
        at += 4
      }
      end += size
      ends[i + 1] = end
    }
    if (end > bytes.length) throw tooShort(bytes.length, end)
  }

  private resolve(form: number, columns: readonly string[]): Wanted[] {
    let all = this.resolved.get(columns)
    if (all === undefined) this.resolved.set(columns, (all = []))
    return (all[form] ??= columns.flatMap(name => wantedOf(this.forms[form], name)))
  }
}

/** A column by its name, or a value of a list: `pictures[1]`. */
function wantedOf(form: readonly MdsColumn[], name: string): Wanted[] {
  const find = (wanted: string): number => form.findIndex(column => column.name === wanted)
  const place = find(name)
  if (place >= 0) return [{ name, place, decode: decoderOf(form[place]) }]
  const [, list, item] = /^(.+)\[(\d{1,9})\]$/s.exec(name) ?? []
  const listed = list === undefined ? -1 : find(list)
  return listed < 0 ? [] : [{ name, place: listed, decode: decoderOf(form[listed], Number(item)) }]
}

function tooShort(bytes: number, needed: number): DecodeError {
  return new DecodeError(
    `the sample has ${bytes} bytes, its columns need ${needed}: the shard is damaged, or its index.json belongs to another; ` +
      'copy or write them again',
  )
}
