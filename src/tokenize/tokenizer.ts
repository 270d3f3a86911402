/**
 * A tokenizer: from bytes of text to numbers, and back. It is made from a compiled vocabulary, in any thread, and belongs to
 * that thread.
 */
import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../basics/errors.js'
import { type Kernel, newKernel, useWordTables } from './kernels/load.js'
import { TokenFinder } from './token-finder.js'
import type { CompiledVocabulary } from './vocabulary/compile.js'

export interface Tokenizer {
  /** Greatest token + 1. */
  readonly size: number
  /** Tokens that stand for no text, by their names. */
  readonly special: ReadonlyMap<string, number>
  /** The token that ends a document. */
  readonly eod: number | undefined
  /** Texts so far that were no UTF-8, and had what is wrong replaced. */
  readonly replaced: number
  /** Writes the tokens of UTF-8 text into `out`, from `at` on; gives the place behind the last. A text has no more tokens than bytes. */
  encode(text: Uint8Array, out: Uint32Array, at: number): number
  /** The bytes that tokens stand for. */
  decode(tokens: ArrayLike<number>): Uint8Array
}

export interface TokenizerOptions {
  /** What the name of a special token is, when it stands in a text: text like any other (the default), or that token. */
  special?: 'text' | 'parse'
  /** What is done with text that is no UTF-8: the wrong bytes become U+FFFD (the default), or it is an error. */
  invalid?: 'replace' | 'fatal'
  /** The token that ends a document. */
  eod?: number
}

/** Bytes of text that are encoded at a time; more where a word is longer. */
const WINDOW = 256 << 10
/** Bytes to work in for each byte of a word. */
const SCRATCH = 40
/** Bytes that a kernel may read or write over the end of what it is given. */
const SLACK = 64
/** Characters below U+0300 are in the form NFC: their bytes are below this. */
const MAY_COMPOSE = 0xcc

export class BpeTokenizer implements Tokenizer {
  readonly size: number
  readonly special: ReadonlyMap<string, number>
  readonly eod: number | undefined
  replaced = 0
  private readonly kernel: Kernel
  private readonly finder: TokenFinder | undefined
  private readonly fatal: boolean
  /** Where the kernel works, and where texts and tokens are put. */
  private readonly scratch: number
  private window = 0
  private text = 0
  private tokens = 0
  private memory: Uint8Array

  constructor(
    private readonly vocabulary: CompiledVocabulary,
    { special = 'text', invalid = 'replace', eod }: TokenizerOptions = {},
  ) {
    const { added, count, tables, memory } = vocabulary
    this.size = added.reduce((size, { id }) => Math.max(size, id + 1), count)
    this.special = new Map(added.filter(token => token.special).map(({ id, text }) => [text, id]))
    const parsed = added.filter(token => special === 'parse' || !token.special)
    this.finder = parsed.length === 0 ? undefined : new TokenFinder(parsed)
    this.eod = eod
    this.fatal = invalid === 'fatal'
    this.kernel = newKernel(tables.end)
    this.memory = this.kernel.bytes()
    this.memory.set(memory)
    this.kernel.grow(tables.end + (4 << 20))
    this.scratch = useWordTables(this.kernel, tables.end)
    this.kernel.use(tables, this.scratch)
    this.reserve(WINDOW)
  }

  encode(text: Uint8Array, out: Uint32Array, at: number): number {
    const right = this.checked(text)
    if (this.finder === undefined) return this.encodePlain(right, out, at)
    let done = 0
    for (;;) {
      const found = this.finder.next(right, done)
      if (found === undefined) return this.encodePlain(right.subarray(done), out, at)
      at = this.encodePlain(right.subarray(done, found.from), out, at)
      out[at++] = found.id
      done = found.to
    }
  }

  decode(tokens: ArrayLike<number>): Uint8Array {
    const { tables, count, memory, added } = this.vocabulary
    const starts = new Uint32Array(memory.buffer, memory.byteOffset + tables.starts, count + 1)
    const others = new Map(added.map(({ id, text }) => [id, Buffer.from(text)]))
    const pieces = Array.from(tokens, token => {
      const other = others.get(token)
      if (other !== undefined) return other
      if (!(token >= 0 && token < count))
        throw new DecodeError(`there is no token ${token}: the vocabulary has ${this.size}`)
      return memory.subarray(tables.spelled + starts[token], tables.spelled + starts[token + 1])
    })
    return Buffer.concat(pieces)
  }

  /** Where each word of a text ends: for tests. */
  borders(text: Uint8Array): Uint32Array {
    this.reserve(text.length)
    this.memory.set(text, this.text)
    const count = this.kernel.code.borders(this.vocabulary.pattern, this.text, text.length, this.tokens)
    return new Uint32Array(this.memory.buffer, this.tokens, count).slice()
  }

  private encodePlain(text: Uint8Array, out: Uint32Array, at: number): number {
    const { code } = this.kernel
    for (let done = 0; done < text.length; ) {
      const length = Math.min(this.window, text.length - done)
      const last = done + length === text.length
      this.memory.set(length === text.length ? text : text.subarray(done, done + length), this.text)
      const count = code.encode(this.vocabulary.pattern, this.text, length, this.tokens, last ? 1 : 0)
      if (at + count > out.length)
        throw new RangeError(
          `there is room for ${out.length - at} tokens more, and the text has ${count} at least`,
        )
      out.set(new Uint32Array(this.memory.buffer, this.tokens, count), at)
      at += count
      const consumed = code.consumed()
      done += consumed
      // A word is longer than what was looked at.
      if (consumed === 0) this.reserve(2 * this.window)
    }
    return at
  }

  /** Makes room for texts of so many bytes. */
  private reserve(window: number): void {
    if (window <= this.window) return
    this.window = window
    this.text = (this.scratch + SCRATCH * window + SLACK) & ~63
    this.tokens = (this.text + window + 2 * SLACK) & ~63
    this.kernel.grow(this.tokens + 4 * window + SLACK)
    this.memory = this.kernel.bytes()
  }

  /** The text as the vocabulary wants it. */
  private checked(text: Uint8Array): Uint8Array {
    let right = text
    if (!isUtf8(text)) {
      if (this.fatal) throw new DecodeError('the text is no UTF-8')
      this.replaced++
      right = Buffer.from(DECODER.decode(text))
    }
    if (!this.vocabulary.nfc || !right.some(byte => byte >= MAY_COMPOSE)) return right
    const given = Buffer.from(right.buffer, right.byteOffset, right.length).toString()
    const composed = given.normalize('NFC')
    return composed === given ? right : Buffer.from(composed)
  }
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })
