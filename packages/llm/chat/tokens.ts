/**
 * Tokens of a rendered text, and which of them are trained on. A span of characters goes from the token that has its first
 * character to the first token that has its last: the rule of transformers' assistant mask (`char_to_token`).
 */
import { DecodeError } from '../../core/basics/errors.js'
import { lastWhere } from '../../core/basics/search.js'
import { attachTokenizer, type OpenedTokenizer } from '../tokenize/open.js'
import { RoomError, type Tokenizer } from '../tokenize/tokenizer.js'
import type { AddedToken } from '../tokenize/vocabulary/model.js'
import { type Alphabet, align } from './align.js'
import type { RenderedPair } from './pairs.js'
import type { Piece } from './pieces.js'
import type { TrainedText } from './render.js'

export interface TrainedTokens {
  tokens: Uint32Array
  /** 1: trained on. */
  mask: Uint8Array
}

export class ChatTokenizer {
  private readonly parsing: Tokenizer
  private literal: Tokenizer | undefined
  /** Bytes of tokens, as far as they were asked for. */
  private readonly known = new Map<number, Uint8Array>()
  private readonly added: ReadonlyMap<number, AddedToken>
  private tokens = new Uint32Array(1 << 16)
  /** First byte of each token in the text, and the end; and the byte behind each. */
  private starts = new Uint32Array(1 << 16)
  private ends = new Uint32Array(1 << 16)

  constructor(private readonly opened: OpenedTokenizer) {
    this.parsing = attachTokenizer({ ...opened, special: 'parse' })
    this.added = new Map(opened.vocabulary.added.map(token => [token.id, token]))
  }

  encode({ pieces, spans }: TrainedText): TrainedTokens {
    const buffers = pieces.map(({ text }) => Buffer.from(text))
    this.reserve(buffers.reduce((sum, { length }) => sum + this.parsing.room(length), 0) + 1)
    let [count, bytes] = [0, 0]
    /** The text as it was tokenised. */
    let whole = ''
    buffers.forEach((buffer, i) => {
      const tokenizer = this.tokenizer(pieces[i])
      const end = this.tokenised(tokenizer, buffer, count)
      const text =
        tokenizer.places === undefined
          ? this.aligned(buffer, pieces[i], count, end, bytes)
          : this.placed(tokenizer.places, pieces[i].text, count, bytes)
      bytes = this.starts[end]
      whole += text
      count = end
    })
    const given = pieces.map(({ text }) => text).join('')
    const bytesAt = byteFinder(given, whole)
    const mask = new Uint8Array(count)
    for (const [from, to] of spans) {
      const first = bytesAt(from)
      if (to === 0 || count === 0 || first >= bytes) continue
      const last = bytesAt(to - 1)
      // A mark that is composed with the character before it begins where that one does.
      const joined = to > 1 && bytesAt(to - 2) === last && !isLow(given, to - 1)
      mask.fill(1, this.firstFrom(first, count), this.lastOf(last, bytesAt(to), joined, count) + 1)
    }
    return { tokens: this.tokens.slice(0, count), mask }
  }

  /** Prompt, chosen and rejected. Where the tokens of the two prompts differ, what both have is the prompt: as TRL does. */
  pair({ chosen, rejected }: RenderedPair): TrainedTokens[] {
    const [good, bad] = [this.encode(chosen), this.encode(rejected)]
    let border = Math.min(firstOne(good.mask), firstOne(bad.mask))
    for (let i = 0; i < border; i++) if (good.tokens[i] !== bad.tokens[i]) border = i
    const part = ({ tokens }: TrainedTokens, from: number, to: number) => ({
      tokens: tokens.slice(from, to),
      mask: new Uint8Array(to - from).fill(from === 0 ? 0 : 1),
    })
    return [
      part(good, 0, border),
      part(good, border, good.tokens.length),
      part(bad, border, bad.tokens.length),
    ]
  }

  private tokenizer({ literal }: Piece): Tokenizer {
    if (!literal) return this.parsing
    this.literal ??= attachTokenizer({
      ...this.opened,
      special: 'text',
      vocabulary: { ...this.opened.vocabulary, added: [] },
    })
    return this.literal
  }

