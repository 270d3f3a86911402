/**
 * TurboJPEG: JPEG bytes to pixels at an address, and pixels to JPEG bytes. Results are those of libjpeg-turbo's defaults
 * (accurate integer DCT, smooth chroma upsampling), which are also PIL's and torchvision's.
 *
 * Every picture gets a decompressor of its own. One that is used again keeps the tables of the picture before, and
 * after an error even its markers, so that what a damaged file becomes would depend on the file decoded before it.
 * Making one takes 0.4 µs, a thousandth of what it is made for.
 */
import { DecodeError, MillraceError } from '../../basics/errors.js'
import { memcpy } from '../native.js'
import {
  INIT_COMPRESS,
  INIT_DECOMPRESS,
  must,
  openHandle,
  PARAM,
  SAMPLINGS,
  type Subsampling,
  type TurboLibrary,
  type TurboRegion,
  turboLibrary,
} from './turbojpeg-library.js'

type PixelFormat = keyof typeof PIXEL_FORMATS

/** TJPF_RGB, TJPF_GRAY, TJPF_CMYK. */
const PIXEL_FORMATS = { rgb: 0, gray: 6, cmyk: 11 } as const

/**
 * A progressive file may have hundreds of scans of a few bytes, each a pass over all pixels. Real ones have about ten. As
 * many are decoded as cover this many pixels (half a second), at least 32 and at most 500.
 */
const SCANNED_PIXELS = 2 ** 32
const SCAN_LIMIT = { least: 32, most: 500 }
/** A progressive picture is held in memory as a whole, two bytes a value; only larger ones than this get a limit. */
const LARGE_PIXELS = 2 ** 22

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
  const turbo = turboLibrary()
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
  const turbo = turboLibrary()
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

/**
 * libjpeg's warnings of damage that it can decode around: stray bytes before a marker, a bit error, an odd version.
 * PIL and torchvision deliver such pictures, and ImageNet has some, so we do too. Not among them is the one
 * warning that both treat as an error, the premature end of the file. (The library's error code can't tell: it
 * says "warning" for an error that comes after a warning. The text is that of the error then.)
 */
const HARMLESS =
  /^(Corrupt JPEG data|Inconsistent progression|Warning: unknown JFIF|Invalid SOS param|Unknown Adobe color)/

/** Called when the library reports something: throws unless it can be lived with. */
function refuse(library: TurboLibrary, handle: bigint): void {
  const text = library.errorText(handle)
  if (HARMLESS.test(text)) return
  if (text.includes('Memory limit')) {
    throw new DecodeError(
      'JPEG takes more memory to decode than there may be: store it smaller, or raise the option "scratch"',
    )
  }
  throw new DecodeError(`JPEG: ${text}`)
}
