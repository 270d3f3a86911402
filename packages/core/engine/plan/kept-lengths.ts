/**
 * Measured lengths, kept in the cache folder as an index is: by what they are of, whole or not at all, and measured by one process
 * while the others wait for it. In one process, all rings of a feed share the numbers.
 */
import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { NumberBuilder } from '../../source/index/columns.js'
import { IndexFile, readHeader } from '../../source/index/file.js'
import { withLock } from '../../source/index/lock.js'
import { distrust } from '../../source/index/trust.js'
import { writeIndex } from '../../source/index/write.js'
import { cachedPath } from '../../system/files/cache-folder.js'
import { makeFolder } from '../../system/files/folder.js'

const KIND = 'lengths'

/** Those that this process has in memory, for as long as a feed uses them. */
const known = new Map<string, WeakRef<Uint32Array>>()

/**
 * The lengths that were kept, or new ones. `about` is a digest of all that decides them; `measure` returns `count` of them, in memory
 * that threads share.
 */
export async function keptLengths(
  name: string,
  about: string,
  count: number,
  measure: () => Promise<Uint32Array>,
  notice?: (text: string) => void,
): Promise<Uint32Array> {
  const path = cachedPath(`${name}-${about}`)
  const find = (): Uint32Array | undefined => known.get(about)?.deref() ?? read(path, about, count)
  const make = async (): Promise<Uint32Array> => {
    const found = find()
    if (found !== undefined) return found
    const lengths = await measure()
    write(path, about, lengths)
    return lengths
  }
  const lengths =
    find() ??
    (await (canWrite(path)
      ? withLock(`${path}.lock`, make, { notice, what: 'measures the lengths of samples' })
      : make()))
  for (const [other, numbers] of known) if (numbers.deref() === undefined) known.delete(other)
  known.set(about, new WeakRef(lengths))
  return lengths
}

/** Kept lengths, if they are whole and ours. */
function read(path: string, about: string, count: number): Uint32Array | undefined {
  try {
    const header = readHeader(path, stats => {
      const foreign = distrust(path, stats)
      if (foreign !== undefined) throw new Error(foreign)
    })
    if (header.kind !== KIND || header.meta.about !== about || header.count !== count) return undefined
    const numbers = new IndexFile(path, false, header).numbers('lengths')
    if (numbers.length !== count) return undefined
    const lengths = new Uint32Array(new SharedArrayBuffer(count * 4))
    lengths.set(numbers)
    return lengths
  } catch {
    // There are none, or they are damaged: they are measured again.
    return undefined
  }
}

/** Where they can't be kept, the next open measures again. */
function write(path: string, about: string, lengths: Uint32Array): void {
  try {
    const column = new NumberBuilder()
    for (let row = 0; row < lengths.length; row++) column.push(lengths[row])
    writeIndex(path, KIND, lengths.length, { about }, { lengths: column })
  } catch {
    // No place for it.
  }
}

function canWrite(path: string): boolean {
  try {
    makeFolder(dirname(path))
    accessSync(dirname(path), constants.W_OK)
    return true
  } catch {
    return false
  }
}
