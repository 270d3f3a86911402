/**
 * Writes Megatron-LM's pairs of files, byte for byte as its IndexedDatasetBuilder does. Lengths go to the .idx as they come;
 * pointers and document indices, which stand behind all of them, are computed from the lengths at the end.
 */
import { rmSync } from 'node:fs'
import { SourceError } from '../../../../core/basics/errors.js'
import { Draft } from '../../../../core/system/files/draft.js'
import { INDEX_HEADER, indexHeader, type MegatronDtype } from '../../../tokens/formats/megatron.js'
import { TOKEN_BYTES } from '../../../tokens/formats/token-file.js'
import { TokenStream } from './token-stream.js'
import type { TokenWriter, WriterOptions, Written } from './writer.js'

/** Lengths, pointers or document indices that are written at once. */
const PIECE = 1 << 16
const LONGEST = 2 ** 31 - 1

export class MegatronWriter implements TokenWriter {
  private readonly bin: Draft
  private readonly idx: Draft
  private readonly stream: TokenStream
  private readonly lengths = new Int32Array(PIECE)
  private sequences = 0
  private documents = 0
  /** Tokens of the sequence that is being written. */
  private length = 0
  /** First sequence of the document that is being written. */
  private first = 0
  /** The document indices, where a document has other than one sequence. It never gets a name. */
  private indices: Draft | undefined
  private readonly mark: Uint32Array

  constructor(
    private readonly prefix: string,
    private readonly dtype: MegatronDtype,
    private readonly options: WriterOptions,
  ) {
    const { vocabulary, eod } = options
    this.bin = Draft.open(`${prefix}.bin`)
    try {
      this.idx = Draft.open(`${prefix}.idx`)
      this.idx.write(new Uint8Array(INDEX_HEADER))
    } catch (error) {
      this.bin.discard()
      throw error
    }
    this.stream = new TokenStream(this.bin, dtype, vocabulary)
    this.mark = eod === undefined ? new Uint32Array(0) : Uint32Array.of(eod)
  }

  document(tokens: Uint32Array, from: number, to: number): void {
    this.part(tokens, from, to)
    this.end()
  }

  part(tokens: Uint32Array, from: number, to: number): void {
    this.stream.add(tokens, from, to, this.documents, this.length)
    this.length += to - from
    if (this.length > LONGEST) {
      const file = this.idx.path
      throw new SourceError(
        `${file}: document ${this.documents} has more than ${LONGEST} tokens, the most an .idx can tell`,
        { file },
      )
    }
  }

  end(): void {
    this.endSequence(true)
    this.endDocument()
  }

  /** Ends a sequence. Its document may have others. */
  endSequence(last = false): void {
    if (last) this.part(this.mark, 0, this.mark.length)
    this.lengths[this.sequences++ % PIECE] = this.length
    this.length = 0
    if (this.sequences % PIECE === 0) this.idx.write(new Uint8Array(this.lengths.buffer))
  }

  /** Ends a document, which may have no sequence at all. */
  endDocument(): void {
    if (this.sequences - this.first !== 1) this.indices ??= this.soFar()
    this.documents++
    this.first = this.sequences
    this.indices?.write(new Uint8Array(BigInt64Array.of(BigInt(this.sequences)).buffer))
  }

  async finish(): Promise<Written> {
    const { prefix, dtype, bin, idx, documents, stream } = this
    const files = [bin.path, idx.path]
    try {
      stream.flush()
      const rest = this.sequences % PIECE
      idx.write(new Uint8Array(this.lengths.buffer, 0, 4 * rest))
      this.writePointers()
      this.writeIndices()
      idx.writeAt(indexHeader(dtype, this.sequences, documents), 0)
      // An index of before must not lie beside other tokens, even for a moment.
      if (this.options.overwrite) rmSync(`${prefix}.idx`, { force: true })
      bin.commit()
      try {
        idx.commit()
      } catch (error) {
        rmSync(bin.path, { force: true })
        throw error
      }
      const bytes = bin.bytes + idx.bytes
      return { format: 'megatron', dtype, files, documents: this.sequences, tokens: stream.tokens, bytes }
    } finally {
      this.abort()
    }
  }

  abort(): void {
    for (const draft of [this.bin, this.idx, this.indices]) draft?.discard()
  }

  private writePointers(): void {
    const lengths = this.lengths
    const pointers = new BigInt64Array(PIECE)
    const item = BigInt(TOKEN_BYTES[this.dtype])
    let at = 0n
    for (let first = 0; first < this.sequences; first += PIECE) {
      const count = Math.min(PIECE, this.sequences - first)
      this.idx.readAt(new Uint8Array(lengths.buffer, 0, 4 * count), INDEX_HEADER + 4 * first)
      for (let i = 0; i < count; i++) {
        pointers[i] = at
        at += item * BigInt(lengths[i])
      }
      this.idx.write(new Uint8Array(pointers.buffer, 0, 8 * count))
    }
  }

  private writeIndices(): void {
    if (this.indices === undefined) {
      for (const piece of numbers(this.documents + 1)) this.idx.write(piece)
      return
    }
    const piece = new Uint8Array(8 * PIECE)
    for (let at = 0; at < this.indices.bytes; at += piece.length)
      this.idx.write(piece.subarray(0, this.indices.readAt(piece, at)))
  }

  /** The indices of the documents before, of one sequence each. */
  private soFar(): Draft {
    const draft = Draft.open(`${this.prefix}.idx.documents`)
    for (const piece of numbers(this.documents + 1)) draft.write(piece)
    return draft
  }
}

/** 0, 1, 2 … as i64, in pieces. */
function* numbers(count: number): Generator<Uint8Array> {
  const array = new BigInt64Array(Math.min(PIECE, count))
  for (let first = 0; first < count; first += PIECE) {
    const some = Math.min(PIECE, count - first)
    for (let i = 0; i < some; i++) array[i] = BigInt(first + i)
    yield new Uint8Array(array.buffer, 0, 8 * some)
  }
}
