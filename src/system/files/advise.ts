/**
 * Hints to the kernel's page cache: posix_fadvise and readahead. They change speed, never results; where the
 * platform lacks them they do nothing, and `supported()` says so.
 */
import { libc } from '../native.js'

/** Numbers as in <fcntl.h> on Linux, x64 and arm64. */
const ADVICES = { normal: 0, random: 1, sequential: 2, willneed: 3, dontneed: 4 } as const

export type Advice = keyof typeof ADVICES

type Fadvise = (fd: number, offset: number, length: number, advice: number) => number
type Readahead = (fd: number, offset: number, length: number) => number

// macOS has neither; musl and glibc have both.
const fadvise = find<Fadvise>('int posix_fadvise(int fd, int64_t offset, int64_t length, int advice)')
const readahead = find<Readahead>('int64_t readahead(int fd, int64_t offset, size_t length)')

/** Whether hints reach the kernel on this platform. */
export function supported(): boolean {
  return fadvise !== undefined
}

/** Says how a stretch of an open file will be used; `length` 0 means up to its end. True if the kernel took it. */
export function advise(fd: number, advice: Advice, offset = 0, length = 0): boolean {
  return fadvise !== undefined && fadvise(fd, offset, length, ADVICES[advice]) === 0
}

/** Starts reading a stretch into the page cache; may wait for a slot in the disk's queue. True if it began. */
export function readAhead(fd: number, offset: number, length: number): boolean {
  return readahead !== undefined && readahead(fd, offset, length) === 0
}

function find<F>(prototype: string): F | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return libc.func(prototype) as unknown as F
  } catch {
    return undefined
  }
}
