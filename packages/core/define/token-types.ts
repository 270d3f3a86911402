/** The source `tokens` in a definition: what may be written for it, and the columns that its rows have. */

/** Files of tokens, as rows of a fixed length. */
export interface TokensJson {
  /** Files by path or pattern: .bin, .idx, .npy, or Megatron's prefix without an ending. */
  path: string | string[]
  /** By default as the files tell. */
  format?: 'megatron' | 'nanogpt' | 'llmc' | 'npy' | 'olmo'
  /** The type of the tokens in files that don't tell it. */
  dtype?: 'u8' | 'u16' | 'u32' | 'i32' | 'i64'
  /** The token that ends a document (or begins it, with `eodAt: "start"`), for files that don't list their documents. It also fills rows up. */
  eod?: number
  eodAt?: 'end' | 'start'
  /** Tokens of a row. */
  length: number
  /** concat (the default): rows are cut out of the one stream that all files are. bestFit: several whole documents a row. document: one. */
  pack?: TokenPack
  /** here (the default): `input` and `target`, which is one token ahead. model: `tokens` and `labels` of the same tokens. */
  shift?: 'here' | 'model'
  /** concat: 0 has every epoch cut at the same places. By default the cuts move from epoch to epoch. */
  phase?: 0
  /** concat: what becomes of the tokens behind the last whole row. */
  tail?: 'drop' | 'pad'
  /** bestFit, document: what becomes of documents that are longer than a row. */
  long?: 'split' | 'truncate' | 'drop'
  /** bestFit, document: tokens that are put before and behind each document. */
  insert?: { bos?: number; eod?: number }
  /** document: rows are as long as their documents, and not filled up. */
  ragged?: boolean
  /** A part of the documents, chosen before they are packed. */
  documents?: TokenDocumentsJson
  /** Tokens from this number on are errors. */
  vocabulary?: number
  /** Files with one byte a token, 0 where it is no target; as many as there are files of tokens, in the same order. */
  mask?: string | string[]
  /** For ids, where there are several files. */
  name?: string
  /** Segments that a row has at most, for cuSeqlens; by default `length`. */
  capacity?: number
  /** megatron: cuSeqlens of each row for itself, `length` + 1 numbers filled up with `length`, as Megatron-LM has them. */
  varlen?: 'megatron'
  /** hf: columns are called as Hugging Face's libraries call them. */
  naming?: 'hf'
  /** The key of the phase; by default the order's seed. */
  seed?: number
}

export type TokenPack = 'concat' | 'bestFit' | 'document'

/** Shares of the documents, such as [969, 30, 1], and which of them is taken. */
export interface TokenDocumentsJson {
  split: number[]
  take: number
  /** megatron (the default): stretches of each file's documents, rounded as Megatron-LM does. hash: by hash of the document's number. */
  by?: 'megatron' | 'hash'
  /** hash: another division. */
  seed?: number
}

/** The columns of a row, by the names that they have without `naming`. */
export type TokenColumn =
  | 'input'
  | 'target'
  | 'tokens'
  | 'labels'
  | 'positionIds'
  | 'segments'
  | 'lossMask'
  | 'cuSeqlens'
  | 'cuCount'
  | 'cuLongest'
  | 'seqLens'

/** What may be written for the source `chat`, besides the source inside. */
export interface ChatOptions
  extends Pick<
    TokensJson,
    'length' | 'shift' | 'long' | 'ragged' | 'capacity' | 'varlen' | 'naming' | 'name'
  > {
  /** The model's tokenizer.json, its folder, or another file that is a tokenizer. */
  tokenizer: string
  /** A file with a Jinja template; by default the one beside the tokenizer. */
  template?: string
  /** What is trained on. By default of prompt and completion the completion, of messages those of the assistant. */
  train?: 'assistant' | 'last' | 'completion' | 'all'
  /** What names of special tokens in messages become: those tokens (the default, as in transformers), or text. */
  contents?: 'parse' | 'text'
  /** The date for templates that write one, such as "2024-07-26". */
  now?: string
  /** Variables for the template, such as {"enable_thinking": false}. */
  variables?: Record<string, unknown>
  /** Several conversations a row (the default), or one. */
  pack?: 'bestFit' | 'document'
  /** Each sample is a pair: `chosen` and `rejected`, and what both answer, `prompt`. */
  pairs?: boolean
  /** A part of the conversations, chosen before they are packed. */
  documents?: TokenDocumentsJson
}

/** Columns of pairs, by the names that they have without `naming`. */
export type PairColumn = 'prompt' | 'chosen' | 'rejected' | 'promptMask' | 'chosenMask' | 'rejectedMask'
