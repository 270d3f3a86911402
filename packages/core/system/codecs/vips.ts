/**
 * libvips through FFI, from the library that sharp uses: PNG, WebP, TIFF and AVIF to pixels at an
 * address. Used on the calling thread, without libvips' own cache and concurrency: makers are the parallelism.
 */
import { createRequire } from 'node:module'
import type { LibraryHandle } from 'koffi'
import { DecodeError, MillraceError, MissingError } from '../../basics/errors.js'
import { koffi, libc } from '../native.js'
import { unbroken } from '../node/unbroken.js'
import { unbound } from '../process/affinity.js'
import { countHelpers } from '../process/thread.js'

/** A picture as libvips would deliver it: interleaved bands of one format. */
export interface VipsHeader {
  width: number
  height: number
  bands: number
  /** Bytes a sample: 1 or 2 for unsigned integers, 0 for anything else (floats, signed, complex). */
  sampleBytes: 0 | 1 | 2
  colour: 'gray' | 'rgb' | 'cmyk' | 'other'
  /** EXIF orientation, 1…8, that is still to be applied. */
  orientation: number
}

export interface VipsBox {
  x: number
  y: number
  width: number
  height: number
}

// Numbers of libvips' enums VipsBandFormat and VipsInterpretation.
const SAMPLE_BYTES: Readonly<Record<number, 1 | 2>> = { 0: 1, 2: 2 } // uchar, ushort
const COLOURS: Readonly<Record<number, 'gray' | 'rgb' | 'cmyk'>> = {
  1: 'gray', // B_W
  15: 'cmyk', // CMYK
  17: 'rgb', // RGB
  22: 'rgb', // sRGB
  25: 'rgb', // RGB16
  26: 'gray', // GREY16
}

/** Rows are read once, from top to bottom; a file that is cut off or damaged fails instead of ending in grey. */
const LOAD_OPTIONS = '[access=sequential,fail_on=error]'

/** Rows that are decoded at once, as libvips itself takes them from a file. */
const ROWS = 16

type Image = bigint
type Region = bigint

interface Library {
  version(): string
  errorText(): string
  clearError(): void
  open(bytes: Uint8Array, length: number, options: string, type: 'void *', end: null): Image | null
  crop(
    from: Image,
    to: BigUint64Array,
    left: number,
    top: number,
    width: number,
    height: number,
    type: 'void *',
    end: null,
  ): number
  around(
    memory: bigint,
    bytes: number,
    width: number,
    height: number,
    bands: number,
    format: number,
  ): Image | null
  /** Rows of a picture, while they are made by the calling thread. */
  region(image: Image): Region | null
  /** Lays a region over a picture that lies in memory. */
  over(region: Region, rect: Int32Array): number
  /** Makes the pixels of a rectangle (left, top, width, height), at a place of another region. */
  prepare(from: Region, to: Region, rect: Int32Array, x: number, y: number): number
  close(object: Image | Region): void
  width(image: Image): number
  height(image: Image): number
  bands(image: Image): number
  format(image: Image): number
  interpretation(image: Image): number
  orientation(image: Image): number
}

let library: Library | undefined

/** Reads a picture's header, without decoding pixels. */
export function readVipsHeader(bytes: Uint8Array): VipsHeader {
  const vips = (library ??= findLibrary())
  const image = open(vips, bytes)
  try {
    return describe(vips, image)
  } finally {
    vips.close(image)
  }
}

/**
 * Decodes a box (or everything) to the address that `place` returns: the samples as stored, packed, interleaved.
 * `place` gets the header, with the size of what will be written, and makes room for it.
 */
