/**
 * Files as memory. An index is looked at where it lies in the page cache: nothing is parsed, nothing is copied,
 * and all threads and processes of a host share the same pages.
 *
 * V8 can't tell when the last view of foreign memory is gone, so a mapping lives until the process ends. It takes
 * address space, not memory, but a process may have only so many (65,530 by default, which V8's own memory needs as well): a file
 * is mapped once, for all threads and all feeds that look at it, and from some number on files are read into memory that the
 * garbage collector frees.
 */
import { createHash } from 'node:crypto'
import { type BigIntStats, closeSync, fstatSync, readSync } from 'node:fs'
import { openRegular } from '../files/regular.js'
import { errno, koffi, map, unmap } from '../native.js'
import { unbroken } from '../node/unbroken.js'

const PROT_READ = 1
const MAP_SHARED = 1
/** Linux's: the whole file is mapped at once, instead of by one fault for every 64 KiB. It is read as a whole anyway. */
const MAP_POPULATE = process.platform === 'linux' ? 0x8000 : 0
/** Files that are remembered, as a power of two. */
const PLACES_LOG = 16
const PLACES = 1 << PLACES_LOG
/** Files that a process maps: a quarter of the default limit; half of it where a copy in each thread would be large. */
const MOST_MAPPED = { small: 16_384, large: 32_768 }
/** From this size on a file is large, in bytes. */
const LARGE = 1 << 20
/** Up to this size a file is read, where no more may be mapped, without a look for a mapping of it: that takes longer. Bytes. */
const SMALL = 16 << 10
/** How long a thread waits for another that is mapping the same file, in ms; then it has a mapping of its own. */
const WAIT_MS = 100

/** Words of a place in the table: the file's fingerprint, its address, and its marks. */
const WORDS = 3

/** The word after all places: how many files are mapped. */
const MAPPED = PLACES * WORDS

/** Which file lies where. Zeros: nothing yet. */
let table = new BigInt64Array(new SharedArrayBuffer((MAPPED + 1) * 8))
/** Bytes of the files that this thread has read, since they could not be mapped. */
let copied = 0

/** A file as memory. */
export interface MappedFile {
  buffer: ArrayBuffer
  /** 64 bits for what is known about this very file, such as "its checksum is right": all threads share them. */
  marks: { words: BigInt64Array; at: number }
}

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
export function mapFile(path: string): MappedFile {
  const { fd, stats } = openRegular(path)
  try {
    const { size } = stats
    if (size === 0) return { buffer: new ArrayBuffer(0), marks: unshared() } // the system refuses empty mappings
    const full = Atomics.load(table, MAPPED) >= (size < LARGE ? MOST_MAPPED.small : MOST_MAPPED.large)
    if (full && size <= SMALL) return { buffer: copyOf(path, fd, size), marks: unshared() }
    const file = fingerprint(fstatSync(fd, { bigint: true }))
    const there = known(file)
    if (full && there === undefined) return { buffer: copyOf(path, fd, size), marks: unshared() }
    const { address, marks } = there ?? remember(file, mapNew(path, fd, size), size)
    return { buffer: unbroken(() => koffi.view(address, size)), marks }
  } finally {
    closeSync(fd)
  }
}

/** Bytes that this thread has copied so far, of all files that could not be mapped. */
export function copiedBytes(): number {
  return copied
}

function copyOf(path: string, fd: number, size: number): ArrayBuffer {
  const bytes = new Uint8Array(size)
  for (let at = 0; at < size; ) {
    const got = readSync(fd, bytes, at, size - at, at)
    if (got === 0) throw new Error(`${path} ends after ${at} of ${size} bytes: it was shortened just now`)
    at += got
  }
  copied += size
  return bytes.buffer
}

interface Place {
  address: bigint
  marks: MappedFile['marks']
}

/** Marks of a mapping that no other thread knows of. */
function unshared(): MappedFile['marks'] {
  return { words: new BigInt64Array(1), at: 0 }
}

function mapNew(path: string, fd: number, size: number): bigint {
  const address = map(null, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd)
  if (address !== undefined) {
    Atomics.add(table, MAPPED, 1n)
    return address
  }
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
  for (let i = 0; i < PLACES; i++) yield WORDS * ((first + i) % PLACES)
}

/** The address of a file that is mapped already. */
function known(file: bigint): Place | undefined {
  for (const at of places(file)) {
    const there = Atomics.load(table, at)
    if (there === 0n) return undefined
    if (there === file) return placeAt(at)
  }
  return undefined
}

/** Notes a mapping. Returns the one to use: that of another thread, if it was quicker. */
function remember(file: bigint, address: bigint, size: number): Place {
  for (const at of places(file)) {
    const there = Atomics.compareExchange(table, at, 0n, file)
    if (there === 0n) {
      Atomics.store(table, at + 1, address)
      Atomics.notify(table, at + 1)
      return { address, marks: { words: table, at: at + 2 } }
    }
    if (there !== file) continue
    const other = placeAt(at)
    if (other !== undefined) {
      unmap(address, size)
      Atomics.sub(table, MAPPED, 1n)
    }
    return other ?? { address, marks: unshared() }
  }
  return { address, marks: unshared() }
}

/** Waits for the address: the thread that took the place writes it at once, unless that thread was ended just then. */
function placeAt(at: number): Place | undefined {
  Atomics.wait(table, at + 1, 0n, WAIT_MS)
  const address = Atomics.load(table, at + 1)
  return address === 0n ? undefined : { address, marks: { words: table, at: at + 2 } }
}
