/** Files of tokens: what is known of one when its header was read. Plain data that can be posted to threads. */
import type { Version } from '../../../core/store/store.js'

/**
 * megatron  .bin and .idx of Megatron-LM: raw tokens, and an index of sequences
 * nanogpt   raw tokens, nothing else
 * llmc      a header of 256 i32, then raw tokens
 * npy       an array of one axis, as numpy.save writes it
 * olmo      named .npy, but raw tokens; a .csv.gz beside it may tell where documents begin and end
 */
export type TokenFormat = 'megatron' | 'nanogpt' | 'llmc' | 'npy' | 'olmo'

export const TOKEN_FORMATS: readonly TokenFormat[] = ['megatron', 'nanogpt', 'llmc', 'npy', 'olmo']

export type TokenDtype = 'u8' | 'u16' | 'u32' | 'i32' | 'i64'

export const TOKEN_DTYPES: readonly TokenDtype[] = ['u8', 'u16', 'u32', 'i32', 'i64']

/** Bytes of a token. */
export const TOKEN_BYTES: Readonly<Record<TokenDtype, number>> = { u8: 1, u16: 2, u32: 4, i32: 4, i64: 8 }

/** One file of tokens: where they lie and how many there are. */
export interface TokenFile {
  format: TokenFormat
  /** For ids and messages: the file's name without its folder and ending (with both where that would not tell files apart). */
  name: string
  /** The file with the tokens, as its store names it; a file that is not of this size and version any more was changed. */
  path: string
  size: number
  version: Version
  /** Offset of the first token in bytes, the type of tokens, and their number. */
  begin: number
  dtype: TokenDtype
  tokens: number
  /** megatron: the .idx. */
  index?: TokenIndex
  /** olmo: the .csv.gz with the borders of documents, where there is one. */
  borders?: SideFile
}

/** A file that belongs to a file of tokens. */
export interface SideFile {
  path: string
  size: number
  version: Version
}

/**
 * The .idx of Megatron-LM. Sequence i has lengths[i] tokens from byte pointers[i] of the .bin on. Sequences are what GPTDataset
 * calls documents, and so does Millrace; `documents` counts what the file itself calls documents, of one sequence or several.
 */
export interface TokenIndex extends SideFile {
  sequences: number
  documents: number
  /** Each sequence has a mode (a byte at the end of the .idx): files with text and pictures. */
  modes: boolean
}
