/** How many places of rows a document takes, and which of its tokens stand in a piece of it. */
import type { TokensJson } from '../../../core/define/token-types.js'
import type { Long } from './best-fit.js'

/** The rules by which documents become rows. */
export interface PackRules {
  length: number
  /** Tokens of a piece beyond its places: 1 with the shift here, the last target. */
  extra: 0 | 1
  long: Long
  /** Tokens that are put before and behind each document. */
  bos?: number
  eod?: number
}

export function packRules(json: TokensJson, shift: 'here' | 'model'): PackRules {
  const { length, long = 'split', insert = {} } = json
  const { bos, eod } = insert
  return {
    length,
    extra: shift === 'here' ? 1 : 0,
    long,
    ...(bos !== undefined && { bos }),
    ...(eod !== undefined && { eod }),
  }
}

/** Tokens of a document with what is put in. A document of no tokens stays one. */
export function tokensWith({ bos, eod }: PackRules, tokens: number): number {
  return tokens === 0 ? 0 : tokens + (bos === undefined ? 0 : 1) + (eod === undefined ? 0 : 1)
}

/** The places that a document takes. With the shift here, its first token is no target, and its last no input. */
export function placesOf(rules: PackRules, tokens: number): number {
  return Math.max(0, tokensWith(rules, tokens) - rules.extra)
}
