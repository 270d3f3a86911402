/**
 * llm.c's files: a header of 256 i32 (magic, version, number of tokens, zeros), then tokens: u16 for GPT-2's vocabulary, u32 for Llama 3's.
 * modded-nanogpt and others write the same.
 */
import { SourceError } from '../../../core/basics/errors.js'
import { checkDtype, filled, type ReadFormat } from './found.js'
import { TOKEN_BYTES, type TokenDtype } from './token-file.js'

export const LLMC_HEADER = 1024
/** The number of tokens is an i32. */
export const LLMC_MOST = 2 ** 31 - 1

interface Kind {
  magic: number
  version: number
  dtype: TokenDtype
}

export const LLMC_KINDS: readonly Kind[] = [
  { magic: 20240520, version: 1, dtype: 'u16' },
  { magic: 20240801, version: 7, dtype: 'u32' },
]
/** Files with questions and answers, by which llm.c evaluates. */
const EVAL_MAGIC = 20240522

/** Recognises llm.c's files by their first bytes. */
export function isLlmc(head: Buffer): boolean {
  return head.length >= 4 && [EVAL_MAGIC, ...LLMC_KINDS.map(kind => kind.magic)].includes(head.readInt32LE(0))
}

/** The header for so many tokens. */
export function llmcHeader(dtype: TokenDtype, tokens: number): Buffer {
  const kind = LLMC_KINDS.find(kind => kind.dtype === dtype)
  if (kind === undefined) throw new SourceError(`llm.c's files have tokens of type u16 or u32, not ${dtype}`)
  const header = Buffer.alloc(LLMC_HEADER)
  header.writeInt32LE(kind.magic, 0)
  header.writeInt32LE(kind.version, 4)
  header.writeInt32LE(tokens, 8)
  return header
}

export const readLlmc: ReadFormat = async (found, read, options) => {
  const { file, bytes } = found
  const refuse = (problem: string): SourceError => new SourceError(`${file} ${problem}`, { file })
  const header = await read(0, LLMC_HEADER)
  if (header.length < LLMC_HEADER)
    throw refuse(
      `has ${bytes} bytes, but the header of llm.c's files takes ${LLMC_HEADER}: it is cut off, or of another format`,
    )
  const [magic, version, tokens] = [0, 4, 8].map(at => header.readInt32LE(at))
  if (magic === EVAL_MAGIC) {
    throw refuse(
      `has questions to evaluate a model by (llm.c's magic number ${EVAL_MAGIC}), not a stream of tokens: it is not read here`,
    )
  }
  const kind = LLMC_KINDS.find(kind => kind.magic === magic)
  if (kind === undefined) {
    const known = LLMC_KINDS.map(kind => kind.magic).join(' or ')
    throw refuse(`begins with ${magic}: llm.c's files begin with ${known}. "format" says what it is`)
  }
  if (version !== kind.version)
    throw refuse(
      `has format version ${version}: with the magic number ${magic} only ${kind.version} is known`,
    )
  checkDtype(file, kind.dtype, options.dtype)
  const wanted = LLMC_HEADER + TOKEN_BYTES[kind.dtype] * tokens
  if (tokens < 0 || bytes !== wanted) {
    throw refuse(
      `has ${bytes} bytes, but ${tokens} tokens, as its header says, take ${wanted}: it is cut off or damaged: ` +
        'copy or write it again',
    )
  }
  return filled(found, 'llmc', LLMC_HEADER, kind.dtype)
}
