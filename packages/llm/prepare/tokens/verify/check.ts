/** Checks token files: an .idx from its first entry to its last, and every token. */
import type { Stores } from '../../../../core/store/stores.js'
import { readEntries } from '../../../tokens/formats/borders/indexed.js'
import type { Documents } from '../../../tokens/formats/documents.js'
import { TOKEN_BYTES, type TokenFile, type TokenIndex } from '../../../tokens/formats/token-file.js'
import { DocumentIndices, indexProblem } from '../document-indices.js'
import { NO_TOKEN, PIECE, TokenReader } from '../token-reader.js'

export interface IndexFindings {
  empty: number
  /** Lengths and pointers agree with each other, and with the .bin. */
  sound: boolean
  /** They agree with each other, and leave out one token for each document: what blendcorpus writes. */
  uncounted: boolean
}

export async function checkIndex(
  file: TokenFile,
  stores: Stores,
  problems: Problems,
): Promise<IndexFindings> {
  const index = file.index as TokenIndex
  const { sequences, documents } = index
  const item = TOKEN_BYTES[file.dtype]
  let empty = 0
  let wrong = 0
  let expected = 0
  await readEntries(index, stores, (first, lengths, pointers) => {
    for (let i = 0; i < lengths.length; i++) {
      const [length, pointer] = [lengths[i], pointers[i]]
      if (length < 0) {
        wrong++
        problems.add('length', `${index.path}: entry ${first + i}: a length of ${length} tokens`)
      }
      if (pointer !== expected) {
        wrong++
        problems.add(
          'pointer',
          `${index.path}: entry ${first + i}: its pointer is ${pointer}, but the one before it ends at ${expected}`,
        )
      }
      if (length === 0) empty++
      expected = pointer + item * Math.max(0, length)
    }
  })
  await checkDocuments(index, stores, problems)
  const more = (file.size - expected) / item
  const uncounted = wrong === 0 && more > 0 && more === sequences && sequences === documents
  if (more !== 0) {
    problems.add(
      'size',
      `${index.path}: the last document ends at byte ${expected}, but ${file.path} has ${file.size} bytes`,
    )
  }
  return { empty, sound: wrong === 0 && more === 0, uncounted }
}

async function checkDocuments(index: TokenIndex, stores: Stores, problems: Problems): Promise<void> {
  const indices = new DocumentIndices(index, stores)
  let before = 0
  for (let i = 0; i <= index.documents; i++) {
    const value = indices.at(i)
    const number = typeof value === 'number' ? value : await value
    const problem = indexProblem(index, i, number, before)
    if (problem !== undefined) problems.add('document', `${index.path}: ${problem}`)
    before = number
  }
}

/** Problems of a kind that are told in words. */
const MOST_REPORTED = 3

export interface Problem {
  kind: string
  count: number
  reported: string[]
}

export class Problems {
  readonly all: Problem[] = []

  add(kind: string, text: string): void {
    let problem = this.all.find(one => one.kind === kind)
    if (problem === undefined) {
      problem = { kind, count: 0, reported: [] }
      this.all.push(problem)
    }
    problem.count++
    if (problem.reported.length < MOST_REPORTED) problem.reported.push(text)
  }
}

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
