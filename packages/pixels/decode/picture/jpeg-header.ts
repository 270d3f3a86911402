/** The header of a JPEG: its markers up to the first scan, and what they say about the picture. */
import { DecodeError } from '../../../core/basics/errors.js'
import { type Orientation, orientationIn } from './exif.js'

/** What the markers of a JPEG say, as stored (before its orientation is applied). */
export interface JpegHeader {
  width: number
  height: number
  components: number
  /** Bits a component. */
  precision: number
  /** Pixels across an MCU, the block that is coded together; 0 where regions can't be decoded apart. */
  mcuWidth: number
  lossless: boolean
  orientation: Orientation
  /**
   * How chroma is sampled, where the GPU's JPEG engines make the same picture of it (they take one scan of baseline
   * coding): the sampling factors of luma as the file has them, 0x22 for 4:2:0, or `GREY`. Otherwise undefined.
   */
  gpu: number | undefined
}

/** A picture without chroma, where a sampling is asked for. */
const GREY = 0

/** Second bytes of the markers we look at. */
const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda
const APP0 = 0xe0
const APP1 = 0xe1
const APP14 = 0xee
const BASELINE = 0xc0

/** What the markers up to the first scan say. Offsets are those of bytes in the file. */
interface Markers {
  /** The first frame header's marker, and its body. */
  kind: number
  frame: number
  /** Frame headers. Where there are two, decoders need not mean the same one: only the CPU's gets such a file. */
  frames: number
  /** The length of the first scan's header. */
  scan: number
  orientation: Orientation
  jfif: boolean
  /** The colour transform that Adobe's marker names; -1 where there is none. */
  adobe: number
}

/** Reads a header. Throws where it is damaged, or where the file is cut off. */
export function readJpegHeader(bytes: Uint8Array): JpegHeader {
  const { kind, frame, frames, scan, orientation, jfif, adobe } = readMarkers(bytes)
  if (!endsWell(bytes, scan)) throw truncated(bytes, 'before its end marker')
  const lossless = (kind & 3) === 3
  const forGpu = frames === 1 && isOneScan(kind, bytes, scan, frame) && isOrdinary(bytes, frame, jfif, adobe)
  return {
    width: (bytes[frame + 3] << 8) | bytes[frame + 4],
    height: (bytes[frame + 1] << 8) | bytes[frame + 2],
    components: bytes[frame + 5],
    precision: bytes[frame],
    mcuWidth: lossless ? 0 : mcuWidth(bytes, frame),
    lossless,
    orientation,
    gpu: forGpu ? samplingOf(bytes, frame) : undefined,
  }
}

function readMarkers(bytes: Uint8Array): Markers {
  const found: Markers = { kind: 0, frame: 0, frames: 0, scan: 0, orientation: 1, jfif: false, adobe: -1 }
  let at = 2
  for (;;) {
    // Stray bytes between segments are skipped, and 0xff may be repeated: both happen in the wild.
    while (at < bytes.length && bytes[at] !== 0xff) at++
    while (at < bytes.length && bytes[at] === 0xff) at++
    const marker = bytes[at++]
    if (at + 1 >= bytes.length) throw truncated(bytes, 'within its header')
    if (marker === 0 || marker === 1 || (marker >= 0xd0 && marker <= SOI)) continue // no length follows
    if (marker === EOI) throw new DecodeError('JPEG ends before any picture data: the file is damaged')
    const length = (bytes[at] << 8) | bytes[at + 1]
    const body = at + 2
    const end = at + length
    if (length < 2 || end > bytes.length) throw truncated(bytes, 'within its header')
    if (marker === SOS) break
    if (isFrame(marker)) {
      found.frames++
      if (found.frames === 1) {
        found.frame = body
        found.kind = marker
        if (length < 8 || length < 8 + 3 * bytes[body + 5]) throw truncated(bytes, 'within its header')
      }
    } else if (marker === APP1 && found.orientation === 1 && startsWith(bytes, body, end, EXIF)) {
      found.orientation = orientationIn(bytes, body + 6, end)
    } else if (marker === APP0 && startsWith(bytes, body, end, JFIF)) {
      found.jfif = true
    } else if (marker === APP14 && end - body >= 12 && startsWith(bytes, body, end, ADOBE)) {
      found.adobe = bytes[body + 11]
    }
    at = end
  }
  if (found.frames === 0) throw new DecodeError('JPEG has no frame header: the file is damaged')
  found.scan = at
  return found
}

