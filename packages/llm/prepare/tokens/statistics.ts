/** Counts and lengths of the documents of token files. */
import type { OpenContext } from '../../../core/source/source.js'
import { documentLengths, openDocuments } from '../../tokens/formats/documents.js'
import type { TokenDtype, TokenFile, TokenFormat } from '../../tokens/formats/token-file.js'

/** Lengths are in tokens. */
export interface TokenStatistics {
  format: TokenFormat
  dtype: TokenDtype
  name: string
  path: string
  tokens: number
  /** Of the tokens, and of the index beside them. */
  bytes: number
  indexBytes: number
  /** Undefined where the file does not say, and no token that marks them was named. */
  documents?: number
  empty?: number
  shortest?: number
  longest?: number
  mean?: number
  /** What Megatron calls documents, where these have several sequences. */
  groups?: number
}

/** A file that lists its documents: in an .idx, or in a .csv.gz. */
export function listsDocuments({ index, borders }: TokenFile): boolean {
  return index !== undefined || borders !== undefined
}

export async function statisticsOf(
  file: TokenFile,
  eod: number | undefined,
  context: OpenContext,
): Promise<TokenStatistics> {
  const { format, dtype, name, path, tokens, size: bytes, index, borders } = file
  const indexBytes = index?.size ?? borders?.size ?? 0
  const plain = { format, dtype, name, path, tokens, bytes, indexBytes }
  if (!listsDocuments(file) && eod === undefined) return plain
  const opened = await openDocuments([file], { eod }, context)
  const lengths = await documentLengths(opened, (done, total) =>
    context.progress?.(done, total, 'counting', 'documents'),
  )
  let [shortest, longest, sum, empty] = [Infinity, 0, 0, 0]
  for (const length of lengths) {
    if (length < shortest) shortest = length
    if (length > longest) longest = length
    if (length === 0) empty++
    sum += length
  }
  const documents = lengths.length
  const groups = index !== undefined && index.documents !== documents ? { groups: index.documents } : {}
  if (documents === 0) return { ...plain, documents, empty, ...groups }
  return { ...plain, documents, empty, shortest, longest, mean: sum / documents, ...groups }
}

export function total(
  files: readonly TokenStatistics[],
): Omit<TokenStatistics, 'format' | 'dtype' | 'name' | 'path'> {
  const sum = (of: (one: TokenStatistics) => number): number => files.reduce((all, one) => all + of(one), 0)
  const plain = {
    tokens: sum(one => one.tokens),
    bytes: sum(one => one.bytes),
    indexBytes: sum(one => one.indexBytes),
  }
  if (files.some(one => one.documents === undefined)) return plain
  const documents = sum(one => one.documents as number)
  const counted = { ...plain, documents, empty: sum(one => one.empty as number) }
  if (documents === 0) return counted
  return {
    ...counted,
    shortest: Math.min(...files.map(one => one.shortest ?? Infinity)),
    longest: Math.max(...files.map(one => one.longest ?? 0)),
    mean: sum(one => (one.mean ?? 0) * (one.documents as number)) / documents,
  }
}
