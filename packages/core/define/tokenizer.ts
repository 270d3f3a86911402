/** The contract of tokenizers, for fields of text. packages/llm has them; packages/all/registry.ts says so with `addTokenizers`. */
import type { TokenizerParams } from './operators/text.js'

/** Makes numbers of text. It belongs to one thread. */
export interface Tokenizer {
  /** The token that ends a document. */
  readonly eod: number | undefined
  /** Tokens that a text of so many bytes has at most. */
  room(bytes: number): number
  /** Writes the tokens of UTF-8 text into `out`, from `at` on; gives the place behind the last. */
  encode(text: Uint8Array, out: Uint32Array, at: number): number
}

/** A tokenizer whose file was read: plain data, posted to the threads that attach it. */
export interface OpenedTokenizer {
  /** Of the tokenizer's file and all that changes its tokens. */
  hash: string
  /** Greatest token + 1. */
  size: number
  /** Short name, for messages. */
  name: string
  /** The token that ends a document. */
  eod?: number
}

export interface Tokenizers {
  /** Reads the file of a tokenizer, once, in the main thread. */
  open(params: TokenizerParams, root: string, notice?: (text: string) => void): Promise<OpenedTokenizer>
  /** Makes a tokenizer of what `open` gave, in any thread. */
  attach(opened: OpenedTokenizer): Tokenizer
}

let load: (() => Promise<Tokenizers>) | undefined

/** Says what loads tokenizers, in this thread: the first feed that has one does. */
export function addTokenizers(loader: () => Promise<Tokenizers>): void {
  load = loader
}

export function loadTokenizers(): Promise<Tokenizers> {
  if (load === undefined)
    throw new Error('no tokenizers were added in this thread: import the registry first')
  return load()
}
