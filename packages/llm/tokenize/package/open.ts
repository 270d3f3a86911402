/** What the kernel can't do is left to the package `tokenizers` of Hugging Face, where it is installed. */
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { MissingError, SourceError } from '../../../core/basics/errors.js'
import type { TokenizerFile } from '../find.js'
import { addedTokens, parseTokenizerJson } from '../vocabulary/tokenizer-json.js'
import { type PackageFile, PackageTokenizer } from './tokenizer.js'

/** Plain data. */
export interface PackageVocabulary extends PackageFile {
  /** Greatest token + 1, without added ones. */
  count: number
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
  const text = new Uint8Array(new SharedArrayBuffer(bytes.length))
  text.set(bytes)
  const added = addedTokens(json)
  const options = { size: 0, name: path, special: 'text', invalid: 'replace' } as const
  const tried = new PackageTokenizer(options, { text, package: found, added })
  try {
    tried.start()
  } catch (cause) {
    throw new SourceError(`${path} is no tokenizer: ${(cause as Error).message}`, { file: path, cause })
  } finally {
    tried.end()
  }
  notice(
    `${path} is tokenised by the package tokenizers, which is several times slower than Millrace's own tokenizer, since that can't do it: ${why}`,
  )
  return { text, package: found, count: countOf(json.model.vocab), added }
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
