/**
 * Megatron-LM's pairs of files. The .bin has raw tokens; the .idx, little-endian:
 *
 *   0       9   "MMIDIDX\0\0"
 *   9       8   version, u64: 1
 *   17      1   type of tokens, u8
 *   18      8   S, u64: sequences
 *   26      8   D, u64: entries of the document indices, one more than there are documents
 *   34      4S  lengths of sequences, i32, in tokens
 *           8S  pointers, i64: where each begins in the .bin, in bytes
 *           8D  document indices, i64: the first sequence of each document, and S at the end
 *           S   modes, i8: only in files of several modalities. No field tells of them, the size does
 */
import { SourceError } from '../../../core/basics/errors.js'
import type { DataFile } from '../../../core/source/find/data-files.js'
import { checkDtype, type Found, filled, type ReadFormat, readerOf } from './found.js'
import { TOKEN_BYTES, type TokenDtype, type TokenFile, type TokenIndex } from './token-file.js'

export const INDEX_HEADER = 34
const MAGIC = 'MMIDIDX\0\0'
const OLD_MAGIC = 'TNTIDX\0\0'
const VERSION = 1

/** Codes of types that tokens have. */
export const DTYPE_CODES = { u8: 1, i32: 4, i64: 5, u16: 8 } as const satisfies Partial<
  Record<TokenDtype, number>
>
export type MegatronDtype = keyof typeof DTYPE_CODES

/** Other codes, by their names in NumPy. */
const REFUSED_CODES: Readonly<Record<number, string>> = { 2: 'int8', 3: 'int16', 6: 'float64', 7: 'float32' }

/** Where the arrays of an .idx begin, in bytes. */
export function indexPlaces({ sequences, documents }: Pick<TokenIndex, 'sequences' | 'documents'>) {
  const lengths = INDEX_HEADER
  const pointers = lengths + 4 * sequences
  const documentIndices = pointers + 8 * sequences
  const modes = documentIndices + 8 * (documents + 1)
  return { lengths, pointers, documentIndices, modes }
}

/** The header of an .idx for so many sequences and documents. */
export function indexHeader(dtype: MegatronDtype, sequences: number, documents: number): Buffer {
  const header = Buffer.alloc(INDEX_HEADER)
  header.write(MAGIC, 'latin1')
  header.writeBigUInt64LE(BigInt(VERSION), 9)
  header.writeUInt8(DTYPE_CODES[dtype], 17)
  header.writeBigUInt64LE(BigInt(sequences), 18)
  header.writeBigUInt64LE(BigInt(documents + 1), 26)
  return header
}

export const readMegatron: ReadFormat = async (found, _, options, { stores }) => {
  if (found.index === undefined) {
    const index = indexPath(found.file)
    throw new SourceError(
      `${found.file}: there is no ${index}: a file of Megatron's has its index beside it. If its tokens stand alone, say ` +
        '"format": "nanogpt"',
      { file: index },
    )
  }
  const read = readerOf(found.index, stores)
  const { dtype, ...index } = parseHeader(found.index, await read(0, INDEX_HEADER))
  checkDtype(found.index.file, dtype, options.dtype)
  const file: TokenFile = { ...filled(found, 'megatron', 0, dtype), index }
  if (!options.unchecked) {
    const { lengths, pointers } = indexPlaces(index)
    const last = index.sequences - 1
    const end =
      last < 0
        ? 0
        : Number((await read(pointers + 8 * last, 8)).readBigInt64LE()) +
          TOKEN_BYTES[dtype] * (await read(lengths + 4 * last, 4)).readInt32LE()
    checkEnd(found, index, dtype, end)
  }
  return file
}

/** The .idx that belongs to a .bin. */
export function indexPath(file: string): string {
  return `${prefixOf(file)}.idx`
}

/** What both files' names begin with. */
export function prefixOf(file: string): string {
  return file.replace(/\.(bin|idx)$/, '')
}

function parseHeader({ file, bytes, version }: DataFile, header: Buffer): TokenIndex & { dtype: TokenDtype } {
  const refuse = (problem: string): SourceError => new SourceError(`${file} ${problem}`, { file })
  const magic = header.toString('latin1', 0, 9)
  if (magic.startsWith(OLD_MAGIC)) {
    throw refuse(
      'is an index of the old kind ("TNTIDX", made with --dataset-impl lazy or cached), which is not read here, nor by ' +
        'Megatron-LM of today: tokenise the text again (millrace tokenize)',
    )
  }
  if (header.length < INDEX_HEADER)
    throw refuse(
      `has ${bytes} bytes, but its header takes ${INDEX_HEADER}: it is cut off: copy or write it again`,
    )
  if (magic !== MAGIC)
    throw refuse(
      'does not begin with "MMIDIDX": it is no index of Megatron-LM. Without it, "format" says what the .bin is',
    )
  const format = header.readBigUInt64LE(9)
  if (format !== BigInt(VERSION)) throw refuse(`has format version ${format}: only ${VERSION} is known`)
  const code = header.readUInt8(17)
  const dtype = (Object.keys(DTYPE_CODES) as MegatronDtype[]).find(name => DTYPE_CODES[name] === code)
  if (dtype === undefined) {
    const known = REFUSED_CODES[code]
    throw refuse(
      known === undefined
        ? `says that its tokens have type ${code}, which there is not: it is damaged`
        : `says that its tokens have type ${known} (code ${code}): tokens are uint8, uint16, int32 or int64`,
    )
  }
  const sequences = Number(header.readBigUInt64LE(18))
  const entries = Number(header.readBigUInt64LE(26))
  const size = INDEX_HEADER + 12 * sequences + 8 * entries
  const modes = bytes === size + sequences && sequences > 0
  if (bytes !== size && !modes) {
    throw refuse(
      `has ${bytes} bytes, but ${sequences} sequences and ${entries} document indices, as its header says, take ${size}: ` +
        'it is cut off or damaged: copy or write it again',
    )
  }
  if (entries === 0) throw refuse('has no document indices: one at least, 0, is always there. It is damaged')
  return { path: file, size: bytes, version, sequences, documents: entries - 1, modes, dtype }
}

/** The index says where the last sequence ends: there the .bin must end. */
function checkEnd({ file, bytes }: Found, index: TokenIndex, dtype: TokenDtype, end: number): void {
  if (end === bytes) return
  const { path, sequences, documents } = index
  const verify = `millrace tokens verify ${prefixOf(path)}`
  if (end > bytes) {
    throw new SourceError(
      `${file} has ${bytes} bytes, but ${path} tells of ${end}: the .bin is cut off, or they don't belong together: ` +
        `copy or write both again (${verify} tells more)`,
      { file },
    )
  }
  const more = (bytes - end) / TOKEN_BYTES[dtype]
  if (sequences > 0 && (more === sequences || more === documents)) {
    throw new SourceError(
      `${path} leaves out ${more} tokens of ${file}, one for each document: blendcorpus' tokeniser writes the token at the ` +
        `end of a document and does not count it, so that documents begin in wrong places. Repair the index: ${verify} --repair`,
      { file: path },
    )
  }
  throw new SourceError(
    `${file} has ${bytes} bytes, but ${path} tells of ${end} only: they don't belong together, or the index is older: ` +
      `copy or write both again (${verify} tells more)`,
    { file: path },
  )
}
