/** Tokens of one document or row, wherever they lie in several files. */
import { SourceError } from '../../../core/basics/errors.js'
import type { OpenContext } from '../../../core/source/source.js'
import { Stores } from '../../../core/store/stores.js'
import { attachDocuments, openDocuments } from '../../tokens/formats/documents.js'
import type { TokenFile } from '../../tokens/formats/token-file.js'
import { Stream, streamOf } from '../../tokens/rows/stream.js'
import { Stretches } from '../../tokens/token-rows.js'
import { PIECE, TokenReader } from './token-reader.js'

export interface Shown {
  /** Where it lies, in words. */
  where: string
  /** Tokens that it has, and as many of them as were asked for. */
  length: number
  tokens: Uint32Array
}

export async function documentTokens(
  files: readonly TokenFile[],
  document: number,
  eod: number | undefined,
  most: number,
  context: OpenContext,
): Promise<Shown> {
  const documents = attachDocuments(await openDocuments(files, { eod }, context))
  let before = 0
  for (const [i, file] of files.entries()) {
    const number = document - before
    if (number < documents[i].count) {
      const start = documents[i].start(number)
      const length = documents[i].end(number) - start
      const where = `document ${number} of ${file.path}: ${length} tokens from token ${start} on`
      const found = new Stretches()
      found.add(i, start, Math.min(most, length), 0)
      return { where, length, tokens: await read(files, found) }
    }
    before += documents[i].count
  }
  throw new SourceError(`there is no document ${document}: the files have ${before}, counted from 0`, {
    file: files[0].path,
  })
}

/** A row of all files as one stream: `length` tokens, and the one behind them. */
export async function rowTokens(
  files: readonly TokenFile[],
  row: number,
  length: number,
  most: number,
): Promise<Shown> {
  const total = files.reduce((sum, { tokens }) => sum + tokens, 0)
  const from = row * length
  if (from + length + 1 > total) {
    const rows = Math.max(0, Math.floor((total - 1) / length))
    throw new SourceError(
      `there is no row ${row}: ${total} tokens make ${rows} rows of ${length}, counted from 0`,
      { file: files[0].path },
    )
  }
  const found = new Stretches()
  const stream = new Stream(streamOf(files.map(({ tokens }, file) => ({ file, offset: 0, tokens }))))
  stream.stretches(from, from + Math.min(most, length + 1), 0, found)
  const where = `row ${row}: ${length} tokens from token ${from} on, and the one behind them`
  return { where, length: length + 1, tokens: await read(files, found) }
}

async function read(
  files: readonly TokenFile[],
  { count, file, offset, tokens }: Stretches,
): Promise<Uint32Array> {
  using stores = new Stores()
  const all: number[] = []
  for (let i = 0; i < count; i++) {
    const reader = new TokenReader(files[file[i]], stores)
    for (let done = 0; done < tokens[i]; ) {
      const some = await reader.read(offset[i] + done, Math.min(PIECE, tokens[i] - done))
      for (const token of some) all.push(token)
      done += some.length
    }
  }
  return Uint32Array.from(all)
}
