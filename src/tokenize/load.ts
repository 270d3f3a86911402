/** Loads a tokenizer's file: finds out what it is, and compiles it, or takes the compiled tables that are kept. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { SourceError } from '../basics/errors.js'
import type { PatternName } from './scan/patterns.js'
import { compiledPath, keepCompiled, readCompiled } from './vocabulary/cache.js'
import { type CompiledVocabulary, compileVocabulary } from './vocabulary/compile.js'
import type { Model } from './vocabulary/model.js'
import { readTiktoken } from './vocabulary/tiktoken.js'
import { readTokenizerJson } from './vocabulary/tokenizer-json.js'

/** Loads the vocabulary of `tokenizer.json`, or of ranks of tiktoken. `pattern`: of ranks that are not known. */
export function loadVocabulary(path: string, root: string, pattern?: PatternName): CompiledVocabulary {
  const file = resolve(root, path)
  let text: Buffer
  try {
    text = readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new SourceError(
      `can't read the tokenizer ${file}: ${code}: name its tokenizer.json or its .tiktoken file`,
      {
        file,
        cause,
      },
    )
  }
  const kept = compiledPath(text, pattern ?? '')
  const known = readCompiled(kept)
  if (known !== undefined) return known
  const compiled = compileVocabulary(modelIn(text, file, pattern))
  keepCompiled(kept, compiled)
  return compiled
}

function modelIn(text: Buffer, file: string, pattern: PatternName | undefined): Model {
  if (text.toString('latin1', 0, 64).trimStart()[0] !== '{')
    return readTiktoken(text.toString('latin1'), file, pattern)
  const read = readTokenizerJson(text.toString(), file)
  if ('why' in read) throw new SourceError(`${file} can't be used: ${read.why}`, { file })
  return read
}
