/** The contract of what writes token files. open.ts gives one. */
import type { TokenDtype, TokenFormat } from '../../../tokens/formats/token-file.js'

export type WrittenFormat = Exclude<TokenFormat, 'olmo'>

export const WRITTEN_FORMATS: readonly WrittenFormat[] = ['megatron', 'nanogpt', 'llmc', 'npy']

export interface WriterOptions {
  format: WrittenFormat
  /**
   * Size of the vocabulary: tokens from it on are refused. It decides the type: u16 where that holds every token (Megatron: below
   * 65,500), otherwise i32 (Megatron) or u32.
   */
  vocabulary?: number
  /** The type, where it is not left to the vocabulary. One of the two must be given. */
  dtype?: TokenDtype
  /** Added to each document, and counted: at its end, in llmc files at its start. */
  eod?: number
  /** Replace files that are there. Otherwise it is an error that names them. */
  overwrite?: boolean
}

export interface Written {
  format: WrittenFormat
  dtype: TokenDtype
  /** The files, in the order in which they got their names. */
  files: string[]
  documents: number
  tokens: number
  bytes: number
}

/**
 * Takes documents, one after the other. Nothing has a name before `finish`: the files then appear, an index last. Memory stays
 * the same however much is written. Errors of the disk name the file.
 */
export interface TokenWriter {
  /**
   * Adds a document: tokens[from] … tokens[to − 1]; none at all is a document, too. The array may be used again at once. A token
   * that does not fit is an error that names it.
   */
  document(tokens: Uint32Array, from: number, to: number): void
  /** Adds a part of a document that does not lie in memory as a whole. */
  part(tokens: Uint32Array, from: number, to: number): void
  end(): void
  /** Puts what was written on the disk and gives it its name. After an error nothing stays. */
  finish(): Promise<Written>
  /** Gives up: nothing stays. May be called after anything, also twice. */
  abort(): void
}
