/**
 * The contract of a store: named objects whose bytes can be read by range. What a name means is up to the store: a path,
 * a URL, a key in a bucket.
 *
 * A store answers in the calling thread, which waits. Files are read with blocking positional reads, since a promise
 * would cost more than the read. A store of high latency would keep many ranges in flight in I/O threads and let the
 * caller wait for the one that it asks for.
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
  sizeSync(name: string): number
  /** Fills all of `into` with the bytes from `offset` on; an object that ends before that is a SourceError. */
  readSync(name: string, offset: number, into: Uint8Array, was?: FileIdentity): void
  /** Gives back what the store holds open. It can be used again afterwards. */
  close(): void
}

/** The error for a range that reaches beyond the end of its object. */
export function tooShort(name: string, offset: number, wanted: number, got: number): SourceError {
  return new SourceError(
    `${name}: wanted ${wanted} bytes at offset ${offset}, got ${got}: ` +
      'the file is shorter than it should be: copy or write it again',
    { file: name, offset },
  )
}
