/** What is lost where a library of the system is missing: for `doctor`, and for the notice of a source that opens such data. */

import { nodeZstd } from '../system/codecs/zstd.js'
import { libdeflate, liblz4, libzstd } from './libraries.js'

export interface CodecLibrary {
  name: string
  /** The codecs it serves, by the names that sources give to them. */
  codecs: readonly string[]
  found: boolean
  /** What happens without it, as bench/codecs.mjs measured it. */
  without: string
  /** The packages that bring it. */
  install: string
}

/** The libraries that this thread finds. */
export function codecLibraries(): CodecLibrary[] {
  return [
    {
      name: 'libdeflate',
      codecs: ['deflate', 'zlib', 'gzip'],
      found: libdeflate() !== null,
      without: "Node's zlib takes about twice as long",
      install: 'apt install libdeflate0, dnf install libdeflate or apk add libdeflate',
    },
    {
      name: 'liblz4',
      codecs: ['lz4', 'lz4-block', 'lz4_raw'],
      found: liblz4() !== null,
      without: 'our own takes about 2.5 times as long',
      install: 'apt install liblz4-1, dnf install lz4-libs or apk add lz4-libs',
    },
    {
      name: 'libzstd',
      codecs: ['zstd'],
      found: libzstd() !== null,
      without: nodeZstd() === undefined ? 'zstd can not be read' : "Node's own takes up to 1.3 times as long",
      install: 'apt install libzstd1, dnf install libzstd or apk add zstd-libs',
    },
  ]
}

/** One sentence where some of these codecs are slower than they could be; undefined where none is. */
export function slowCodecs(codecs: Iterable<string>): string | undefined {
  const used = new Set(codecs)
  const missing = codecLibraries().filter(
    library => !library.found && library.codecs.some(name => used.has(name)),
  )
  if (missing.length === 0) return undefined
  const each = missing.map(({ name, codecs, without, install }) => {
    const here = codecs.filter(codec => used.has(codec)).join(' and ')
    return `${name} is not there for ${here}, and ${without}: ${install}`
  })
  return each.join('; ')
}
