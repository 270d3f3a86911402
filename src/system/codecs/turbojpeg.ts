/**
 * TurboJPEG through FFI: JPEG bytes to pixels at an address, and pixels to JPEG bytes.
 *
 * The library is found when a thread first needs it: scripts/build.mjs has put it into dist/system/libraries. Results
 * are those of libjpeg-turbo's defaults (accurate integer DCT, smooth chroma upsampling), which are also PIL's and
 * torchvision's.
 *
 * Every picture gets a decompressor of its own. One that is used again keeps the tables of the picture before, and
 * after an error even its markers, so that what a damaged file becomes would depend on the file decoded before it.
 * Making one takes 0.4 µs, a thousandth of what it is made for.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LibraryHandle } from 'koffi'
import { DecodeError, MillraceError, MissingError } from '../../basics/errors.js'
import { koffi, memcpy } from '../native.js'
import { unbroken } from '../node/unbroken.js'

/** What the library says about a JPEG. */
export interface TurboHeader {
  width: number
  height: number
  /** Chroma subsampling; undefined for combinations that have no name, which can't be decoded by region. */
  subsampling: Subsampling | undefined
  colorspace: 'rgb' | 'ycbcr' | 'gray' | 'cmyk' | 'ycck'
  /** Bits a component: 8, or 12 and up for medical and lossless files. */
  precision: number
  progressive: boolean
  lossless: boolean
}

export type Subsampling = '444' | '422' | '420' | 'gray' | '440' | '411' | '441'

export type PixelFormat = keyof typeof PIXEL_FORMATS

/** TJPF_RGB, TJPF_GRAY, TJPF_CMYK. */
const PIXEL_FORMATS = { rgb: 0, gray: 6, cmyk: 11 } as const

