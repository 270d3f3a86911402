/** Hints to the kernel's page cache (posix_fadvise). They change speed, never results; macOS has none. */
import { libc } from '../native.js'

/** Numbers as in <fcntl.h> on Linux, x64 and arm64. */
const ADVICES = { random: 1, sequential: 2, willNeed: 3 } as const

export type Advice = keyof typeof ADVICES

type Fadvise = (fd: number, offset: number, length: number, advice: number) => number

const fadvise = find()

/** Says how an open file, or a range of it, will be read. A length of 0: up to its end. True if the kernel took it. */
export function advise(fd: number, advice: Advice, offset = 0, length = 0): boolean {
  return fadvise !== undefined && fadvise(fd, offset, length, ADVICES[advice]) === 0
}

function find(): Fadvise | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return libc.func(
      'int posix_fadvise(int fd, int64_t offset, int64_t length, int advice)',
    ) as unknown as Fadvise
  } catch {
    return undefined
  }
}
