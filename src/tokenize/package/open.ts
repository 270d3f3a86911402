/** What the kernel can't do is left to the package `tokenizers` of Hugging Face, where it is installed. */
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { MissingError, SourceError } from '../../basics/errors.js'
import type { TokenizerFile } from '../find.js'
import type { AddedToken } from '../vocabulary/model.js'
import { addedTokens, parseTokenizerJson } from '../vocabulary/tokenizer-json.js'

/** Plain data: the file's text in shared memory, and where the package is. */
export interface PackageVocabulary {
  text: Uint8Array
  package: string
  /** Greatest token + 1, without added ones. */
  count: number
  added: readonly AddedToken[]
}

export function openPackage(
  { path, bytes }: TokenizerFile,
  why: string,
  root: string,
  notice: (text: string) => void,
): PackageVocabulary {
  const found = findPackage([import.meta.url, resolve(root, 'x.js'), join(process.cwd(), 'x.js')])
  if (found === undefined)
    throw new MissingError(
      `${path} needs the package tokenizers of Hugging Face, since Millrace's own tokenizer can't do it (${why}): npm install tokenizers`,
    )
  const json = parseTokenizerJson(bytes.toString(), path)
  try {
    const { Tokenizer } = createRequire(import.meta.url)(found) as typeof import('tokenizers')
    Tokenizer.fromString(bytes.toString())
  } catch (cause) {
    throw new SourceError(`${path} is no tokenizer: ${(cause as Error).message}`, { file: path, cause })
  }
  notice(
    `${path} is tokenised by the package tokenizers, which is about 15 times slower than Millrace's own tokenizer, since that can't do it: ${why}`,
  )
  const text = new Uint8Array(new SharedArrayBuffer(bytes.length))
  text.set(bytes)
  return { text, package: found, count: countOf(json.model.vocab), added: addedTokens(json) }
}

/** The package as one of these files would find it. */
export function findPackage(from: readonly string[]): string | undefined {
  for (const file of from) {
    try {
      return createRequire(file).resolve('tokenizers')
    } catch {}
  }
  return undefined
}

/** Unigram has a list of pieces, the others have numbers by piece. */
function countOf(vocab: unknown): number {
  if (Array.isArray(vocab)) return vocab.length
  let count = 0
  for (const id of Object.values((vocab ?? {}) as Record<string, number>)) count = Math.max(count, id + 1)
  return count
}
