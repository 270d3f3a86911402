/**
 * Libraries of the system that decompress faster than what Node has: libdeflate is two to three times as fast as zlib. No package of
 * the npm registry was found that carries libdeflate's binary (sharp's libvips has it, without its symbols).
 *
 * Each is looked for once a thread, when it is first needed. What a call returns through a pointer goes into a typed array (see
 * native.ts).
 */
import type { LibraryHandle } from 'koffi'
import { koffi } from '../native.js'
import { unbroken } from '../node/unbroken.js'

/** What `bind` makes of the first of these libraries that can be loaded: it declares the functions. */
export function bindFirst<T>(
  names: readonly string[],
  bind: (library: LibraryHandle) => T | undefined,
): T | undefined {
  for (const name of names) {
    try {
      return unbroken(() => bind(koffi.load(name)))
    } catch {
      // the next name
    }
  }
  return undefined
}

export type Wrapping = 'deflate' | 'zlib' | 'gzip'

export type InflateResult = 'bad data' | 'too large' | { read: number; written: number }

/** Decompresses one stream (of gzip: one member) from the beginning of `from`. */
export type Libdeflate = (wrapping: Wrapping, from: Uint8Array, into: Uint8Array) => InflateResult

const DEFLATE_NAMES = ['libdeflate.so.0', 'libdeflate.0.dylib', '/opt/homebrew/lib/libdeflate.0.dylib']

const SUCCESS = 0
const INSUFFICIENT_SPACE = 3

/** libdeflate; undefined where there is none. */
export function openLibdeflate(names: readonly string[] = DEFLATE_NAMES): Libdeflate | undefined {
  return bindFirst(names, bindLibdeflate)
}

function bindLibdeflate(library: LibraryHandle): Libdeflate | undefined {
  const state = library.func('void *libdeflate_alloc_decompressor(void)')() as bigint | null
  if (state === null) return undefined
  const sizes = new BigUint64Array(2)
  const [read, written] = [sizes.subarray(0, 1), sizes.subarray(1)]
  const calls = Object.fromEntries(
    (['deflate', 'zlib', 'gzip'] as const).map(wrapping => [
      wrapping,
      library.func(
        `int libdeflate_${wrapping}_decompress_ex(void *state, const void *from, size_t length, void *to, size_t room, void *read, void *written)`,
      ),
    ]),
  )
  return (wrapping, from, into) => {
    const result = calls[wrapping](state, from, from.length, into, into.length, read, written)
    if (result === SUCCESS) return { read: Number(sizes[0]), written: Number(sizes[1]) }
    return result === INSUFFICIENT_SPACE ? 'too large' : 'bad data'
  }
}

/** Decompresses a block into `into`, which may refer to `before`, the bytes right before `into`. Negative: it can't be. */
export type Liblz4 = (from: Uint8Array, into: Uint8Array, before: Uint8Array) => number

const LZ4_NAMES = ['liblz4.so.1', 'liblz4.1.dylib', '/opt/homebrew/lib/liblz4.1.dylib']

/** liblz4; undefined where there is none. */
export function openLiblz4(names: readonly string[] = LZ4_NAMES): Liblz4 | undefined {
  const decompress = bindFirst(names, library =>
    library.func(
      'int LZ4_decompress_safe_usingDict(const void *from, void *to, int length, int room, const void *before, int lengthBefore)',
    ),
  )
  if (decompress === undefined) return undefined
  return (from, into, before) =>
    decompress(from, into, from.length, into.length, before, before.length) as number
}
