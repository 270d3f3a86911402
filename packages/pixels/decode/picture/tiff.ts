/**
 * TIFF, as far as its tags have to be known before libvips decodes it: what it would deliver as something else than
 * PIL does is converted here, or refused by name.
 *
 *   "II*\0" or "MM\0*"  offset of the directory u32      directory: count u16, entries of 12 bytes
 *   BigTIFF: "II+\0" 8 0  offset u64                      count u64, entries of 20 bytes
 *   entry: tag u16, type u16, count, value or its offset
 */
import { DecodeError } from '../../../core/basics/errors.js'

export interface Tiff {
  /** What libvips gets: the file, or a copy without an orientation that it would refuse. */
  bytes: Uint8Array
  /** The three bands that libvips delivers are YCbCr, to be converted as this library does it. */
  ycbcr: 'pil' | 'libtiff' | undefined
  /** Pixels of one bit: libvips makes 0 and 255 of them. */
  bilevel: boolean
}

const TAG = {
  compression: 259,
  photometric: 262,
  orientation: 274,
  planar: 284,
  bits: 258,
  tileWidth: 322,
  coefficients: 529,
  subsampling: 530,
  blackWhite: 532,
} as const
const UNCOMPRESSED = 1
const JPEGS: readonly number[] = [6, 7]
const YCBCR = 6
const LABS: readonly number[] = [8, 9, 10]
const BITS: readonly number[] = [1, 2, 4, 8, 16, 32, 64]
/** Luma's shares of red, green and blue, and the range of each component: the defaults, which are JPEG's. */
const COEFFICIENTS = [0.299, 0.587, 0.114]
const BLACK_WHITE = [0, 255, 128, 255, 128, 255]
/** Real directories have some twenty entries. */
const MOST_ENTRIES = 4096

/** Looks at the tags of the first picture. What is damaged is left for libvips to name. */
export function readTiff(bytes: Uint8Array): Tiff {
  const tags = new Tags(bytes)
  const photometric = tags.number(TAG.photometric)
  if (LABS.includes(photometric)) throw refused('its pixels are L*a*b*')
  const bits = tags.number(TAG.bits, 1)
  if (!BITS.includes(bits)) throw refused(`it has ${bits} bits a sample`)
  if (tags.number(TAG.planar, 1) === 2 && tags.has(TAG.tileWidth)) {
    throw refused('its colours lie apart from each other, in tiles')
  }
  return {
    bytes: withoutOddOrientation(bytes, tags),
    ycbcr: photometric === YCBCR ? ycbcrOf(tags, bits) : undefined,
    bilevel: bits === 1,
  }
}

/** JPEG's YCbCr, and what is subsampled, libtiff converts itself; the rest libvips delivers as it is stored. */
function ycbcrOf(tags: Tags, bits: number): Tiff['ycbcr'] {
  const compression = tags.number(TAG.compression, UNCOMPRESSED)
  if (JPEGS.includes(compression)) return undefined
  if (bits !== 8) throw refused(`it has YCbCr pixels of ${bits} bits`)
  if (!tags.has(TAG.subsampling))
    throw refused('it has YCbCr pixels, and does not say how they are subsampled')
  if (tags.numbers(TAG.subsampling).some(n => n !== 1)) return undefined
  const usual = (tag: number, values: readonly number[]): boolean =>
    !tags.has(tag) || tags.numbers(tag).every((value, i) => Math.abs(value - values[i]) < 1e-3)
  if (!usual(TAG.coefficients, COEFFICIENTS) || !usual(TAG.blackWhite, BLACK_WHITE)) {
    throw refused('it has YCbCr pixels of another kind than JPEG')
  }
  return compression === UNCOMPRESSED ? 'pil' : 'libtiff'
}

/** libtiff refuses a file for an orientation that does not exist; PIL takes it for upright. */
function withoutOddOrientation(bytes: Uint8Array, tags: Tags): Uint8Array {
  const at = tags.place(TAG.orientation)
  const orientation = tags.number(TAG.orientation, 1)
  if (at === undefined || (orientation >= 1 && orientation <= 8)) return bytes
  const copy = bytes.slice()
  copy.set(tags.little ? [1, 0] : [0, 1], at)
  return copy
}

function refused(why: string): DecodeError {
  return new DecodeError(`tiff can't be decoded, ${why}: convert it to 8-bit RGB or grey, or store it as npy`)
}

// Types of values that are read here, and their bytes.
const [BYTE, SHORT, LONG, RATIONAL, LONG8] = [1, 3, 4, 5, 16]
const WIDTHS: Readonly<Record<number, number>> = {
  [BYTE]: 1,
  [SHORT]: 2,
  [LONG]: 4,
  [RATIONAL]: 8,
  [LONG8]: 8,
}
/** None of the tags above has more values that count. */
const MOST_VALUES = 6

/** The first directory's entries. */
class Tags {
  readonly little: boolean
  private readonly view: DataView
  private readonly entries = new Map<number, { type: number; count: number; at: number }>()

  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.view = view
    this.little = bytes[0] === 0x49
    if (bytes.length < 16) return
    const big = view.getUint16(2, this.little) === 43
    const wide = (at: number): number =>
      big ? Number(view.getBigUint64(at, this.little)) : view.getUint32(at, this.little)
    const directory = wide(big ? 8 : 4)
    const first = directory + (big ? 8 : 2)
    if (first > bytes.length) return
    const count = big ? wide(directory) : view.getUint16(directory, this.little)
    const size = big ? 20 : 12
    for (let i = 0; i < Math.min(count, MOST_ENTRIES); i++) {
      const entry = first + i * size
      if (entry + size > bytes.length) return
      const type = view.getUint16(entry + 2, this.little)
      const values = Math.min(wide(entry + 4), MOST_VALUES)
      const length = (WIDTHS[type] ?? Infinity) * Math.max(values, wide(entry + 4))
      const value = entry + (big ? 12 : 8)
      const at = length <= (big ? 8 : 4) ? value : wide(value)
      if (length === Infinity || at + values * WIDTHS[type] > bytes.length) continue
      const tag = view.getUint16(entry, this.little)
      if (!this.entries.has(tag)) this.entries.set(tag, { type, count: values, at })
    }
  }

  has(tag: number): boolean {
    return this.entries.has(tag)
  }

  /** Where the tag's value lies, if it has a whole number of two bytes at least. */
  place(tag: number): number | undefined {
    const entry = this.entries.get(tag)
    return entry === undefined || entry.count === 0 || entry.type === BYTE ? undefined : entry.at
  }

  number(tag: number, otherwise = -1): number {
    return this.numbers(tag)[0] ?? otherwise
  }

  numbers(tag: number): number[] {
    const { type, count, at } = this.entries.get(tag) ?? { type: SHORT, count: 0, at: 0 }
    return Array.from({ length: count }, (_, i) => this.value(type, at + i * WIDTHS[type]))
  }

  private value(type: number, at: number): number {
    const { view, little } = this
    switch (type) {
      case BYTE:
        return view.getUint8(at)
      case SHORT:
        return view.getUint16(at, little)
      case LONG:
        return view.getUint32(at, little)
      case RATIONAL:
        return view.getUint32(at, little) / view.getUint32(at + 4, little)
      default:
        return Number(view.getBigUint64(at, little))
    }
  }
}
