/** Files that are no text, by their first bytes: a line of them may pass for one, so they are refused when they are indexed. */
import { SourceError } from '../../core/basics/errors.js'

const REPACK = 'or compress it with gzip or zstd'
const KINDS: readonly { begins: RegExp; what: string; todo: string }[] = [
  // "BZh", a digit, and the first digits of pi.
  {
    begins: /^425a683[1-9]314159265359/,
    what: 'compressed with bzip2',
    todo: `unpack it (bunzip2 -k FILE), ${REPACK}`,
  },
  { begins: /^fd377a585a00/, what: 'compressed with xz', todo: `unpack it (unxz -k FILE), ${REPACK}` },
  { begins: /^04224d18/, what: 'compressed with lz4', todo: `unpack it (unlz4 -k FILE), ${REPACK}` },
  { begins: /^504b0304/, what: 'a zip archive', todo: 'unpack it (unzip FILE)' },
  { begins: /^5041523115/, what: 'a Parquet file', todo: 'use the source of that name, {"parquet": …}' },
  { begins: /^4152524f57310000/, what: 'an Arrow file', todo: 'use the source of that name, {"arrow": …}' },
]
const UTF_16 = {
  begins: /^(?:fffe|feff|(?!00)..00(?!00)..00)/,
  what: 'UTF-16, or no text',
  todo: 'save it as UTF-8',
}

/** Bytes that tell all of these. */
export const TELLING = 10

/** What a file is that begins so, and what to do. */
export function foreignKind(head: Buffer, kinds = KINDS): (typeof KINDS)[number] | undefined {
  const hex = head.toString('hex', 0, TELLING)
  return kinds.find(({ begins }) => begins.test(hex))
}

export function refuseForeign(file: string, head: Buffer): void {
  const kind = foreignKind(head, [...KINDS, UTF_16])
  if (kind !== undefined) throw new SourceError(`${file} is ${kind.what}: ${kind.todo}`, { file, offset: 0 })
}
