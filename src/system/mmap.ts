/**
 * Files as memory. An index is looked at where it lies in the page cache: nothing is parsed, nothing is copied,
 * and all threads and processes of a host share the same pages.
 *
 * V8 can't tell when the last view of foreign memory is gone, so a mapping lives until the process ends. It takes
 * address space, not memory, but a process may have only so many (65,530 by default): a file is mapped once, for all
 * threads and all feeds that look at it.
 */
import { createHash } from 'node:crypto'
import { type BigIntStats, closeSync, fstatSync, openSync } from 'node:fs'
import { errno, koffi, map, unmap } from './native.js'

const PROT_READ = 1
const MAP_SHARED = 1
/** Files that are remembered, as a power of two. */
const PLACES_LOG = 16
const PLACES = 1 << PLACES_LOG
/** How long a thread waits for another that is mapping the same file, in ms; then it has a mapping of its own. */
const PATIENCE = 100

/** Which file lies where: its fingerprint and its address, for each place. Zeros: nothing yet. */
let table = new BigInt64Array(new SharedArrayBuffer(PLACES * 16))

/** What this thread knows to be mapped, for other threads of the process to know as well. */
export function mappings(): SharedArrayBuffer {
  return table.buffer as SharedArrayBuffer
}

/** Takes over what another thread knows, before anything is mapped here. */
export function shareMappings(shared: SharedArrayBuffer): void {
  table = new BigInt64Array(shared)
}

/**
 * Maps a whole file, read-only: writing to the result kills the process. The file may be replaced by rename meanwhile
 * (the mapping keeps the old contents), but must not be shortened.
 */
export function mapFile(path: string): ArrayBuffer {
  const fd = openSync(path, 'r')
  try {
    const stats = fstatSync(fd, { bigint: true })
    const size = Number(stats.size)
    if (size === 0) return new ArrayBuffer(0) // the system refuses empty mappings
    const file = fingerprint(stats)
    return koffi.view(known(file) ?? remember(file, mapNew(path, fd, size), size), size)
  } finally {
    closeSync(fd)
  }
}

function mapNew(path: string, fd: number, size: number): bigint {
  const address = map(null, size, PROT_READ, MAP_SHARED, fd)
  if (address !== undefined) return address
  throw new Error(
    `can't map ${path} (${size} bytes): errno ${errno()}; check \`ulimit -v\` and \`sysctl vm.max_map_count\``,
  )
}

/** Never 0. A file that is mapped keeps its inode, so no other file can have it. */
function fingerprint({ dev, ino, size, mtimeNs }: BigIntStats): bigint {
  const digest = createHash('sha256').update(`${dev} ${ino} ${size} ${mtimeNs}`).digest()
  return digest.readBigInt64LE() | 1n
}

/** Places at which a file may be noted, in the order in which they are looked at. */
function* places(file: bigint): Generator<number> {
  const first = Number(BigInt.asUintN(PLACES_LOG, file))
  for (let i = 0; i < PLACES; i++) yield 2 * ((first + i) % PLACES)
}

/** The address of a file that is mapped already. */
function known(file: bigint): bigint | undefined {
  for (const at of places(file)) {
    const there = Atomics.load(table, at)
    if (there === 0n) return undefined
    if (there === file) return addressAt(at)
  }
  return undefined
}

/** Notes a mapping; the address to use: another thread's, if that was quicker. */
function remember(file: bigint, address: bigint, size: number): bigint {
  for (const at of places(file)) {
    const there = Atomics.compareExchange(table, at, 0n, file)
    if (there === 0n) {
      Atomics.store(table, at + 1, address)
      Atomics.notify(table, at + 1)
      return address
    }
    if (there !== file) continue
    const other = addressAt(at)
    if (other !== undefined) unmap(address, size)
    return other ?? address
  }
  return address
}

/** Whoever has taken a place writes the address at once; unless it was ended just then. */
function addressAt(place: number): bigint | undefined {
  Atomics.wait(table, place + 1, 0n, PATIENCE)
  return Atomics.load(table, place + 1) || undefined
}
