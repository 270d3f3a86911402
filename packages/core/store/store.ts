/**
 * The contract of a store: named objects whose bytes can be read by range. A name is a path of a local file (file.ts), or
 * begins with the scheme of another store: `scheme://…` (stores.ts finds it). A store keeps the names as they are, scheme
 * included.
 *
 * What is at hand is read in the calling thread, which waits (`readNow`): a promise would cost more than the read. What is
 * far away is asked for by `read`: all ranges that a maker needs are then in flight together. Retries, limits and caches are
 * stores that stand around another store, not options of one.
 *
 * Errors. One with the code ENOENT says that there is no such object, one with ESTALE that it is no longer `was`. Any other
 * error, such as that the object ends before the range does, is told as it is, with the object and the range before it.
 */
import { SourceError } from '../basics/errors.js'
import type { FileIdentity } from './identity.js'

/** What an object was when it was indexed: an ETag, say; of a local file all that is known of it. */
export type Version = string | FileIdentity

/** A contiguous piece of an object. */
export interface ByteRange {
  /** The object's name: a path, or `scheme://…`. */
  file: string
  offset: number
  length: number
  /** Anything else than this is a ChangedError. */
  was?: Version
}

export interface Stat {
  bytes: number
  version: Version
}

export interface Listed extends Stat {
  name: string
}

export interface ReadHow {
  was?: Version
  signal?: AbortSignal
}

export interface MergeLimits {
  /** Largest gap, in bytes, that is read along between two wanted ranges. */
  gap: number
  /** Largest read, in bytes, that merging may produce. A single range that is larger stays whole. */
  most: number
}

export interface Store {
  /** Size and version of an object. */
  stat(name: string): Promise<Stat>
  /** The same at once: for stores that always have it at hand. */
  statNow?(name: string): Stat
  /** All objects whose names begin with `prefix`, in any order. */
  list?(prefix: string): AsyncIterable<Listed>
  /** Fills all of `into` with the bytes from `offset` on. An empty `into` asks only whether the object is still `was`. */
  read(name: string, offset: number, into: Uint8Array, how: ReadHow): Promise<void>
  /** The same at once, where the bytes are at hand: false where they are not. */
  readNow?(name: string, offset: number, into: Uint8Array, was?: Version): boolean
  /** A range that will be read soon. It changes speed, never results, and never throws. */
  hint?(range: ByteRange): void
  /** How far ranges that lie near each other are read by one request. */
  readonly merge: MergeLimits
  /** Gives back what the store holds open. It can be used again afterwards. */
  close(): void
}

/** How a scheme is served. `attach` is called in every thread, for every ring. */
export interface StoreKind {
  attach(): Store
}

/** The error for a range that reaches beyond the end of its object. */
export function tooShort(name: string, offset: number, wanted: number, got: number): SourceError {
  return new SourceError(
    `${name}: wanted ${wanted} bytes at offset ${offset}, got ${got}: ` +
      'the file is shorter than it should be: copy or write it again',
    { file: name, offset },
  )
}

/** Whether an error says that there is no such object. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** The code of an error of a store, or of what caused it. */
export function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as NodeJS.ErrnoException
  return code ?? (cause as NodeJS.ErrnoException | undefined)?.code
}

/** Bytes that are read as one at most: more than this no buffer holds in every version of Node. */
export const LARGEST_RANGE = 2 ** 32

/** Why bytes are not read; `what` they are. */
export function tooLarge(file: string, offset: number, length: number, what = 'a sample'): string {
  return (
    `${what} at byte ${offset} of ${file} takes ${length} bytes, and at most ${LARGEST_RANGE} (4 GiB) are read as one: ` +
    'split it into smaller samples, or ask for other columns'
  )
}
