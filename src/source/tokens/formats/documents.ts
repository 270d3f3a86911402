/**
 * Where the documents of token files begin and end.
 *
 * There are two steps, as with sources: `openDocuments` runs once in the main thread and may read files as a whole (formats that mark
 * documents by a token are scanned once, and what is found is kept as an index); `attachDocuments` makes of what it gives, which
 * is plain data, something that any thread asks.
 */

/** The documents of one file, in their order. A document of no tokens has start = end. */
export interface Documents {
  readonly count: number
  /** First token of a document, counted in tokens of the file. */
  start(document: number): number
  /** The token behind its last one. */
  end(document: number): number
  /** The document that has a token: the last that starts at it or before it, and is not empty where there is such a one. */
  find(token: number): number
}

/** Which token marks documents, for formats that don't list them. */
export interface DocumentMarks {
  /** The token at the end of each document (or at its start). Not needed for megatron, and for olmo with its .csv.gz. */
  eod?: number
  /** Whether the marking token is the last of its document or the first. Unsaid: the first in llmc files, the last in others. */
  eodAt?: 'end' | 'start'
}