export function decodeWithVips(
  bytes: Uint8Array,
  box: VipsBox | undefined,
  place: (header: VipsHeader) => bigint,
): void {
  const vips = (library ??= findLibrary())
  const held = [open(vips, bytes)]
  try {
    let image = held[0]
    if (box !== undefined) {
      const out = new BigUint64Array(1)
      if (vips.crop(image, out, box.x, box.y, box.width, box.height, 'void *', null) !== 0) fail(vips)
      held.push((image = out[0]))
    }
    const header = describe(vips, image)
    const to = place(header)
    const { width, height, bands, sampleBytes } = header
    const format = vips.format(image)
    const target = vips.around(to, width * height * bands * sampleBytes, width, height, bands, format)
    if (target === null) fail(vips)
    held.push(target)
    // Not by vips_image_write, which decodes in a thread of libvips' own: its CPU time would count as waiting.
    const rows = regionOf(vips, image, held)
    const all = regionOf(vips, target, held)
    if (vips.over(all, Int32Array.of(0, 0, width, height)) !== 0) fail(vips)
    const decode = () => {
      for (let y = 0; y < height; y += ROWS) {
        const strip = Int32Array.of(0, y, width, Math.min(ROWS, height - y))
        if (vips.prepare(rows, all, strip, 0, y) !== 0) fail(vips)
      }
    }
    if (usesThreads(bytes)) unbound(() => countHelpers(decode))
    else decode()
  } finally {
    for (const object of held.reverse()) vips.close(object)
  }
}

/**
 * WebP and interlaced PNG: libvips decodes them as a whole before it gives a row, in threads of its own. It keeps these for later
 * pictures, also those of other workers.
 */
function usesThreads(bytes: Uint8Array): boolean {
  const WEBP = 0x52 // "RIFF"
  const PNG = 0x89
  const INTERLACED = 28
  return bytes[0] === WEBP || (bytes[0] === PNG && bytes[INTERLACED] === 1)
}

function regionOf(vips: Library, image: Image, held: bigint[]): Region {
  const region = vips.region(image)
  if (region === null) fail(vips)
  held.push(region)
  return region
}

/** Which library decodes everything but JPEG here, for `stats()`: "libvips 8.18.7". */
export function libraryVersion(): string {
  library ??= findLibrary()
  return `libvips ${library.version()}`
}

function open(vips: Library, bytes: Uint8Array): Image {
  vips.clearError() // closing the picture before may have left a word about that
  const image = vips.open(bytes, bytes.length, LOAD_OPTIONS, 'void *', null)
  if (image === null) fail(vips)
  return image
}

function describe(vips: Library, image: Image): VipsHeader {
  return {
    width: vips.width(image),
    height: vips.height(image),
    bands: vips.bands(image),
    sampleBytes: SAMPLE_BYTES[vips.format(image)] ?? 0,
    colour: COLOURS[vips.interpretation(image)] ?? 'other',
    orientation: vips.orientation(image),
  }
}

function fail(vips: Library): never {
  // libtiff says the same several times, and tells of positions beyond the end that it tried.
  const lines = new Set(vips.errorText().split('\n'))
  vips.clearError()
  const text = [...lines]
    .filter(line => line.trim() !== '' && !line.startsWith('source: bad seek'))
    .join('; ')
  throw new DecodeError(text === '' ? 'libvips failed without saying why' : text)
}

// ------------------------------------------------------------------ finding the library

function findLibrary(): Library {
  const tried: string[] = []
  for (const path of candidates()) {
    try {
      return alone(() => start(koffi.load(path)))
    } catch (error) {
      tried.push(`${path}: ${(error as Error).message.trim()}`)
    }
  }
  throw new MissingError(
    'PNG, WebP, TIFF and AVIF need libvips, which was not found: run "npm install sharp@0.35.5", or set ' +
      `MILLRACE_VIPS to a libvips of version 8.15 or later.\n  tried ${tried.join('\n  tried ')}`,
  )
}

