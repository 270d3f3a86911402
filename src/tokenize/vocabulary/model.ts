/** What a vocabulary file tells, whichever format it has: compile.ts makes the tables of the kernel from it. */
import type { PatternName } from '../scan/patterns.js'

export interface AddedToken {
  id: number
  text: string
  /** It stands for no text, such as <|endoftext|>. */
  special: boolean
}

export interface Model {
  pattern: PatternName
  /** By id, the bytes that a token stands for; empty where there is no such token. */
  tokens: readonly Uint8Array[]
  /** The token of each byte. */
  bytes: Uint32Array
  /** Three numbers for each pair of tokens that are merged: left, right, rank. */
  pairs: Uint32Array
  /** By rank, the token that a pair becomes. */
  made: Uint32Array
  /** A word that is a token is not merged. */
  whole: boolean
  added: readonly AddedToken[]
  /** Texts are brought to Unicode's form NFC before. */
  nfc: boolean
}
