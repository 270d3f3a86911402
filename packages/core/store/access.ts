/**
 * What is asked of a store while data are opened: sizes and versions, listings, whole objects. Errors name the object, and
 * the range where there is one. The reads of a run go through the Reader.
 */
import { ChangedError, MillraceError, SourceError } from '../basics/errors.js'
import { asError } from '../basics/maybe.js'
import { type ByteRange, codeOf, isMissing, type Listed, type Stat, type Store } from './store.js'

/** `Stores`, or what a test has in its place. */
export interface StoreOf {
  of(name: string): Store
  /** Tells reads that are under way that they are not wanted any more. */
  readonly signal?: AbortSignal
}

/** Questions about objects that are under way at the same time. */
export const ASKED_AT_ONCE = 64

/** Size and version of an object: at once, where the store has them at hand. */
export function statOf(stores: StoreOf, name: string): Stat | Promise<Stat> {
  const store = stores.of(name)
  if (store.statNow !== undefined) return store.statNow(name)
  return lookAt(store, name)
}

async function lookAt(store: Store, name: string): Promise<Stat> {
  try {
    return checked(name, await store.stat(name))
  } catch (error) {
    throw about(error, name, "can't look at it")
  }
}

/** Versions of objects are texts: indexes keep them, and compare them. */
function checked<T extends Stat>(name: string, stat: T): T {
  if (typeof stat?.version === 'string' && stat.bytes >= 0) return stat
  throw new SourceError(
    `${name}: its store gives no size and version of it: { bytes, version }, a number and a string`,
  )
}

/** All objects whose names begin with `prefix`. */
export async function* listOf(stores: StoreOf, prefix: string): AsyncGenerator<Listed> {
  const store = stores.of(prefix)
  if (store.list === undefined) {
    throw new SourceError(
      `${prefix}: this store can't list its objects: name them one by one, or by braces, as in {0000..0015}`,
      { file: prefix },
    )
  }
  try {
    const objects = store.list(prefix)
    if (typeof objects?.[Symbol.asyncIterator] !== 'function')
      throw new Error('its list is no async iterable: write async *list(prefix) { yield … }')
    for await (const object of objects)
      yield store.statNow === undefined ? checked(object.name, object) : object
  } catch (error) {
    throw about(error, prefix, "can't list it")
  }
}

/** Fills `into` with a range of an object, without keeping this thread from other work. */
export async function readRange(stores: StoreOf, range: ByteRange, into: Uint8Array): Promise<void> {
  const { file, offset, was } = range
  const store = stores.of(file)
  stores.signal?.throwIfAborted()
  try {
    await store.read(file, offset, into, { was, signal: stores.signal })
  } catch (error) {
    throw named(error, range)
  }
}

/** A whole object, of at most `most` bytes. */
export async function readWhole(stores: StoreOf, file: string, most: number): Promise<Buffer> {
  const { bytes } = await statOf(stores, file)
  if (bytes > most) {
    throw new SourceError(`${file} has ${bytes} bytes, more than the ${most} that are read here`, { file })
  }
  const into = Buffer.allocUnsafeSlow(bytes)
  if (bytes > 0) await readRange(stores, { file, offset: 0, length: bytes }, into)
  return into
}

/** An error that says which bytes of which object could not be read. Files say it themselves. */
export function named(error: unknown, range: ByteRange): unknown {
  if (error instanceof MillraceError || (error as Error)?.name === 'AbortError') return error
  const { file, offset, length, was } = range
  if (was !== undefined && isMissing(error)) return changed(range, 'it is gone')
  if (was !== undefined && codeOf(error) === 'ESTALE') return changed(range, asError(error).message)
  return about(error, file, `can't read ${length} bytes at offset ${offset}`, offset)
}

/** The error for an object that is no longer the one that was indexed. */
export function changed({ file, was }: ByteRange, how: string): ChangedError {
  return new ChangedError(
    `${file} changed during the run: ${how}. What was read no longer fits its index: start again, the index is then made anew`,
    { file },
    typeof was === 'object' ? was.index : undefined,
  )
}

function about(error: unknown, file: string, problem: string, offset?: number): unknown {
  if (error instanceof MillraceError) return error
  const reported = isMissing(error) ? 'there is no such object: check the name' : asError(error).message
  return new SourceError(`${file}: ${problem}: ${reported}`, { file, offset, cause: error })
}
