/** Reads every token of a file: whether it is one of the vocabulary, and whether documents have the token that marks them. */

import type { Stores } from '../../../../core/store/stores.js'
import type { Documents } from '../../../tokens/formats/documents.js'
import type { TokenFile } from '../../../tokens/formats/token-file.js'
import { NO_TOKEN, PIECE, TokenReader } from '../token-reader.js'
import type { Problems } from './problems.js'

export interface TokenChecks {
  vocabulary?: number
  /** Documents end with it; in llmc files they begin with it. */
  eod?: number
  progress?: (tokens: number) => void
}

export interface TokenFindings {
  greatest: number
  /** Tokens that are `eod`, where that was given. */
  marks: number
  /** The token that every document ends with, if it is the same one. */
  ending?: number
}

/** `documents`: where the file lists them. */
export async function checkTokens(
  file: TokenFile,
  documents: Documents | undefined,
  { vocabulary = NO_TOKEN, eod, progress }: TokenChecks,
  stores: Stores,
  problems: Problems,
): Promise<TokenFindings> {
  const reader = new TokenReader(file, stores)
  const place = (token: number): string => {
    if (documents === undefined || documents.count === 0) return `token ${token}`
    const document = documents.find(token)
    return `token ${token - documents.start(document)} of document ${document}`
  }
  const atStart = file.format === 'llmc'
  const found: TokenFindings = { greatest: 0, marks: 0 }
  let document = 0
  let endings: number | undefined
  let different = false
  for (let from = 0; from < file.tokens; from += PIECE) {
    const tokens = await reader.read(from, Math.min(PIECE, file.tokens - from))
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i]
      if (token > found.greatest && token !== NO_TOKEN) found.greatest = token
      if (token >= vocabulary) problems.add('vocabulary', outside(file, place(from + i), token, vocabulary))
      if (token === eod) found.marks++
    }
    const to = from + tokens.length
    for (; documents !== undefined && document < documents.count; document++) {
      const [start, end] = [documents.start(document), documents.end(document)]
      if (end > to) break
      if (end === start || end <= from) continue
      const last = tokens[end - 1 - from]
      endings ??= last
      if (last !== endings) different = true
      if (eod !== undefined && last !== eod)
        problems.add('eod', `${file.path}: document ${document} ends with token ${last}, not with ${eod}`)
    }
    if (documents === undefined && eod !== undefined) {
      if (atStart && from === 0 && tokens[0] !== eod)
        problems.add('eod', `${file.path} begins with token ${tokens[0]}, not with ${eod}`)
      if (!atStart && to === file.tokens && tokens.at(-1) !== eod)
        problems.add('eod', `${file.path} ends with token ${tokens.at(-1)}, not with ${eod}`)
    }
    progress?.(to)
  }
  return { ...found, ...(!different && endings !== undefined && { ending: endings }) }
}

function outside(file: TokenFile, place: string, token: number, vocabulary: number): string {
  if (token === NO_TOKEN) return `${file.path}: ${place} is below 0, or has more than 32 bits`
  return `${file.path}: ${place} is ${token}, but the vocabulary has ${vocabulary} tokens`
}
