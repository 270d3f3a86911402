/**
 * Shared memory that is mapped once and seen by several threads, each through a view of its own. It stays mapped until the
 * process ends: V8 can't tell when the last view of it is gone.
 */
import { BudgetError } from '../../basics/errors.js'
import { errno, koffi, map } from '../native.js'
import { unbroken } from '../node/unbroken.js'
import type { SharedRegion } from './memory.js'

const PROT_READ_WRITE = 3
const MAP_SHARED = 1

/** Maps a region, for reading and writing. Returns its address. Pages that are not reserved must not be touched. */
export function mapRegion({ fd, bytes }: SharedRegion): bigint {
  const address = map(null, bytes, PROT_READ_WRITE, MAP_SHARED, fd)
  if (address !== undefined) return address
  throw new BudgetError(`can't map ${bytes} bytes of shared memory: errno ${errno()}; check \`ulimit -v\``)
}

/** Mapped memory as a buffer of this thread's. */
export function viewOf(address: bigint, bytes: number): ArrayBuffer {
  return unbroken(() => koffi.view(address, bytes))
}