  /** Finds the first byte of each token. Gives the text that they stand for: the given one, or its form NFC. */
  private aligned(buffer: Buffer, { text, literal }: Piece, from: number, to: number, base: number): string {
    const [tokens, starts] = [this.tokens.subarray(from, to), this.starts.subarray(from, to + 1)]
    const alphabet: Alphabet = {
      bytes: token => this.bytes(token),
      added: token => (literal ? undefined : this.added.get(token)),
    }
    const composed = text.normalize('NFC')
    const found = align(buffer, tokens, alphabet, starts)
      ? text
      : composed !== text && align(Buffer.from(composed), tokens, alphabet, starts)
        ? composed
        : undefined
    if (found === undefined)
      throw new DecodeError(
        `the tokens of the tokenizer ${this.opened.name} do not add up to the text, so what is trained on can't be found in it`,
      )
    for (let i = 0; i < starts.length; i++) starts[i] += base
    // A blank that was put before a character is a token of that character, too.
    for (let i = tokens.length - 1; i >= 0; i--)
      this.ends[from + i] =
        starts[i + 1] > starts[i] || i + 1 === tokens.length ? starts[i + 1] : this.ends[from + i + 1]
    return found
  }

  /** The same, where the tokenizer tells the characters of each. Those that it drops are in none. */
  private placed(places: NonNullable<Tokenizer['places']>, text: string, from: number, base: number): string {
    const { starts, ends } = places
    const bytes = new Uint32Array(text.length + 1)
    let [point, byte] = [0, base]
    bytes[0] = base
    for (const char of text) {
      byte += Buffer.byteLength(char)
      bytes[++point] = byte
    }
    for (let i = 0; i < starts.length; i++) {
      this.starts[from + i] = bytes[starts[i]]
      this.ends[from + i] = bytes[ends[i]]
    }
    this.starts[from + starts.length] = byte
    return text
  }

  private bytes(token: number): Uint8Array {
    const known = this.known.get(token)
    if (known !== undefined) return known
    // A blank at the beginning of a text is one that was put there: so it is looked at as the second of two.
    const [one, two] = [[token], [token, token]].map(tokens => this.parsing.decode(tokens))
    const bytes = two.slice(one.length)
    this.known.set(token, bytes)
    return bytes
  }

  /** The first token that has a byte; where none has it, the first behind it. */
  private firstFrom(byte: number, count: number): number {
    let at = this.tokenAt(byte, count)
    while (at < count && this.ends[at] <= byte) at++
    return at
  }

  /** The first token that has the last character of a span; where it was dropped or joined to another, the last before its end. */
  private lastOf(byte: number, end: number, joined: boolean, count: number): number {
    const found = this.tokenAt(byte, count)
    if (!joined && this.ends[found] > byte) return found
    let at = found
    while (at + 1 < count && this.starts[at + 1] < end) at++
    return at
  }

  /** The first of the tokens that begin last, up to a byte. */
  private tokenAt(byte: number, count: number): number {
    let at = lastWhere(count, i => this.starts[i] <= byte)
    while (at > 0 && this.starts[at - 1] === this.starts[at]) at--
    return at
  }

  /** Where there is too little room, as much is made as is needed. */
  private tokenised(tokenizer: Tokenizer, text: Uint8Array, at: number): number {
    try {
      return tokenizer.encode(text, this.tokens, at)
    } catch (error) {
      if (!(error instanceof RoomError)) throw error
      this.reserve(at + error.needed + 1)
      return tokenizer.encode(text, this.tokens, at)
    }
  }

  private reserve(count: number): void {
    if (count < this.tokens.length) return
    for (const name of ['tokens', 'starts', 'ends'] as const) {
      const more = new Uint32Array(2 * count)
      more.set(this[name])
      this[name] = more
    }
  }
}

function firstOne(mask: Uint8Array): number {
  const found = mask.indexOf(1)
  return found < 0 ? mask.length : found
}

/** Finds the first byte of the character that has a UTF-16 unit; asked in ascending order, mostly. */
function byteFinder(given: string, tokenised: string): (at: number) => number {
  let [unit, byte] = [0, 0]
  return at => {
    let goal = isLow(given, at) ? at - 1 : at
    if (given !== tokenised) goal = composedAt(given.slice(0, goal), tokenised)
    if (goal < unit) [unit, byte] = [0, 0]
    byte += Buffer.byteLength(tokenised.slice(unit, goal))
    unit = goal
    return byte
  }
}

/** Whether the unit is the second half of a character. */
function isLow(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit < 0xe000 && at > 0 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
}

/** Where the text behind `before` goes on once the whole is composed: at the character that they share, if they share one. */
function composedAt(before: string, whole: string): number {
  const composed = before.normalize('NFC')
  if (whole.startsWith(composed)) return composed.length
  let same = 0
  while (composed[same] === whole[same]) same++
  return isLow(whole, same) ? same - 1 : same
}
