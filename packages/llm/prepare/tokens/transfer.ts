/** Ways in which documents get from one token file into another. */
import { SourceError } from '../../../core/basics/errors.js'
import type { Visitor } from './go-through.js'
import type { MegatronWriter } from './write/megatron-writer.js'
import type { TokenWriter } from './write/writer.js'

/** Documents, and their sequences, as they are. */
export function keeping(writer: MegatronWriter): Visitor {
  return {
    part: (tokens, from, to) => writer.part(tokens, from, to),
    endSequence: () => writer.endSequence(),
    endDocument: () => writer.endDocument(),
  }
}

/** All tokens as they are; whose borders they mark is left to them. */
export function streaming(writer: TokenWriter): Visitor {
  return { part: (tokens, from, to) => writer.part(tokens, from, to), endSequence() {}, endDocument() {} }
}

/**
 * Documents without the token that marks them: the writer adds it, where its format has it. A document that has it inside would become
 * two: that is refused.
 */
export class Marking implements Visitor {
  /** Documents that lacked the mark: they get one. */
  added = 0
  private document = 0
  private length = 0
  /** The last token that came: it may be the mark, or stand before others. */
  private readonly held = new Uint32Array(1)
  private holds = false
  private marked = false

  constructor(
    private readonly writer: TokenWriter,
    private readonly eod: number,
    /** Where documents have the mark that come here. */
    private readonly at: 'start' | 'end',
    private readonly file: string,
  ) {}

  part(tokens: Uint32Array, from: number, to: number): void {
    if (from === to) return
    if (this.at === 'start') {
      const skip = this.length === 0 && tokens[from] === this.eod ? 1 : 0
      if (skip === 1) this.marked = true
      this.length += skip
      this.pass(tokens, from + skip, to)
      return
    }
    if (this.holds) this.pass(this.held, 0, 1)
    this.pass(tokens, from, to - 1)
    this.held[0] = tokens[to - 1]
    this.holds = true
  }

  endSequence(): void {}

  endDocument(): void {
    if (this.holds) {
      if (this.held[0] === this.eod) this.marked = true
      else this.pass(this.held, 0, 1)
    }
    if (!this.marked) this.added++
    this.writer.end()
    this.document++
    this.length = 0
    this.holds = false
    this.marked = false
  }

  private pass(tokens: Uint32Array, from: number, to: number): void {
    const inside = tokens.subarray(from, to).indexOf(this.eod)
    if (inside >= 0) {
      throw new SourceError(
        `${this.file}: document ${this.document} has the token ${this.eod} inside, at place ${this.length + inside}: ` +
          'a file that marks documents by it would have two documents there. Choose another --eod, or a format that lists documents (megatron)',
        { file: this.file },
      )
    }
    this.writer.part(tokens, from, to)
    this.length += to - from
  }
}
