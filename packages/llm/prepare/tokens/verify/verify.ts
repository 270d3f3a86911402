/** Reads token files from beginning to end, and tells all that does not agree. */
import { SourceError } from '../../../../core/basics/errors.js'
import type { OpenContext } from '../../../../core/source/source.js'
import { Stores } from '../../../../core/store/stores.js'
import { attachDocuments, type Documents, openDocuments } from '../../../tokens/formats/documents.js'
import { prefixOf } from '../../../tokens/formats/megatron.js'
import type { TokenFile } from '../../../tokens/formats/token-file.js'
import { checkIndex, checkTokens, type Problem, Problems, type TokenChecks } from './check.js'
import { counted, repairIndex } from './repair.js'

export interface Verdict {
  path: string
  format: string
  dtype: string
  tokens: number
  /** The greatest token there is: the vocabulary has one more at least. */
  greatest: number
  /** Undefined where the file does not list documents, and no token was named that marks them. */
  documents?: number
  empty?: number
  problems: Problem[]
  /** The index leaves out this token, at the end of each document: it can be repaired. */
  uncounted?: number
  /** The name of the index of before, where it was repaired. */
  repaired?: string
}

export interface VerifyOptions extends TokenChecks {
  /** Mends an index that leaves out the last token of documents. */
  repair?: boolean
  /** For files beside the tokens that list documents. */
  context?: OpenContext
  /** Opens a file again, after its index was mended. */
  reopen?: (file: TokenFile) => Promise<TokenFile>
}

export async function verifyTokens(file: TokenFile, options: VerifyOptions): Promise<Verdict> {
  using stores = new Stores({ access: 'sequential' })
  const problems = new Problems()
  const { path, format, dtype, tokens, index } = file
  const reported = { path, format, dtype, tokens, problems: problems.all }
  if (file.borders !== undefined) {
    const documents = await bordersOf(file, options.context, problems)
    const { greatest } = await checkTokens(file, documents, options, stores, problems)
    return {
      ...reported,
      greatest,
      ...(documents !== undefined && { documents: documents.count, empty: emptyOf(documents) }),
    }
  }
  if (index === undefined) {
    const { greatest, marks } = await checkTokens(file, undefined, options, stores, problems)
    return { ...reported, greatest, ...(options.eod !== undefined && { documents: marks }) }
  }
  const { empty, sound, uncounted } = await checkIndex(file, stores, problems)
  const listed = (): Documents => attachDocuments([{ by: 'index', count: index.sequences, file }])[0]
  const documents = sound ? listed() : uncounted ? counted(listed()) : undefined
  // Borders that are wrong don't tell where documents end.
  const checks = documents === undefined ? { ...options, eod: undefined } : options
  const { greatest, ending } = await checkTokens(file, documents, checks, stores, problems)
  const verdict: Verdict = { ...reported, greatest, documents: index.sequences, empty }
  if (!uncounted || ending === undefined || (options.eod !== undefined && options.eod !== ending))
    return verdict
  if (!options.repair || options.reopen === undefined) {
    problems.add(
      'uncounted',
      `${index.path} leaves out the token at the end of each document, ${ending}, as blendcorpus writes it: ` +
        `millrace tokens verify ${prefixOf(index.path)} --repair counts it`,
    )
    return { ...verdict, uncounted: ending }
  }
  const repaired = await repairIndex(file, stores)
  const { repair: _, ...again } = options
  return { ...(await verifyTokens(await options.reopen(file), again)), uncounted: ending, repaired }
}

/** The documents that a .csv.gz lists, if they are right. */
async function bordersOf(
  file: TokenFile,
  context: OpenContext | undefined,
  problems: Problems,
): Promise<Documents | undefined> {
  try {
    // Not believed: what is kept may be as wrong as what it was made of.
    return attachDocuments(
      await openDocuments([file], {}, { root: '.', wanted: [], ...context, check: 'nothing' }),
    )[0]
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    problems.add('borders', error.message)
    return undefined
  }
}

function emptyOf(documents: Documents): number {
  let empty = 0
  for (let i = 0; i < documents.count; i++) if (documents.start(i) === documents.end(i)) empty++
  return empty
}
