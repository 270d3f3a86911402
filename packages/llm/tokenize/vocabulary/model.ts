/** What a vocabulary file tells, whichever format it has: compile.ts makes the tables of the kernel from it. */
import type { PatternName } from '../scan/patterns.js'

export interface AddedToken {
  id: number
  text: string
  /** It stands for no text, such as <|endoftext|>. */
  special: boolean
  /** It is looked for after the text was normalised. */
  normalized?: boolean
  /** Blanks before and behind it belong to it. */
  lstrip?: boolean
  rstrip?: boolean
  /** It is none where a letter stands beside it. */
  singleWord?: boolean
}

/** Where a blank is put before a text, and before what follows an added token: always, unless there is one, or at the beginning alone unless there is one. */
export type Prefix = 'always' | 'unlessBlank' | 'firstUnlessBlank'

export interface Model {
  pattern: PatternName
  /** By id, the bytes that a token stands for; empty where there is no such token. */
  tokens: readonly Uint8Array[]
  /** The token of each byte. Where words are made of characters: of ASCII, and of the bytes of characters that have no token. */
  bytes: Uint32Array
  /** Where words are made of characters: the token of each beyond ASCII, by code point. */
  characters?: ReadonlyMap<number, number>
  /** Three numbers for each pair of tokens that are merged: left, right, rank. */
  pairs: Uint32Array
  /** By rank, the token that a pair becomes. */
  made: Uint32Array
  /** A word that is a token is not merged. */
  whole: boolean
  added: readonly AddedToken[]
  /** Texts are brought to Unicode's form NFC before. */
  nfc: boolean
  prefix?: Prefix
}

/** Numbers of tokens are below this, and ranks below that: what the kernel's table of pairs has bits for. */
export const MOST_TOKENS = 2 ** 19 - 4
export const MOST_RANKS = 2 ** 26 - 1

export const BYTE_LETTERS: readonly string[] = letters()
const BYTES: ReadonlyMap<string, number> = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte]))

function letters(): string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    return String.fromCharCode(seen ? byte : next++)
  })
}

/** The bytes that letters stand for; undefined where one of them stands for none. */
export function bytesOfLetters(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const byte = BYTES.get(text[i])
    if (byte === undefined) return undefined
    bytes[i] = byte
  }
  return bytes
}
