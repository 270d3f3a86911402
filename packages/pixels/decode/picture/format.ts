/** Recognising picture formats by their first bytes. Names of files are never asked. */
import { DecodeError } from '../../../core/basics/errors.js'

export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'bmp' | 'tiff' | 'avif'

/** The format of a picture; throws for anything that is not a picture we can decode. */
export function imageFormat(bytes: Uint8Array): ImageFormat {
  if (bytes.length === 0) throw new DecodeError('empty: there are zero bytes')
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'jpeg'
  if (starts(bytes, '\x89PNG\r\n\x1a\n')) return 'png'
  if (starts(bytes, 'RIFF') && starts(bytes, 'WEBP', 8)) return 'webp'
  if (starts(bytes, 'GIF87a') || starts(bytes, 'GIF89a')) return 'gif'
  if (starts(bytes, 'BM')) return 'bmp'
  if (starts(bytes, 'II*\0') || starts(bytes, 'MM\0*')) return 'tiff'
  if (starts(bytes, 'II+\0') || starts(bytes, 'MM\0+')) return 'tiff' // BigTIFF
  if (starts(bytes, 'ftyp', 4) && ['avif', 'mif1'].some(brand => starts(bytes, brand, 8))) return 'avif'
  const known = KNOWN.find(([magic, at]) => starts(bytes, magic, at))
  if (known !== undefined) {
    throw new DecodeError(`is ${known[2]}, which can't be decoded: convert it to JPEG, PNG or WebP`)
  }
  throw new DecodeError(
    `starts with ${opening(bytes)}, not an image format we know (JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF)`,
  )
}

/** Pictures that people do have, so that the message can name them. */
const KNOWN: readonly [magic: string, at: number, name: string][] = [
  ['ftyphei', 4, 'a HEIC picture'],
  ['ftypavis', 4, 'an AVIF sequence'],
  ['\xff\x0a', 0, 'a JPEG XL picture'],
  ['\0\0\0\x0cJXL ', 0, 'a JPEG XL picture'],
  ['\0\0\0\x0cjP  ', 0, 'a JPEG 2000 picture'],
  ['\x93NUMPY', 0, 'a NumPy array (decode it as "npy")'],
]

function starts(bytes: Uint8Array, magic: string, at = 0): boolean {
  if (bytes.length < at + magic.length) return false
  for (let i = 0; i < magic.length; i++) if (bytes[at + i] !== magic.charCodeAt(i)) return false
  return true
}

/** The first bytes for a message: as text where they are text, in hexadecimal otherwise. */
function opening(bytes: Uint8Array): string {
  const first = Buffer.from(bytes.subarray(0, 16))
  const printable = first.every(byte => (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d)
  return printable ? JSON.stringify(first.toString('latin1')) : `bytes ${first.toString('hex')}`
}
