/** Writes files of one stream: nanogpt, llmc and npy. What stands before the tokens is known when all are written. */
import { SourceError } from '../../../../core/basics/errors.js'
import { Draft } from '../../../../core/system/files/draft.js'
import { LLMC_HEADER, LLMC_MOST, llmcHeader } from '../../../tokens/formats/llmc.js'
import type { TokenDtype } from '../../../tokens/formats/token-file.js'
import { TokenStream } from './token-stream.js'
import type { TokenWriter, WriterOptions, Written } from './writer.js'

/** As numpy.save writes them: the header leaves room for a number of any length. */
const NPY_HEADER = 128
const NPY_TYPES: Readonly<Record<TokenDtype, string>> = {
  u8: '|u1',
  u16: '<u2',
  u32: '<u4',
  i32: '<i4',
  i64: '<i8',
}

export class PlainWriter implements TokenWriter {
  private readonly draft: Draft
  private readonly stream: TokenStream
  private readonly header: number
  private documents = 0
  /** Tokens of the document that is being written; −1: none is. */
  private length = -1
  private readonly mark: Uint32Array

  constructor(
    private readonly path: string,
    private readonly dtype: TokenDtype,
    private readonly options: WriterOptions,
  ) {
    const { format, vocabulary, eod } = options
    this.draft = Draft.open(path)
    this.stream = new TokenStream(this.draft, dtype, vocabulary)
    this.header = format === 'llmc' ? LLMC_HEADER : format === 'npy' ? NPY_HEADER : 0
    this.draft.write(new Uint8Array(this.header))
    this.mark = eod === undefined ? new Uint32Array(0) : Uint32Array.of(eod)
  }

  document(tokens: Uint32Array, from: number, to: number): void {
    this.part(tokens, from, to)
    this.end()
  }

  part(tokens: Uint32Array, from: number, to: number): void {
    if (this.length < 0) {
      this.length = 0
      if (this.options.format === 'llmc') this.add(this.mark, 0, this.mark.length)
    }
    this.add(tokens, from, to)
  }

  end(): void {
    this.part(this.mark, 0, this.options.format === 'llmc' ? 0 : this.mark.length)
    this.documents++
    this.length = -1
  }

  async finish(): Promise<Written> {
    const { path, dtype, stream, draft, documents } = this
    const { format } = this.options
    try {
      stream.flush()
      const { tokens } = stream
      if (format === 'llmc') {
        if (tokens > LLMC_MOST) {
          throw new SourceError(
            `${path}: ${tokens} tokens, but the header of llm.c's files counts to ${LLMC_MOST}: write several files ` +
              '(millrace tokens split), or another format',
            { file: path },
          )
        }
        draft.writeAt(llmcHeader(dtype, tokens), 0)
      }
      if (format === 'npy') draft.writeAt(npyHeader(dtype, tokens), 0)
      draft.commit()
      return { format, dtype, files: [draft.path], documents, tokens, bytes: draft.bytes }
    } catch (error) {
      this.abort()
      throw error
    }
  }

  abort(): void {
    this.draft.discard()
  }

  private add(tokens: Uint32Array, from: number, to: number): void {
    this.stream.add(tokens, from, to, this.documents, this.length)
    this.length += to - from
  }
}

function npyHeader(dtype: TokenDtype, tokens: number): Buffer {
  const header = Buffer.alloc(NPY_HEADER, ' ')
  header.write('\x93NUMPY\x01\x00', 'latin1')
  header.writeUInt16LE(NPY_HEADER - 10, 8)
  header.write(`{'descr': '${NPY_TYPES[dtype]}', 'fortran_order': False, 'shape': (${tokens},), }`, 10)
  header.write('\n', NPY_HEADER - 1)
  return header
}