function candidates(): string[] {
  const given = process.env.MILLRACE_VIPS
  if (given !== undefined && given !== '') return [given]
  const { platform, arch } = process
  const { resolve } = createRequire(import.meta.url)
  const found: string[] = []
  for (const system of platform === 'linux' ? ['linux', 'linuxmusl'] : [platform]) {
    try {
      found.push(resolve(`@img/sharp-libvips-${system}-${arch}/binary`))
    } catch {
      // Not installed for this system.
    }
  }
  return [...found, 'libvips.so.42', 'libvips.42.dylib']
}

/**
 * Only one thread of a process may be in here: to a second one, `vips_init` says that all is well while the first is still
 * at it, and a picture that is opened then is of no known format, or ends the process.
 */
function start(lib: LibraryHandle): Library {
  const init = lib.func('int vips_init(const char *program)')
  if (init('millrace') !== 0) throw new MillraceError('libvips did not start')
  lib.func('void vips_concurrency_set(int threads)')(1)
  lib.func('void vips_cache_set_max(int operations)')(0)
  silence(lib)
  const end = lib.func('void vips_thread_shutdown()')
  process.once('exit', () => end()) // of this thread, which may be a worker
  return {
    version: lib.func('const char *vips_version_string()'),
    errorText: lib.func('const char *vips_error_buffer()'),
    clearError: lib.func('void vips_error_clear()'),
    open: lib.func(
      'void *vips_image_new_from_buffer(const void *bytes, size_t length, const char *options, ...)',
    ),
    crop: lib.func('int vips_crop(void *from, void *to, int left, int top, int width, int height, ...)'),
    around: lib.func(
      'void *vips_image_new_from_memory(void *memory, size_t bytes, int width, int height, int bands, int format)',
    ),
    region: lib.func('void *vips_region_new(void *image)'),
    over: lib.func('int vips_region_image(void *region, const int *rect)'),
    prepare: lib.func('int vips_region_prepare_to(void *from, void *to, const int *rect, int x, int y)'),
    close: lib.func('void g_object_unref(void *object)'),
    width: lib.func('int vips_image_get_width(void *image)'),
    height: lib.func('int vips_image_get_height(void *image)'),
    bands: lib.func('int vips_image_get_bands(void *image)'),
    format: lib.func('int vips_image_get_format(void *image)'),
    interpretation: lib.func('int vips_image_get_interpretation(void *image)'),
    orientation: lib.func('int vips_image_get_orientation(void *image)'),
  }
}

/**
 * libvips prints warnings of damaged files on stderr, besides returning the error, and GLib a line for a size that is no
 * size. GLib wants a function to call instead; one that does nothing and is there anyway is the one that returns the
 * version's text.
 */
function silence(lib: LibraryHandle): void {
  const CRITICAL = 1 << 3 // G_LOG_LEVEL_CRITICAL
  const WARNING = 1 << 4 // G_LOG_LEVEL_WARNING
  const setHandler = lib.func(
    'uint g_log_set_handler(const char *domain, int levels, void *handler, void *data)',
  )
  setHandler('VIPS', WARNING, lib.symbol('vips_version_string'), null)
  setHandler('GLib-GObject', CRITICAL, lib.symbol('vips_version_string'), null)
}

/**
 * Makes a short call while no other thread of the process makes one: libvips begins in one thread only, whichever thread of a pool, a tool
 * or the user's program that is. The thread is not terminated in it.
 *
 * The C library has a lock ready: that of the stream `stdin`, which Node never reads from. A thread that has it may take it again.
 */
function alone<T>(call: () => T): T {
  return unbroken(() => {
    const stream = standardInput()
    const lock = libc.func('void flockfile(void *stream)')
    const unlock = libc.func('void funlockfile(void *stream)')
    lock(stream)
    try {
      return call()
    } finally {
      unlock(stream)
    }
  })
}

function standardInput(): bigint {
  const variable: unknown = libc.symbol(process.platform === 'darwin' ? '__stdinp' : 'stdin')
  return BigInt(koffi.decode(variable, 'void *') as bigint)
}
