/** What is asked about documents, and what is known of them when files are opened. */
import type { DataFile } from '../../../../core/source/find/data-files.js'
import { NumberBuilder } from '../../../../core/source/index/columns.js'
import type { TokenFile } from '../token-file.js'

/** The documents of one file, in their order. A document of no tokens has start = end. */
export interface Documents {
  readonly count: number
  /** First token of a document, counted in tokens of the file. */
  start(document: number): number
  /** The token behind its last one. */
  end(document: number): number
  /** The last document that starts at a token or before it: the one that has it. */
  find(token: number): number
}

/** Which token marks documents, for formats that don't list them. */
export interface DocumentMarks {
  /** The token at the end of each document (or at its start). Not needed for megatron, and for olmo with its .csv.gz. */
  eod?: number
  /** Whether the marking token is the last of its document or the first. Unsaid: the first in llmc files, the last in others. */
  eodAt?: 'end' | 'start'
}

/**
 * How the documents of a file are found out. Plain data.
 * index: by reads of the .idx, a local file.
 * kept: from an index of ours, which was made of the tokens, of a .csv.gz, or of an .idx in another store.
 */
export type FileDocuments =
  | { by: 'index'; count: number; file: TokenFile }
  | { by: 'kept'; count: number; file: TokenFile; path: string; checksum: number }

/** Of several files, in their order. */
export type OpenedDocuments = readonly FileDocuments[]

/** The file of which borders are found out: that with the tokens, or the one that lists documents. */
export interface BordersFile extends DataFile {
  tokens: TokenFile
  marks: Required<DocumentMarks> | undefined
}

/** Takes the documents that a scan finds, in their order. */
export class BordersBuilder {
  readonly ends = new NumberBuilder()
  private starts: NumberBuilder | undefined
  private last = 0

  add(start: number, end: number): void {
    if (start !== this.last && this.starts === undefined) {
      this.starts = new NumberBuilder()
      for (let i = 0; i < this.ends.length; i++) this.starts.push(i === 0 ? 0 : this.ends.at(i - 1))
    }
    this.starts?.push(start)
    this.ends.push(end)
    this.last = end
  }

  columns(): Record<string, NumberBuilder> {
    return { end: this.ends, ...(this.starts && { start: this.starts }) }
  }
}
