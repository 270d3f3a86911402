/** Opens the tokenizers of a feed's fields. What is wrong with one is wrong with the definition: no policy for bad samples hides it. */

import { DTYPES, type Dtype } from '../../basics/dtype.js'
import { DefinitionError, MissingError } from '../../basics/errors.js'
import { type TokenizerParams, tokenizing } from '../../define/operators/text.js'
import { loadTokenizers, type OpenedTokenizer } from '../../define/tokenizer.js'
import type { NormalFeed } from '../../define/types.js'

/** By field. Fields that name the same one share it. */
export async function openTokenizers(
  { fields, root }: NormalFeed,
  notice?: (text: string) => void,
): Promise<Record<string, OpenedTokenizer>> {
  const opened = new Map<string, OpenedTokenizer>()
  const found: Record<string, OpenedTokenizer> = {}
  for (const field of fields) {
    const params = tokenizing(field)
    if (params === undefined) continue
    const path = `fields.${field.name}.apply[0].tokenize`
    const key = JSON.stringify(params.tokenizer)
    const tokenizer = opened.get(key) ?? (await open(params.tokenizer, root, `${path}.tokenizer`, notice))
    opened.set(key, tokenizer)
    checkRange(tokenizer, field.layout.dtype, `fields.${field.name}.dtype`)
    checkAppended(tokenizer, params.append, `${path}.append`)
    found[field.name] = tokenizer
  }
  return found
}

async function open(
  params: TokenizerParams,
  root: string,
  path: string,
  notice?: (text: string) => void,
): Promise<OpenedTokenizer> {
  try {
    const tokenizers = await loadTokenizers()
    return await tokenizers.open(params, root, notice)
  } catch (error) {
    if (error instanceof MissingError) throw error
    throw new DefinitionError(path, (error as Error).message)
  }
}

function checkRange({ size, name }: OpenedTokenizer, dtype: Dtype, path: string): void {
  const bits = 8 * DTYPES[dtype].bytes - (dtype[0] === 'i' ? 1 : 0)
  if (size <= 2 ** bits) return
  throw new DefinitionError(
    path,
    `${dtype} can't hold the tokens of ${name}, which go up to ${size - 1}: take i32 or i64`,
  )
}

function checkAppended(
  { size, name, eod }: OpenedTokenizer,
  append: 'eod' | number | undefined,
  path: string,
): void {
  if (append === 'eod' && eod === undefined)
    throw new DefinitionError(path, `${name} names no token that ends a document: give the number of one`)
  if (typeof append === 'number' && append >= size)
    throw new DefinitionError(path, `there is no token ${append}: ${name} has ${size}`)
}
