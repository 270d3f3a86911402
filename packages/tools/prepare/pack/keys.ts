/**
 * The keys of packed samples. A sample keeps its key, since `split` goes by it. Where the members' names can't have
 * it (another sample is called so already, or readers would take the name apart at another place), they get a similar
 * one, and the key is written beside it: see `TarWriter.add`.
 */
import { hashKey } from '../../../core/source/index/key-hash.js'
import type { Source } from '../../../core/source/source.js'
import { KeySet } from '../../../formats/shared/key-set.js'
import { foundAs } from './tar-writer.js'

export interface PackedKeys {
  /** For rows whose name another row has: the number behind it, in shared memory; 0 for all others. */
  repeats: Uint32Array | undefined
}

/** Looks at the keys of all rows, in their order: the result depends on the source alone. */
export function packedKeys(source: Source): PackedKeys {
  const hashes = new Float64Array(source.count)
  const seen = new KeySet(2 * source.count)
  const repeated: number[] = []
  for (let row = 0; row < source.count; row++) {
    hashes[row] = hashKey(nameOf(source.key(row)))
    if (!seen.add(hashes[row])) repeated.push(row)
  }
  if (repeated.length === 0) return { repeats: undefined }
  const repeats = new Uint32Array(new SharedArrayBuffer(4 * source.count))
  const last = new Map<number, number>()
  for (const row of repeated) {
    const name = nameOf(source.key(row))
    let number = (last.get(hashes[row]) ?? 1) + 1
    while (!seen.add(hashKey(numbered(name, number)))) number++
    last.set(hashes[row], number)
    repeats[row] = number
  }
  return { repeats }
}

/** What a row is called in a shard, and its own key. */
export function keyOfRow(
  source: Source,
  row: number,
  { repeats }: PackedKeys,
): { name: string; own: string } {
  const own = source.key(row)
  const name = nameOf(own)
  const number = repeats?.[row] ?? 0
  return { name: number === 0 ? name : numbered(name, number), own }
}

function numbered(name: string, number: number): string {
  return `${name}~${number}`
}

/** The key itself, if readers that go by WebDataset's conventions find it again. */
export function nameOf(key: string): string {
  if (isPlain(key)) return key
  const slash = key.lastIndexOf('/') + 1
  const folders = key.slice(0, slash).replace(CONTROL, '_')
  const name = key.slice(slash).replace(/\./g, '_').replace(CONTROL, '_')
  const mended = folders + (name === '' ? '_' : name)
  // "__meta__/x" is passed over by readers, and so is what begins with a slash or climbs out by some of them.
  return isPlain(mended) ? mended : `_/${mended.replace(/(^|\/)\.\.(?=\/)/g, '$1_').replace(/^\/+/, '')}`
}

/** Control characters: a newline ends what WebDataset's pattern takes for a name. */
const CONTROL = /\p{Cc}/gu

function isPlain(key: string): boolean {
  if (/\p{Cc}|^\/|(^|\/)\.\.\//u.test(key)) return false
  return foundAs(`${key}.jpg`) === key
}
