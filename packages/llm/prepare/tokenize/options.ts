/** Options, progress and result of tokenising. */
import type { TokenizerJson } from '../../tokenize/open.js'
import type { WriterOptions } from '../tokens/write/writer.js'

export interface TokenizeOptions {
  tokenizer: TokenizerJson
  /** The outputs' path without their endings. */
  out: string
  format: WriterOptions['format']
  /** The key or column with the text. */
  key: string
  /** A line of a text file is a document, not the file. */
  lines: boolean
  /** Adds the token that ends a document: the tokenizer's, or this one. */
  eod: boolean | number
  /** The seed, and the bytes of memory that it may take. */
  shuffle?: { seed: number; memory: number }
  /** Threads; 0 tokenises in the calling one. */
  workers: number
  /** This machine's share, from 1. */
  part?: { number: number; of: number }
  onError: 'fail' | 'skip'
  budget: number
  /** Begins anew, and replaces outputs that are there. */
  restart: boolean
  root: string
  /** Read in place of files, where it is given. */
  stdin?: AsyncIterable<Uint8Array>
  onProgress?: (reported: TokenizeProgress) => void
  onNotice?: (text: string) => void
}

export interface TokenizeProgress {
  what: 'tokenising' | 'joining' | 'shuffling'
  /** Bytes of inputs, or tokens of parts; 0: it is not known of how many. */
  done: number
  total: number
  unit: 'bytes' | 'tokens'
  tokens: number
}

export interface TokenizeResult {
  format: WriterOptions['format']
  dtype: string
  outputs: string[]
  documents: number
  tokens: number
  /** Bytes of the outputs, of the text that became tokens, and of the inputs. */
  bytes: number
  textBytes: number
  inputBytes: number
  /** Documents without a token, and bad ones, which were left out; those with bytes that were replaced. */
  empty: number
  skipped: number
  replaced: number
  bad: string[]
  parts: number
  /** Parts that were there already. */
  reused: number
  vocabulary: number
  eod?: number
}