/** Gray, or YCbCr in one of the usual samplings: what decoders agree on to the last bit or nearly so. */
function isOrdinary(bytes: Uint8Array, frame: number, jfif: boolean, adobe: number): boolean {
  const components = bytes[frame + 5]
  if (bytes[frame] !== 8) return false
  if (components === 1) return true
  if (components !== 3 || (adobe === 0 && !jfif)) return false
  const [first, second, third] = [0, 1, 2].map(i => bytes[frame + 7 + 3 * i])
  const named = [0, 1, 2].map(i => bytes[frame + 6 + 3 * i]).join() === '82,71,66' // R, G and B
  if (named && !jfif && adobe < 0) return false
  return GPU_SAMPLINGS.includes(first) && second === 0x11 && third === 0x11
}

/**
 * Baseline coding with all components in the first scan. nvJPEG has a decoder for other files, which works on one thread
 * of the trainer's process: 5.5 ms for a progressive photograph of 540², three times what a core of ours takes.
 */
function isOneScan(kind: number, bytes: Uint8Array, scan: number, frame: number): boolean {
  return kind === BASELINE && bytes[scan + 2] === bytes[frame + 5]
}

function samplingOf(bytes: Uint8Array, frame: number): number {
  return bytes[frame + 5] === 1 ? GREY : bytes[frame + 7]
}

/** Sampling factors (h in the high four bits, v in the low) of luma, and of the K of CMYK, that TurboJPEG knows. */
const SAMPLINGS: readonly number[] = [0x11, 0x21, 0x22, 0x12, 0x41, 0x14]

/** Those that the GPU's decoders know, too: 4:4:4, 4:2:2, 4:2:0 and 4:4:0. */
const GPU_SAMPLINGS: readonly number[] = [0x11, 0x21, 0x22, 0x12]

function mcuWidth(bytes: Uint8Array, frame: number): number {
  const factors = Array.from({ length: bytes[frame + 5] }, (_, i) => bytes[frame + 7 + 3 * i])
  const [first, second, third, fourth] = factors
  if (factors.length === 1) return 8 // a single component is not interleaved with anything
  if (!SAMPLINGS.includes(first) || second !== 0x11 || third !== 0x11) return 0
  if (factors.length === 4 && fourth !== first) return 0
  return (first >> 4) * 8
}

/** SOF0…SOF15 without DHT, JPG and DAC, which share their range. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/** What segments begin with: "Exif\0\0", "JFIF\0", "Adobe". */
const EXIF = [0x45, 0x78, 0x69, 0x66, 0, 0]
const JFIF = [0x4a, 0x46, 0x49, 0x46, 0]
const ADOBE = [0x41, 0x64, 0x6f, 0x62, 0x65]

function startsWith(bytes: Uint8Array, body: number, end: number, name: readonly number[]): boolean {
  if (end - body < name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[body + i] !== name[i]) return false
  return true
}

/**
 * Whether an end marker follows the first scan. A file without one is cut off. It is refused for any region of
 * it, so that a bad sample is bad in every epoch and not only where a crop meets the damage.
 */
function endsWell(bytes: Uint8Array, scan: number): boolean {
  for (let at = bytes.length - 1; at > scan; at--) {
    if (bytes[at] === EOI && bytes[at - 1] === 0xff) return true
  }
  return false
}

function truncated(bytes: Uint8Array, where: string): DecodeError {
  return new DecodeError(
    `JPEG is cut off ${where}, after ${bytes.length} bytes: fetch the file again or drop the sample`,
  )
}
