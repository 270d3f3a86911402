/**
 * Refuses files that hold no tokens. Raw tokens have no header, and any bytes pass for numbers of 16 bits, so the name of a file
 * and its first bytes must not speak for another format.
 */
import { SourceError } from '../../../core/basics/errors.js'
import { formatByStart, formatOf } from '../../../core/source/find/formats.js'
import { type Foreign, foreignKind } from '../../../formats/foreign.js'
import type { Found, TokenFileOptions } from './found.js'
import { TOKEN_BYTES } from './token-file.js'

/** Bytes that are looked at. */
export const FIRST_BYTES = 4096
/** Bytes that are text for certain, if all of them are: of fewer, some tokens may be letters by chance. */
const TEXT_BYTES = 64

/** Compressed files, pictures and others, which `foreignKind` does not know: text may be compressed so. */
const OTHERS: readonly Foreign[] = [
  { begins: /^1f8b08[01]/, what: 'compressed with gzip', todo: 'unpack it (gunzip -k FILE)' },
  { begins: /^28b52ffd/, what: 'compressed with zstd', todo: 'unpack it (unzstd FILE)' },
  { begins: /^89504e470d0a1a0a/, what: 'a PNG picture', todo: 'name files of tokens' },
  { begins: /^ffd8ff[c-f].....4(?:a464946|5786966)/, what: 'a JPEG picture', todo: 'name files of tokens' },
  {
    begins: /^53514c69746520666f72/,
    what: 'a database of SQLite',
    todo: 'export its texts (millrace tokenize)',
  },
  { begins: /^(?:7f454c46|47475546)/, what: 'a program or a model', todo: 'name files of tokens' },
  {
    begins: /^fffe(?!00)..00(?!00)..00/,
    what: 'text in UTF-16',
    todo: 'save it as UTF-8 (millrace tokenize)',
  },
]

/** Throws where the file is of another format; `head` are its first bytes. */
export function refuseForeign(
  { file }: Found,
  head: Buffer,
  { dtype, format, vocabulary }: TokenFileOptions,
): void {
  const refuse = (what: string, todo: string): SourceError =>
    new SourceError(`${file} is ${what}, not a file of tokens: ${todo}`, { file, offset: 0 })
  const byName = formatOf(file)
  const known = byName === undefined || byName === 'npy' ? formatByStart(head) : byName
  if (known !== undefined && known !== 'npy') {
    const how = known === byName ? 'by its name' : 'by its first bytes'
    throw refuse(
      `of the format "${known}" ${how}`,
      `use the source of that name, {"${known}": …}, or make tokens of its text (millrace tokenize)`,
    )
  }
  const kind = known === undefined ? foreignKind(head, OTHERS) : undefined
  if (kind !== undefined) throw refuse(kind.what, kind.todo)
  // Bytes are tokens of models that have no other.
  if (dtype !== 'u8' && isText(head))
    throw refuse(
      `text (${JSON.stringify(head.toString('latin1', 0, 24))}…)`,
      'make tokens of it (millrace tokenize), or say "dtype": "u8" where each byte is a token',
    )
  if (dtype === undefined && format === undefined && !/\.(bin|npy)$/.test(file))
    throw new SourceError(
      `${file}: its name does not end in .bin or .npy, and it has no header that tells the type of its tokens: say it, as in ` +
        '"dtype": "u16", if it is a file of tokens',
      { file },
    )
  if (vocabulary !== undefined) refuseBeyond(file, head, TOKEN_BYTES[dtype ?? 'u16'], vocabulary)
}

/** One token beyond the vocabulary is named where it is read. Where most are, the file is another, or their type. */
function refuseBeyond(file: string, head: Buffer, item: number, vocabulary: number): void {
  const count = Math.floor(head.length / item)
  // The lowest bytes tell: six are as many as a number of JavaScript's holds.
  const tokens = Array.from({ length: count }, (_, i) => head.readUIntLE(i * item, Math.min(item, 6)))
  const beyond = tokens.filter(token => token >= vocabulary)
  if (beyond.length <= count / 2) return
  throw new SourceError(
    `${file}: of its first ${count} tokens ${beyond.length} are beyond the vocabulary of ${vocabulary} (such as ${beyond[0]}), ` +
      `read as tokens of ${item} bytes: it is no file of tokens, or "dtype" or "vocabulary" is another`,
    { file, offset: 0 },
  )
}

/** Whether bytes are UTF-8 without control characters, but for tabs and line breaks. */
function isText(head: Buffer): boolean {
  if (head.length < TEXT_BYTES) return false
  // A character may be cut off at the end.
  const text = head.toString('utf8').slice(0, -1)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
  return !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]/.test(text)
}
