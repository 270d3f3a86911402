/**
 * A tokenizer: from bytes of text to numbers, and back. It is made from a compiled vocabulary, in any thread, and belongs to
 * that thread.
 */
import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../../core/basics/errors.js'
import type { Tokenizer as FieldTokenizer } from '../../core/define/tokenizer.js'
import { KernelMemory } from './kernels/memory.js'
import { composed, composedText } from './nfc.js'
import { TokenFinder } from './token-finder.js'
import type { CompiledVocabulary } from './vocabulary/compile.js'
import type { AddedToken } from './vocabulary/model.js'

export interface Tokenizer extends FieldTokenizer {
  /** Greatest token + 1. */
  readonly size: number
  /** Tokens that stand for no text, by their names. */
  readonly special: ReadonlyMap<string, number>
  /** Texts so far that were no UTF-8, and had what is wrong replaced. */
  readonly replaced: number
  /** Of tokenizers whose tokens are no stretches of bytes: where each token of the last text begins and ends, in code points. */
  readonly places?: { starts: Uint32Array; ends: Uint32Array }
  /** The bytes that tokens stand for. */
  decode(tokens: ArrayLike<number>): Uint8Array
}

/** A text became more tokens than `room` told: a normalizer writes more than it reads. */
export class RoomError extends DecodeError {
  constructor(
    readonly needed: number,
    room: number,
  ) {
    super(
      `the text becomes ${needed} tokens, and there is room for ${room}: the tokenizer's normalizer makes it longer`,
    )
  }
}

export interface TokenizerOptions {
  /** What the name of a special token is, when it stands in a text: text like any other (the default), or that token. */
  special?: 'text' | 'parse'
  /** What is done with text that is no UTF-8: the wrong bytes become U+FFFD (the default), or it is an error. */
  invalid?: 'replace' | 'fatal'
  /** The token that ends a document. */
  eod?: number
}

const BLANK = Buffer.from(' ')
/** In vocabularies of characters, "▁" is a blank, too. */
const MARK = Buffer.from('\u2581')

export class BpeTokenizer implements Tokenizer {
  readonly size: number
  readonly special: ReadonlyMap<string, number>
  readonly eod: number | undefined
  replaced = 0
  private readonly memory: KernelMemory
  private readonly fatal: boolean
  /** Finds added tokens in a text as it is, and in what is between them once that is normalised. */
  private readonly raw: TokenFinder | undefined
  private readonly normal: TokenFinder | undefined
  /** Nothing is to be done to a text but to encode it. */
  private readonly plain: boolean

  constructor(
    private readonly vocabulary: CompiledVocabulary,
    { special = 'text', invalid = 'replace', eod }: TokenizerOptions = {},
  ) {
    const { added, count, nfc, prefix } = vocabulary
    this.size = added.reduce((size, { id }) => Math.max(size, id + 1), count)
    this.special = new Map(added.filter(token => token.special).map(({ id, text }) => [text, id]))
    this.eod = eod
    this.fatal = invalid === 'fatal'
    const parsed = added.filter(token => special === 'parse' || !token.special)
    this.raw = finderOf(parsed.filter(token => !token.normalized))
    this.normal = finderOf(
      parsed
        .filter(token => token.normalized)
        .map(token => (nfc ? { ...token, text: composedText(token.text) } : token)),
    )
    this.plain = !this.raw && !this.normal && !nfc && prefix === undefined
    this.memory = new KernelMemory(vocabulary)
  }

  room(bytes: number): number {
    // A wrong byte becomes the three of U+FFFD, and NFC may make a character three times as long. A blank may be put before a text, and
    // behind each added token, which has a byte at least.
    return this.vocabulary.prefix === undefined ? 3 * bytes : 4 * bytes + 1
  }

  encode(text: Uint8Array, out: Uint32Array, at: number): number {
    const valid = this.validated(text)
    if (this.plain) return this.memory.encode(valid, out, at)
    if (this.raw === undefined) return this.encodeNormal(valid, true, out, at)
    let end = at
    this.raw.pieces(valid, (from, to, id) => {
      if (id >= 0) out[end++] = id
      else end = this.encodeNormal(valid.subarray(from, to), from === 0, out, end)
    })
    return checkRoom(end, out)
  }

  decode(tokens: ArrayLike<number>): Uint8Array {
    const { tables, count, memory, added, characters, prefix } = this.vocabulary
    const starts = new Uint32Array(memory.buffer, memory.byteOffset + tables.starts, count + 1)
    const others = new Map(added.map(({ id, text }) => [id, Buffer.from(text)]))
    const pieces = Array.from(tokens, token => {
      const other = others.get(token)
      if (other !== undefined) return other
      if (!(token >= 0 && token < count))
        throw new DecodeError(`there is no token ${token}: the vocabulary has ${this.size}`)
      return memory.subarray(tables.spelled + starts[token], tables.spelled + starts[token + 1])
    })
    const text = Buffer.concat(pieces)
    // The blank that was put before the text.
    return characters && prefix !== undefined && text[0] === BLANK[0] ? text.subarray(1) : text
  }

  /** Where each word of a text ends: for tests. */
  borders(text: Uint8Array): Uint32Array {
    return this.memory.borders(text)
  }

  /** `first`: it is the beginning of the text. */
  private encodeNormal(text: Uint8Array, first: boolean, out: Uint32Array, at: number): number {
    const normal = this.vocabulary.nfc ? composed(text) : text
    if (this.normal === undefined) return this.encodePart(normal, first, out, at)
    let end = at
    this.normal.pieces(normal, (from, to, id) => {
      if (id >= 0) out[end++] = id
      else end = this.encodePart(normal.subarray(from, to), first && from === 0, out, end)
    })
    return checkRoom(end, out)
  }

  private encodePart(text: Uint8Array, first: boolean, out: Uint32Array, at: number): number {
    const { prefix, characters } = this.vocabulary
    const wanted =
      text.length > 0 &&
      prefix !== undefined &&
      (prefix === 'always' || ((first || prefix === 'unlessBlank') && !beginsBlank(text, characters)))
    return this.memory.encode(wanted ? Buffer.concat([BLANK, text]) : text, out, at)
  }

  private validated(text: Uint8Array): Uint8Array {
    if (isUtf8(text)) return text
    if (this.fatal) throw new DecodeError('the text is no UTF-8')
    this.replaced++
    return Buffer.from(DECODER.decode(text))
  }
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

function finderOf(tokens: readonly AddedToken[]): TokenFinder | undefined {
  return tokens.length === 0 ? undefined : new TokenFinder(tokens)
}

/** Numbers that were written behind the end of `out` are lost. */
function checkRoom(end: number, out: Uint32Array): number {
  if (end <= out.length) return end
  throw new RangeError(`there is room for ${out.length} tokens, and the text has ${end - out.length} more`)
}

function beginsBlank(text: Uint8Array, characters: boolean): boolean {
  return text[0] === BLANK[0] || (characters && MARK.every((byte, i) => text[i] === byte))
}
