/**
 * The way to native code: koffi, loaded once, and the C library. Nothing but `core/system/` and `cuda/driver/` imports this.
 *
 * What a function returns through a pointer goes into a typed array, given as `void *`, never through `_Out_`, `_Inout_` or
 * `koffi.view`: those call into V8 afterwards, and where the thread is being terminated at that moment, koffi ends the
 * whole process (SIGABRT). Loading a library and declaring its functions do so too. Where it can't be helped, the call is
 * made `unbroken`.
 */
import koffi, { type LibraryHandle } from 'koffi'
import { unbroken } from './node/unbroken.js'

export { koffi }

/** The C library's names on glibc, musl and macOS. */
const LIBC = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1', 'libSystem.B.dylib']
const loaded = unbroken(() => loadFirst(LIBC))

/** The C library. */
export const libc = {
  func: (definition: string): ReturnType<LibraryHandle['func']> => unbroken(() => loaded.func(definition)),
  symbol: (name: string): unknown => loaded.symbol(name),
}

function loadFirst(names: readonly string[]): LibraryHandle {
  const problems: string[] = []
  for (const name of names) {
    try {
      return koffi.load(name)
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  throw new Error(`no C library found: ${problems.join('; ')}`)
}

/** Address of the first byte of a buffer. The buffer must stay alive and must not be resized while it is used. */
export function addressOf(buffer: ArrayBuffer | SharedArrayBuffer): bigint {
  return BigInt(koffi.address(new Uint8Array(buffer)))
}

const mmap = libc.func(
  'void *mmap(void *at, size_t length, int protection, int flags, int fd, int64_t offset)',
)

/** Where the system has mapped memory; undefined when it refused, and `errno` says why. */
export function map(
  at: bigint | null,
  bytes: number,
  protection: number,
  flags: number,
  fd: number,
  offset = 0,
): bigint | undefined {
  const address = BigInt.asUintN(64, BigInt(mmap(at, bytes, protection, flags, fd, offset)))
  return address === 2n ** 64n - 1n ? undefined : address
}

export const unmap = libc.func('int munmap(void *at, size_t length)')
export const memcpy = libc.func('void *memcpy(void *to, const void *from, size_t bytes)')

/** The errno of the last call on this thread. */
export function errno(): number {
  return koffi.errno()
}
