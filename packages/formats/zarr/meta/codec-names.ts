/** What the codecs of Zarr are called, in both versions, and what takes each of them off. */
import type { ChunkStep } from '../decode-chunk.js'
import { type Element, elementV2, shown } from './element.js'
import { ZarrFault } from './fault.js'

type Configuration = Record<string, unknown>

/** Codecs that changed values when they were written, in a way that needs nothing here. */
const ROUNDED = ['bitround', 'quantize']
const CHECKSUMS = ['crc32c', 'crc32', 'adler32', 'fletcher32'] as const
const COMPRESSED = ['zlib', 'gzip', 'zstd', 'blosc'] as const

/** The steps for a codec; none where there is nothing to do. Names are those of numcodecs. */
export function stepOf(name: string, given: object, element: Element): ChunkStep[] {
  const configuration = given as Configuration
  const compressed = COMPRESSED.find(codec => codec === name)
  if (compressed !== undefined) return [{ does: 'decompress', codec: compressed }]
  const checksum = CHECKSUMS.find(codec => codec === name)
  if (checksum !== undefined)
    return [{ does: 'check', sum: checksum, at: placeOfSum(checksum, configuration) }]
  if (name === 'lz4') return [{ does: 'lz4' }]
  if (name === 'shuffle') return shuffled(configuration.elementsize ?? 4)
  if (name === 'delta') return [deltaOf(configuration, element)]
  if (ROUNDED.includes(name)) {
    if (sameType(configuration, element)) return []
    throw new ZarrFault(
      `its codec ${name} stores another type (${shown(configuration)}), which is not read: write it without`,
    )
  }
  throw new ZarrFault(
    `its codec "${name}" is not read: write it again with zstd, blosc, lz4, gzip or zlib, without other filters`,
  )
}

/** numcodecs puts CRC-32 and Adler-32 before the data, the others behind it. */
function placeOfSum(sum: string, { location }: Configuration): 'start' | 'end' {
  const usual = sum === 'crc32' || sum === 'adler32' ? 'start' : 'end'
  if (location === undefined || location === null) return usual
  if (location === 'start' || location === 'end') return location
  throw new ZarrFault(`its codec ${sum} has the location ${shown(location)}`)
}

function shuffled(size: unknown): ChunkStep[] {
  if (!Number.isInteger(size) || (size as number) < 1 || (size as number) > 255)
    throw new ZarrFault(`its shuffle has elements of ${shown(size)} bytes`)
  return size === 1 ? [] : [{ does: 'unshuffle', bytes: size as number }]
}

function deltaOf(configuration: Configuration, element: Element): ChunkStep {
  if (element.bigEndian)
    throw new ZarrFault(
      `its codec delta is of big-endian numbers (${shown(configuration.dtype)}), which is not read: write it without, or little-endian`,
    )
  if (!sameType(configuration, element) || element.form !== 'number')
    throw new ZarrFault(
      `its codec delta stores ${shown(configuration)}, which is not read: write it without, or with one type`,
    )
  const { dtype } = element
  if (dtype === 'f16' || dtype === 'bf16' || dtype === 'bool')
    throw new ZarrFault(`its codec delta of ${dtype} is not read`)
  return { does: 'sum', dtype }
}

/** Whether a filter leaves elements in the type of the array. */
function sameType({ dtype, astype }: Configuration, element: Element): boolean {
  return [dtype, astype].every(type => {
    if (type === undefined || type === null) return true
    const { form, dtype: stored, bigEndian } = elementV2(type)
    return form === element.form && stored === element.dtype && bigEndian === element.bigEndian
  })
}
