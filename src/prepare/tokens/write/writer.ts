/** The contract of what writes token files. */
import type { TokenDtype, TokenFormat } from '../../../source/tokens/formats/token-file.js'

export interface WriterOptions {
  format: Exclude<TokenFormat, 'olmo'>
  /** Size of the vocabulary: tokens from it on are refused, and it decides the type: u16 where that holds every token (Megatron: below 65,500), i32 (Megatron) or u32 otherwise. */
  vocabulary?: number
  /** The type, where it is not left to the vocabulary. One of the two must be given. */
  dtype?: TokenDtype
  /** Added to each document: at its end, in llmc files at its start. Counted as part of the document. */
  eod?: number
  /** Replace files that are there. Otherwise it is an error that names them. */
  overwrite?: boolean
}

/** What was written. */
export interface Written {
  format: TokenFormat
  dtype: TokenDtype
  /** The files, in the order in which they got their names. */
  files: string[]
  documents: number
  tokens: number
  bytes: number
}

/**
 * Takes documents, one after the other. Nothing has a name before `finish`: the files then appear, an index last. Memory stays
 * the same however much is written.
 */
export interface TokenWriter {
  /** Adds a document: tokens[from] … tokens[to − 1]. The array may be used again at once. A token that does not fit is an error. */
  document(tokens: Uint32Array, from: number, to: number): void
  /** Puts what was written on the disk and gives it its name. */
  finish(): Promise<Written>
  /** Gives up: nothing stays. May be called after anything, also twice. */
  abort(): void
}
