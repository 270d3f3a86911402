/** What an index tells of the file or object that it was made from. */
import type { LocalVersion } from '../../store/identity.js'
import type { Stat } from '../../store/store.js'

/** All that is known of a local file, or size and version of an object in another store. */
export type IndexedObject = LocalVersion | { size: number; version: string }

export function indexedObject({ bytes, version }: Stat): IndexedObject {
  return typeof version === 'string' ? { size: bytes, version } : (version as LocalVersion)
}

/** Whether a value from an index is one of these. */
export function isIndexedObject(value: Partial<LocalVersion & { version: string }> | undefined): boolean {
  const { size, mtimeMs, ctimeMs, ino, version } = value ?? {}
  const numbers = version === undefined ? [size, mtimeMs, ctimeMs, ino] : [size]
  return (
    numbers.every(number => typeof number === 'number') && ['undefined', 'string'].includes(typeof version)
  )
}

/** Whether all that is known is equal. */
export function isSameObject(a: IndexedObject, b: IndexedObject): boolean {
  if (a.size !== b.size) return false
  if ('version' in a || 'version' in b) return 'version' in a && 'version' in b && a.version === b.version
  return a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.ino === b.ino
}
