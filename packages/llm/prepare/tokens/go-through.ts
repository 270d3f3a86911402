/** Goes through the documents of a token file, in their order, with their tokens, in pieces that fit into memory. */

import type { Stores } from '../../../core/store/stores.js'
import type { Documents } from '../../tokens/formats/documents.js'
import type { TokenFile, TokenIndex } from '../../tokens/formats/token-file.js'
import { DocumentIndices, indexProblem, wrongIndex } from './document-indices.js'
import { PIECE, TokenReader } from './token-reader.js'

/** Told what comes. A document of Megatron's may have several sequences, or none; elsewhere each has one. */
export interface Visitor {
  /** Some tokens of a sequence. The array is used again. */
  part(tokens: Uint32Array, from: number, to: number): void
  endSequence(): void
  endDocument(): void
}

export interface Stretch {
  /** Sequences from … to − 1; all unless told otherwise. */
  from?: number
  to?: number
  /** Told how many tokens are done. */
  progress?: (tokens: number) => void
}

/** Without `documents`, the whole file is one. */
export async function goThrough(
  file: TokenFile,
  documents: Documents | undefined,
  visitor: Visitor,
  stores: Stores,
  { from = 0, to = documents?.count ?? 1, progress }: Stretch = {},
): Promise<void> {
  const reader = new TokenReader(file, stores)
  /** Tokens that are in memory: the first, and the one behind the last. */
  let tokens: Uint32Array = new Uint32Array(0)
  let [first, last] = [0, 0]
  const ends = file.index && new DocumentEnds(file.index, stores)
  const before = (await ends?.after(from)) ?? 0
  // Documents without a sequence stand at the beginning; those before a stretch are not told.
  for (let n = from === 0 ? before : 0; n > 0; n--) visitor.endDocument()
  for (let sequence = from; sequence < to; sequence++) {
    let at = documents?.start(sequence) ?? 0
    const end = documents?.end(sequence) ?? file.tokens
    while (at < end) {
      if (at < first || at >= last) {
        tokens = await reader.read(at, Math.min(PIECE, file.tokens - at))
        first = at
        last = at + tokens.length
        progress?.(at)
      }
      const stop = Math.min(end, last)
      visitor.part(tokens, at - first, stop - first)
      at = stop
    }
    visitor.endSequence()
    const ended = ends === undefined ? 1 : ends.after(sequence + 1)
    for (let n = typeof ended === 'number' ? ended : await ended; n > 0; n--) visitor.endDocument()
  }
  // A stretch may end in the middle of a document.
  if (to > from && ends?.isOpen(to)) visitor.endDocument()
  progress?.(file.tokens)
}

/** Where Megatron's documents end, sequence by sequence. */
class DocumentEnds {
  private readonly indices: DocumentIndices
  /** The document that goes on, its first sequence, and the one behind its last. */
  private document = -1
  private begin = 0
  private end = 0

  constructor(
    private readonly index: TokenIndex,
    stores: Stores,
  ) {
    this.indices = new DocumentIndices(index, stores)
  }

  /** How many documents have ended when so many sequences are done, since this was last asked. */
  after(sequences: number, ended = 0): number | Promise<number> {
    while (this.end <= sequences) {
      if (this.document >= 0) ended++
      this.document++
      this.begin = this.end
      if (this.document >= this.index.documents) {
        this.end = Infinity
        break
      }
      const value = this.indices.at(this.document + 1)
      if (typeof value !== 'number')
        return value.then(value => {
          this.set(value)
          return this.after(sequences, ended)
        })
      this.set(value)
    }
    return ended
  }

  /** Whether a document has begun and not ended when so many sequences are done. */
  isOpen(sequences: number): boolean {
    return this.document < this.index.documents && this.begin < sequences
  }

  private set(end: number): void {
    const problem = indexProblem(this.index, this.document + 1, end, this.end)
    if (problem !== undefined) throw wrongIndex(this.index, problem)
    this.end = end
  }
}
