/** The tables of a tokenizer's file: finds out what the file is, and compiles it, or takes the tables that are kept. */

import { dirname } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { conversion, type TokenizerFile } from './find.js'
import type { PatternName } from './scan/patterns.js'
import { compiledPath, keepCompiled, readCompiled } from './vocabulary/cache.js'
import { type CompiledVocabulary, compileVocabulary } from './vocabulary/compile.js'
import type { Model } from './vocabulary/model.js'
import { readTiktoken } from './vocabulary/tiktoken.js'
import { readTokenizerJson } from './vocabulary/tokenizer-json.js'

/** The vocabulary of a `tokenizer.json`, or of ranks of tiktoken; or why the kernel can't do it. `pattern`: of ranks that are not known. */
export function loadVocabulary(
  file: TokenizerFile,
  pattern?: PatternName,
): CompiledVocabulary | { why: string } {
  const kept = compiledPath(file.bytes, pattern ?? '')
  const known = readCompiled(kept)
  if (known !== undefined) return known
  const model = modelIn(file, pattern)
  if ('why' in model) return model
  const compiled = compileVocabulary(model)
  keepCompiled(kept, compiled)
  return compiled
}

function modelIn({ bytes, path }: TokenizerFile, pattern: PatternName | undefined): Model | { why: string } {
  const front = bytes.toString('latin1', 0, 256).trimStart()
  if (front[0] === '{') return readTokenizerJson(bytes.toString(), path)
  // Ranks begin with base64. SentencePiece's models are protocol buffers, whose first byte says so.
  if (/^[A-Za-z0-9+/]+=* \d+\s/.test(front)) return readTiktoken(bytes.toString('latin1'), path, pattern)
  throw new SourceError(
    bytes[0] === 0x0a && path.endsWith('.model')
      ? `${path} is a SentencePiece model, and a tokenizer.json is needed: ${conversion(dirname(path))}`
      : `${path} is neither a tokenizer.json nor a .tiktoken file`,
    { file: path },
  )
}