// Numbers of turbojpeg.h (enum TJINIT, TJSAMP, TJCS, TJPARAM).
const INIT_COMPRESS = 0
const INIT_DECOMPRESS = 1
const SAMPLINGS: readonly Subsampling[] = ['444', '422', '420', 'gray', '440', '411', '441']
const COLORSPACES = ['rgb', 'ycbcr', 'gray', 'cmyk', 'ycck'] as const
const PARAM = {
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

/**
 * A progressive file may have hundreds of scans of a few bytes, each a pass over all pixels. Real ones have about ten. As
 * many are decoded as cover this many pixels (half a second), or the most below, whichever is less.
 */
const SCANNED_PIXELS = 2 ** 32
const SCAN_LIMIT = { least: 32, most: 500 }
/** A progressive picture is held in memory as a whole, two bytes a value; of smaller ones than this nothing need be said. */
const LARGE_PIXELS = 2 ** 22

/** A rectangle in the scaled picture; x is a multiple of the scaled MCU width. */
export interface TurboRegion {
  x: number
  y: number
  w: number
  h: number
}

interface Library {
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

let library: Library | undefined

/** Reads a JPEG's header. */
export function readHeader(jpeg: Uint8Array): TurboHeader {
  const turbo = (library ??= findLibrary())
  const handle = openHandle(turbo, INIT_DECOMPRESS)
  try {
    if (turbo.header(handle, jpeg, jpeg.length) !== 0) refuse(turbo, handle)
    const get = (param: number) => turbo.get(handle, param)
    return {
      width: get(PARAM.width),
      height: get(PARAM.height),
      subsampling: SAMPLINGS[get(PARAM.subsampling)],
      colorspace: COLORSPACES[get(PARAM.colorspace)],
      precision: get(PARAM.precision),
      progressive: get(PARAM.progressive) === 1,
      lossless: get(PARAM.lossless) === 1,
    }
  } finally {
    turbo.destroy(handle)
  }
}

/**
 * Decodes into memory at address `to`, rows `pitch` bytes apart, at 1/denominator of the size, only `region` of
 * it where one is given. The library writes as much as its own reading of the header says: `width` and `height`
 * are what the caller made room for, and a JPEG that turns out to have another size is refused beforehand. `memory` is
 * how many bytes the library may take for itself.
 */
export function decompress(
  jpeg: Uint8Array,
  width: number,
  height: number,
  to: bigint,
  pitch: number,
  format: PixelFormat,
  denominator: 1 | 2 | 4 | 8 = 1,
  region?: TurboRegion,
  memory = Infinity,
): void {
  const pixels = width * height
  const scans = Math.max(SCAN_LIMIT.least, Math.min(SCAN_LIMIT.most, Math.floor(SCANNED_PIXELS / pixels)))
  const turbo = (library ??= findLibrary())
  const handle = openHandle(turbo, INIT_DECOMPRESS)
  try {
    must(turbo.set(handle, PARAM.scanLimit, scans), turbo, handle)
    if (pixels > LARGE_PIXELS && memory !== Infinity) {
      must(turbo.set(handle, PARAM.maxMemory, Math.max(1, Math.floor(memory / 2 ** 20))), turbo, handle)
    }
    if (turbo.header(handle, jpeg, jpeg.length) !== 0) refuse(turbo, handle)
    const actualWidth = turbo.get(handle, PARAM.width)
    const actualHeight = turbo.get(handle, PARAM.height)
    if (actualWidth !== width || actualHeight !== height) {
      throw new DecodeError(
        `JPEG header is ambiguous: ${width}×${height} or ${actualWidth}×${actualHeight}: the file is damaged`,
      )
    }
    if (denominator !== 1) must(turbo.scale(handle, { num: 1, denom: denominator }), turbo, handle)
    if (region !== undefined && turbo.crop(handle, region) !== 0) refuse(turbo, handle)
    const result = turbo.decompress(handle, jpeg, jpeg.length, to, pitch, PIXEL_FORMATS[format])
    if (result !== 0) refuse(turbo, handle)
  } finally {
    turbo.destroy(handle)
  }
}

/** Encodes packed RGB as baseline JPEG. */
export function encodeJpeg(
  rgb: Uint8Array,
  width: number,
  height: number,
  quality: number,
  subsampling: Exclude<Subsampling, 'gray'> = '420',
): Uint8Array {
  if (!(width > 0 && height > 0) || rgb.length < width * height * 3) {
    throw new MillraceError(`${rgb.length} bytes are not a picture of ${width}×${height} RGB pixels`)
  }
  const turbo = (library ??= findLibrary())
  const handle = openHandle(turbo, INIT_COMPRESS)
  const out = new BigUint64Array(1)
  const length = new BigUint64Array(1)
  const format = PIXEL_FORMATS.rgb
  try {
    must(turbo.set(handle, PARAM.quality, quality), turbo, handle)
    must(turbo.set(handle, PARAM.subsampling, SAMPLINGS.indexOf(subsampling)), turbo, handle)
    must(turbo.compress(handle, rgb, width, width * 3, height, format, out, length), turbo, handle)
    const jpeg = new Uint8Array(Number(length[0]))
    memcpy(jpeg, out[0], jpeg.length)
    return jpeg
  } finally {
    if (out[0] !== 0n) turbo.free(out[0])
    turbo.destroy(handle)
  }
}

/** Which library decodes JPEG here, for `stats()`: "libjpeg-turbo 3.1.2". */
export function libraryVersion(): string {
  library ??= findLibrary()
  try {
    const text = readFileSync(library.path, 'latin1')
    const found = /libjpeg-turbo version (\d+\.\d+(?:\.\d+)?)/.exec(text)
    if (found !== null) return `libjpeg-turbo ${found[1]}`
  } catch {
    // A system library is known by its soname alone: there is no file of that name to look into.
  }
  return `libjpeg-turbo (${library.path})`
}

/**
 * libjpeg's warnings of damage that it can decode around: stray bytes before a marker, a bit error, an odd version.
 * PIL and torchvision deliver such pictures, and ImageNet has some, so we do too. Not among them is the one
 * warning that both treat as an error, the premature end of the file. (The library's error code can't tell: it
 * says "warning" for an error that comes after a warning. The text is that of the error then.)
 */
const HARMLESS =
  /^(Corrupt JPEG data|Inconsistent progression|Warning: unknown JFIF|Invalid SOS param|Unknown Adobe color)/

/** Called when the library reports something: throws unless it can be lived with. */
function refuse(library: Library, handle: bigint): void {
  const text = library.errorText(handle)
  if (HARMLESS.test(text)) return
  if (text.includes('Memory limit')) {
    throw new DecodeError(
      'JPEG takes more memory to decode than there may be: store it smaller, or raise the option "scratch"',
    )
  }
  throw new DecodeError(`JPEG: ${text}`)
}

/** Checks a call that fails only through our own fault. */
function must(result: number, library: Library, handle: bigint): void {
  if (result !== 0) throw new MillraceError(`TurboJPEG: ${library.errorText(handle)}`)
}

function openHandle(library: Library, kind: number): bigint {
  const handle = library.init(kind)
  if (handle === null) throw new MillraceError('TurboJPEG: out of memory')
  return handle
}

// ------------------------------------------------------------------ finding the library

function findLibrary(): Library {
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

/** Where scripts/build.mjs puts the libraries. The same folder whether this file runs from src/ or from dist/. */
const LIBRARIES = fileURLToPath(new URL('../../../dist/system/libraries/', import.meta.url))

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
function bind(path: string, lib: LibraryHandle): Library {
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
