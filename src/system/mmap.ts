/**
 * Files as memory. An index is looked at where it lies in the page cache: nothing is parsed, nothing is copied,
 * and all threads and processes of a host share the same pages.
 */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { errno, koffi, libc } from './native.js'

const PROT_READ = 1
const MAP_SHARED = 1
const FAILED = 2n ** 64n - 1n

const mmap = libc.func(
  'void *mmap(void *at, size_t length, int protection, int flags, int fd, int64_t offset)',
)

/**
 * Maps a whole file, read-only: writing to the result kills the process. The mapping lives until the process
 * ends, since V8 can't tell when the last view of foreign memory is gone; it takes address space, not memory.
 * The file may be replaced by rename meanwhile (the mapping keeps the old contents), but must not be shortened.
 * Every thread maps for itself.
 */
export function mapFile(path: string): ArrayBuffer {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    if (size === 0) return new ArrayBuffer(0) // the system refuses empty mappings
    const address: bigint = mmap(null, size, PROT_READ, MAP_SHARED, fd, 0)
    if (BigInt.asUintN(64, BigInt(address)) === FAILED) {
      throw new Error(`can't map ${path} (${size} bytes): errno ${errno()}; check \`ulimit -v\``)
    }
    return koffi.view(address, size)
  } finally {
    closeSync(fd)
  }
}
