/**
 * The contract of a store: named objects whose bytes can be read by range. What a name means is the store's own
 * business: a path, a URL, a key in a bucket.
 *
 * Every store can be asked with a promise; that is all a store of high latency offers, and I/O threads then keep
 * many ranges in flight. A *local* store also answers at once, in the calling thread: makers read from it with
 * blocking positional reads, since a promise would cost more than the read.
 */
import { SourceError } from '../basics/errors.js'
import type { FileIdentity } from './identity.js'

/** A contiguous piece of an object. */
export interface ByteRange {
  file: string
  offset: number
  length: number
  /** What the object was when it was indexed: anything else is a ChangedError. */
  was?: FileIdentity
}

export interface Store {
  /** How many bytes the object has. */
  size(name: string): Promise<number>
  /** Fills all of `into` with the bytes from `offset` on; an object that ends before that is a SourceError. */
  read(name: string, offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void>
  /** Gives back what the store holds open. It can be used again afterwards. */
  close(): void
}

export interface LocalStore extends Store {
  sizeSync(name: string): number
  readSync(name: string, offset: number, into: Uint8Array, was?: FileIdentity): void
  /** A hint that this range is wanted soon. Costs little, promises nothing, never throws. */
  ahead(range: ByteRange): void
}

export function isLocal(store: Store): store is LocalStore {
  return 'readSync' in store
}

/** The error for a range that reaches beyond the end of its object. */
export function tooShort(name: string, offset: number, wanted: number, got: number): SourceError {
  return new SourceError(
    `${name}: wanted ${wanted} bytes at offset ${offset}, got ${got}: ` +
      'the file is shorter than it should be: copy or write it again',
    { file: name, offset },
  )
}
