/** What each object was when a feed was opened, in flat tables that all threads share. */
import type { LocalVersion } from '../../core/store/identity.js'
import type { Version } from '../../core/store/store.js'

/** Times and inodes of local files, or texts of other stores: one behind the other, and where each begins. */
export interface VersionTable {
  /** Four numbers an object, of the file that holds it: mtime, ctime, inode, size. */
  times?: Float64Array
  texts?: { starts: Float64Array; bytes: Uint8Array }
}

/** Numbers in memory that is posted to threads without a copy. */
export function sharedNumbers(length: number, fill = 0): Float64Array {
  const numbers = new Float64Array(new SharedArrayBuffer(8 * length))
  return fill === 0 ? numbers : numbers.fill(fill)
}

/** Size of an object that is not there. */
const ABSENT = -1

export class VersionBuilder {
  /** Bytes of each object; −1: it is not there. */
  readonly sizes: Float64Array
  private times: Float64Array | undefined
  private texts: Map<number, string> | undefined

  constructor(private readonly count: number) {
    this.sizes = sharedNumbers(count, ABSENT)
  }

  set(object: number, bytes: number, version: Version): void {
    this.sizes[object] = bytes
    if (typeof version === 'string') {
      this.texts ??= new Map()
      this.texts.set(object, version)
      return
    }
    this.times ??= sharedNumbers(4 * this.count)
    const { mtimeMs, ctimeMs, ino, size } = version as LocalVersion
    this.times.set([mtimeMs, ctimeMs, ino, size], 4 * object)
  }

  at(object: number): Version {
    return this.texts?.get(object) ?? versionAt({ times: this.times }, object)
  }

  finish(): VersionTable {
    const { times } = this
    return { ...(times && { times }), ...(this.texts && { texts: this.packed(this.texts) }) }
  }

  private packed(texts: ReadonlyMap<number, string>): NonNullable<VersionTable['texts']> {
    const pieces = Array.from({ length: this.count }, (_, object) => Buffer.from(texts.get(object) ?? ''))
    const starts = sharedNumbers(this.count + 1)
    pieces.forEach((piece, object) => {
      starts[object + 1] = starts[object] + piece.length
    })
    const bytes = new Uint8Array(new SharedArrayBuffer(starts[this.count]))
    pieces.forEach((piece, object) => {
      bytes.set(piece, starts[object])
    })
    return { starts, bytes }
  }
}

export function versionAt({ times, texts }: VersionTable, object: number): Version {
  const { starts, bytes } = texts ?? {}
  // A source may have local stores and others: then both tables are there, and an object has its place in one.
  if (times === undefined || (starts && starts[object + 1] > starts[object]))
    return Buffer.from(bytes!.subarray(starts![object], starts![object + 1])).toString()
  const [mtimeMs, ctimeMs, ino, size] = times.subarray(4 * object, 4 * object + 4)
  return { size, mtimeMs, ctimeMs, ino }
}

export function versionBytes({ times, texts }: VersionTable): number {
  return (times?.byteLength ?? 0) + (texts ? texts.starts.byteLength + texts.bytes.length : 0)
}
