/**
 * Shared memory without names: a memfd that lies under a WebAssembly memory. Worker threads and SIMD kernels see
 * it through the memory, other processes through /proc/PID/fd/N, and when the last of them is gone the kernel
 * frees it: nothing to unlink, nothing left behind.
 */
import { closeSync, ftruncateSync, openSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BudgetError } from '../../basics/errors.js'
import { addressOf, errno, koffi, libc, map, memcpy, unmap } from '../native.js'

/** A page of WebAssembly memory: the grain of every region here. */
export const PAGE = 65536

/** What one WebAssembly memory can address. */
export const MEMORY_LIMIT = 4 * 2 ** 30

const PROT_READ_WRITE = 3
const MAP_SHARED = 0x01
const MAP_FIXED = 0x10
/** Linux's: private, anonymous, and without a claim to memory before it is used. */
const MAP_BLANK = 0x02 | 0x20 | 0x4000
const MREMAP_OVER = 1 | 2
const MADV_DONTNEED = 4
const MFD_CLOEXEC = 1
const MFD_ALLOW_SEALING = 2
const F_ADD_SEALS = 1033
const F_SEAL_SIZE = 2 | 4
/** Linux 5.1: mappings that are there may still be written, new ones and `write` may not. */
const F_SEAL_FUTURE_WRITE = 16
const ENOSPC = koffi.os.errno.ENOSPC

/** Some systems lack it: looked up when it is needed. */
const posixFallocate = () => libc.func('int posix_fallocate(int fd, int64_t offset, int64_t length)')
/** Linux's own. */
const mremap = () => libc.func('void *mremap(void *from, size_t bytes, size_t newBytes, int flags, void *to)')
const fcntl = () => libc.func('int fcntl(int fd, int command, ...)')
const madvise = () => libc.func('int madvise(void *at, size_t length, int advice)')

/** Memory that several threads, kernels and processes share. */
export interface SharedRegion {
  /** File descriptor of the memfd; other processes open `/proc/PID/fd/FD`. */
  fd: number
  bytes: number
}

/**
 * A WebAssembly memory of `bytes`. Its addresses are reserved at once, up to 4 GiB and guard regions around them: what
 * stands in the way of that is a limit on address space, not memory.
 */
export function newMemory(
  bytes: number,
  options: { shared?: boolean; grows?: boolean } = {},
): WebAssembly.Memory {
  const initial = bytes / PAGE
  const maximum = options.grows ? MEMORY_LIMIT / PAGE : initial
  try {
    return new WebAssembly.Memory({ initial, maximum, shared: options.shared ?? false })
  } catch (cause) {
    throw new BudgetError(
      `can't reserve addresses for ${Math.ceil(bytes / 2 ** 20)} MiB of batch memory (${(cause as Error).message}): ` +
        'a limit on virtual memory is in the way; lift it with `ulimit -v unlimited`, or lower the depth',
    )
  }
}

/** Rounds up to whole pages. */
export function pages(bytes: number): number {
  return Math.ceil(bytes / PAGE) * PAGE
}

/** Makes a region that can have up to `bytes`; nothing of it can be used before it is reserved. /proc shows its name. */
export function createRegion(bytes: number, name = 'millrace'): SharedRegion {
  const fd = anonymousFile(name)
  ftruncateSync(fd, bytes)
  return { fd, bytes }
}

/**
 * Keeps other processes from changing a region's size, which would kill this one by SIGBUS, and, with `readOnly`, from
 * writing to it: only what is mapped here by now can be written. A system that knows no such seals goes without them.
 */
export function seal(region: SharedRegion, readOnly: boolean): void {
  if (process.platform !== 'linux') return
  fcntl()(region.fd, F_ADD_SEALS, 'int', F_SEAL_SIZE)
  if (readOnly) fcntl()(region.fd, F_ADD_SEALS, 'int', F_SEAL_FUTURE_WRITE)
}

/**
 * Reserves `bytes` of a region, from the byte `from` on. The pages are taken from the system now (fallocate), not hoped
 * for: running out later would kill the process with SIGBUS.
 */
export async function reserve(region: SharedRegion, bytes: number, from = 0): Promise<void> {
  const status = await fallocate(region.fd, from, bytes)
  if (status !== 0) {
    const why =
      status === ENOSPC ? 'no space left (RAM, or the memory limit of the container)' : `errno ${status}`
    throw new BudgetError(
      `can't reserve ${Math.ceil(bytes / 2 ** 20)} MiB of shared memory for batches: ${why}. ` +
        'Lower the depth or the batch size, or raise the memory limit',
    )
  }
}

/** The same for a small region, or a small part of one, at once. */
export function reserveSync(region: SharedRegion, bytes = region.bytes, from = 0): void {
  const status: number = posixFallocate()(region.fd, from, bytes)
  if (status !== 0) {
    throw new BudgetError(
      `can't reserve ${Math.ceil(bytes / 2 ** 20)} MiB of shared memory: errno ${status}; raise the memory limit`,
    )
  }
}

export function free(region: SharedRegion): void {
  closeSync(region.fd)
}

/** Maps a stretch of the region over a WebAssembly memory, from its byte `at` on. All offsets are whole pages. */
export function mapOver(
  memory: WebAssembly.Memory,
  region: SharedRegion,
  offset = 0,
  bytes = region.bytes,
  at = 0,
): void {
  const address = addressOf(memory.buffer) + BigInt(at)
  if (map(address, bytes, PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, region.fd, offset) !== address) {
    throw new BudgetError(`can't map ${bytes} bytes of shared memory: errno ${errno()}; check \`ulimit -v\``)
  }
}

/**
 * Gives the pages of a memory back to the system: what is under it from now on is blank, but for its first `kept` bytes.
 * V8 frees a memory once every thread that has known it has collected its garbage, and a thread with nothing to do never
 * does. A thread that still reads it finds zeros: the addresses stay mapped at every moment.
 */
export function vacate(memory: WebAssembly.Memory, kept = 0): void {
  if (process.platform !== 'linux') return
  const address = addressOf(memory.buffer)
  const bytes = memory.buffer.byteLength
  const blank = map(null, bytes, PROT_READ_WRITE, MAP_BLANK, -1)
  if (blank === undefined) return // no addresses left: the pages stay taken
  if (kept > 0) memcpy(blank, address, kept)
  if (BigInt(mremap()(blank, bytes, bytes, MREMAP_OVER, address)) !== address) unmap(blank, bytes)
}

/** The same for a buffer that has pages of its own. */
export function vacateBuffer(buffer: SharedArrayBuffer): void {
  if (process.platform !== 'linux') return
  const address = addressOf(buffer)
  const first = (address + 4095n) & ~4095n
  const behind = (address + BigInt(buffer.byteLength)) & ~4095n
  if (behind > first) madvise()(first, Number(behind - first), MADV_DONTNEED)
}

/** A memfd where the system has it, otherwise a temporary file that loses its name at once. */
function anonymousFile(name: string): number {
  if (process.platform === 'linux') {
    const memfd = libc.func('int memfd_create(const char *name, unsigned int flags)')
    const fd: number = memfd(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)
    if (fd >= 0) return fd
  }
  const path = join(tmpdir(), `millrace-${process.pid}-${Date.now()}`)
  const fd = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return fd
}

/** Takes the pages, in a thread of libuv's pool: about 0.1 s a GiB. Gives 0 or an errno. */
function fallocate(fd: number, from: number, bytes: number): Promise<number> {
  return new Promise((resolve, reject) => {
    posixFallocate().async(fd, from, bytes, (error: Error | null, status: number) =>
      error ? reject(error) : resolve(status),
    )
  })
}
