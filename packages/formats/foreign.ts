/** Files that are no text, by their first bytes: a line of them may pass for one, so they are refused when they are indexed. */
import { inFile } from '../core/basics/errors.js'
import { formatByStart } from '../core/source/find/formats.js'

const REPACK = 'or compress it with gzip or zstd'

/** Files that begin so, told in hexadecimal: what they are, and what to do. */
export interface Foreign {
  begins: RegExp
  what: string
  todo: string
}

const KINDS: readonly Foreign[] = [
  // "BZh", a digit, and the first digits of pi.
  {
    begins: /^425a683[1-9]314159265359/,
    what: 'compressed with bzip2',
    todo: `unpack it (bunzip2 -k FILE), ${REPACK}`,
  },
  { begins: /^fd377a585a00/, what: 'compressed with xz', todo: `unpack it (unxz -k FILE), ${REPACK}` },
  { begins: /^04224d18/, what: 'compressed with lz4', todo: `unpack it (unlz4 -k FILE), ${REPACK}` },
  { begins: /^504b0304/, what: 'a zip archive', todo: 'unpack it (unzip FILE)' },
]
const UTF_16: Foreign = {
  begins: /^(?:fffe|feff|(?!00)..00(?!00)..00)/,
  what: 'UTF-16, or no text',
  todo: 'save it as UTF-8',
}

/** Bytes that tell all of these. */
export const TELLING = 10

/** What a file is that begins so, and what to do; `more` are kinds that are looked for as well. */
export function foreignKind(
  head: Buffer,
  more: readonly Foreign[] = [],
): Omit<Foreign, 'begins'> | undefined {
  // Text may begin with a format's letters.
  const format = head.some(byte => byte < 32 && (byte < 9 || byte > 13)) ? formatByStart(head) : undefined
  if (format !== undefined)
    return { what: `of the format "${format}"`, todo: `use the source of that name, {"${format}": …}` }
  const hex = head.toString('hex', 0, TELLING)
  return [...KINDS, ...more].find(({ begins }) => begins.test(hex))
}

export function refuseForeign(file: string, head: Buffer): void {
  const kind = foreignKind(head.subarray(0, TELLING), [UTF_16])
  if (kind !== undefined) throw inFile(file, `is ${kind.what}: ${kind.todo}`, { offset: 0 })
}
