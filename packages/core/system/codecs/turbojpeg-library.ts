/**
 * libturbojpeg through FFI: finds the library, and binds its functions. scripts/build.mjs has put it into
 * dist/core/system/libraries; it is loaded when a thread first needs it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LibraryHandle } from 'koffi'
import { MillraceError, MissingError } from '../../basics/errors.js'
import { koffi } from '../native.js'
import { unbroken } from '../node/unbroken.js'

// Numbers of turbojpeg.h (enum TJINIT, TJSAMP, TJPARAM).
export const INIT_COMPRESS = 0
export const INIT_DECOMPRESS = 1
export const SAMPLINGS = ['444', '422', '420', 'gray', '440', '411', '441'] as const
export const PARAM = {
  quality: 3,
  subsampling: 4,
  width: 5,
  height: 6,
  precision: 7,
  colorspace: 8,
  progressive: 12,
  scanLimit: 13,
  lossless: 15,
  maxMemory: 23,
} as const

/** Chroma subsampling. */
export type Subsampling = (typeof SAMPLINGS)[number]

/** A rectangle in the scaled picture; x is a multiple of the scaled MCU width. */
export interface TurboRegion {
  x: number
  y: number
  w: number
  h: number
}

export interface TurboLibrary {
  path: string
  init(kind: number): bigint | null
  destroy(handle: bigint): void
  set(handle: bigint, param: number, value: number): number
  get(handle: bigint, param: number): number
  header(handle: bigint, jpeg: Uint8Array, length: number): number
  scale(handle: bigint, factor: { num: number; denom: number }): number
  crop(handle: bigint, region: TurboRegion): number
  decompress(
    handle: bigint,
    jpeg: Uint8Array,
    length: number,
    to: bigint,
    pitch: number,
    format: number,
  ): number
  compress(
    handle: bigint,
    pixels: Uint8Array,
    width: number,
    pitch: number,
    height: number,
    format: number,
    jpeg: BigUint64Array,
    length: BigUint64Array,
  ): number
  free(pointer: bigint): void
  errorText(handle: bigint): string
}

let library: TurboLibrary | undefined

/** The library, found and bound on the first call. Throws a MissingError where there is none. */
export function turboLibrary(): TurboLibrary {
  library ??= findLibrary()
  return library
}

/** Which library decodes JPEG here, for `stats()`: "libjpeg-turbo 3.1.2". */
export function libraryVersion(): string {
  const { path } = turboLibrary()
  try {
    const text = readFileSync(path, 'latin1')
    const found = /libjpeg-turbo version (\d+\.\d+(?:\.\d+)?)/.exec(text)
    if (found !== null) return `libjpeg-turbo ${found[1]}`
  } catch {
    // A system library is known by its soname alone: there is no file of that name to look into.
  }
  return `libjpeg-turbo (${path})`
}

export function openHandle(library: TurboLibrary, kind: number): bigint {
  const handle = library.init(kind)
  if (handle === null) throw new MillraceError('TurboJPEG: out of memory')
  return handle
}

/** Checks a call that fails only through our own fault. */
export function must(result: number, library: TurboLibrary, handle: bigint): void {
  if (result !== 0) throw new MillraceError(`TurboJPEG: ${library.errorText(handle)}`)
}

function findLibrary(): TurboLibrary {
  const tried: string[] = []
  for (const path of candidates()) {
    try {
      return unbroken(() => bind(path, koffi.load(path)))
    } catch (error) {
      tried.push(`${path}: ${(error as Error).message.trim()}`)
    }
  }
  throw new MissingError(
    'JPEG needs TurboJPEG 3, which was not found: install libjpeg-turbo 3 (in a checkout, run "npm run build"), or set ' +
      `MILLRACE_TURBOJPEG to a libturbojpeg.so of version 3 or later.\n  tried ${tried.join('\n  tried ')}`,
  )
}

/** Where scripts/build.mjs puts the libraries. The same folder whether this file runs from packages/ or from dist/. */
const LIBRARIES = fileURLToPath(new URL('../../../../dist/core/system/libraries/', import.meta.url))

function candidates(): string[] {
  const given = process.env.MILLRACE_TURBOJPEG
  if (given !== undefined && given !== '') return [given]
  const { platform, arch } = process
  if (platform === 'darwin')
    return ['/opt/homebrew/lib', '/usr/local/lib'].map(folder => join(folder, 'libturbojpeg.dylib'))
  // One of the two libcs refuses the other's library; the system may have one where we bring none.
  const ours = ['', '-musl'].map(libc => join(LIBRARIES, `${platform}-${arch}${libc}`, 'libturbojpeg.so.0'))
  return [...ours, 'libturbojpeg.so.0', 'libturbojpeg.so']
}

/** Binds the functions; throws where one is absent, as in libturbojpeg 2. */
function bind(path: string, lib: LibraryHandle): TurboLibrary {
  const region = koffi.struct({ x: 'int', y: 'int', w: 'int', h: 'int' })
  const factor = koffi.struct({ num: 'int', denom: 'int' })
  return {
    path,
    init: lib.func('void *tj3Init(int kind)'),
    destroy: lib.func('void tj3Destroy(void *handle)'),
    set: lib.func('int tj3Set(void *handle, int param, int value)'),
    get: lib.func('int tj3Get(void *handle, int param)'),
    header: lib.func('int tj3DecompressHeader(void *handle, const void *jpeg, size_t length)'),
    scale: lib.func('tj3SetScalingFactor', 'int', ['void *', factor]),
    crop: lib.func('tj3SetCroppingRegion', 'int', ['void *', region]),
    decompress: lib.func(
      'int tj3Decompress8(void *handle, const void *jpeg, size_t length, void *to, int pitch, int format)',
    ),
    compress: lib.func(
      'int tj3Compress8(void *handle, const void *pixels, int width, int pitch, int height, int format, ' +
        'void *jpeg, void *length)',
    ),
    free: lib.func('void tj3Free(void *pointer)'),
    errorText: lib.func('const char *tj3GetErrorStr(void *handle)'),
  }
}
