/**
 * Ranks as OpenAI's tiktoken keeps them: a line a token, its bytes in base64 and its number, which is also its rank. Two tokens
 * are merged where what they spell together is a token. Which pattern goes with them the file does not say.
 */
import { SourceError } from '../../../core/basics/errors.js'
import type { PatternName } from '../scan/patterns.js'
import { type AddedToken, MOST_TOKENS, type Model } from './model.js'

/** Known sets of ranks, by the number of their lines. */
const KNOWN: Readonly<Record<number, { pattern: PatternName; special: Readonly<Record<string, number>> }>> = {
  50256: { pattern: 'gpt2', special: { '<|endoftext|>': 50256 } },
  50280: { pattern: 'gpt2', special: { '<|endoftext|>': 50256 } },
  100256: {
    pattern: 'cl100k',
    special: {
      '<|endoftext|>': 100257,
      '<|fim_prefix|>': 100258,
      '<|fim_middle|>': 100259,
      '<|fim_suffix|>': 100260,
      '<|endofprompt|>': 100276,
    },
  },
  128000: { pattern: 'cl100k', special: { '<|begin_of_text|>': 128000, '<|end_of_text|>': 128001 } },
  199998: { pattern: 'o200k', special: { '<|endoftext|>': 199999, '<|endofprompt|>': 200018 } },
}

export function readTiktoken(text: string, file: string, pattern?: PatternName): Model {
  const ranks = ranksIn(text, file)
  const known = KNOWN[ranks.size]
  const chosen = pattern ?? known?.pattern
  if (chosen === undefined)
    throw new SourceError(
      `${file} has ${ranks.size} ranks, which is none of the known vocabularies: say which pattern goes with it`,
      { file },
    )
  let size = 0
  for (const rank of ranks.values()) size = Math.max(size, rank + 1)
  const tokens: Uint8Array[] = new Array(size).fill(new Uint8Array(0))
  for (const [spelling, rank] of ranks) tokens[rank] = Buffer.from(spelling, 'latin1')
  return {
    pattern: chosen,
    tokens,
    bytes: bytesIn(ranks, file),
    pairs: pairsIn(ranks),
    made: Uint32Array.from(tokens.keys()),
    whole: true,
    added: Object.entries(known?.special ?? {}).map(
      ([text, id]): AddedToken => ({ id, text, special: true }),
    ),
    nfc: false,
  }
}

/** Ranks by spelling, a character a byte. */
function ranksIn(text: string, file: string): Map<string, number> {
  const ranks = new Map<string, number>()
  const taken = new Set<number>()
  text.split('\n').forEach((line, i) => {
    if (line === '') return
    const [spelling, number, ...rest] = line.trimEnd().split(' ')
    const rank = Number(number)
    if (rest.length > 0 || !/^\d+$/.test(number ?? '') || rank >= MOST_TOKENS)
      throw new SourceError(
        `${file}, line ${i + 1}: it should be base64, a space and a rank below ${MOST_TOKENS}`,
        { file },
      )
    const bytes = Buffer.from(spelling, 'base64').toString('latin1')
    if (taken.has(rank) || ranks.has(bytes))
      throw new SourceError(
        `${file}, line ${i + 1}: its ${taken.has(rank) ? 'rank' : 'token'} stands in another line, too`,
        { file },
      )
    taken.add(rank)
    ranks.set(bytes, rank)
  })
  return ranks
}

function bytesIn(ranks: ReadonlyMap<string, number>, file: string): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    const rank = ranks.get(String.fromCharCode(byte))
    if (rank !== undefined) return rank
    throw new SourceError(
      `${file} has no rank for the byte ${byte}: it is cut short, or no ranks of tiktoken`,
      { file },
    )
  })
}

/** Every way in which a token is two others. */
function pairsIn(ranks: ReadonlyMap<string, number>): Uint32Array {
  const pairs: number[] = []
  for (const [spelling, rank] of ranks) {
    for (let cut = 1; cut < spelling.length; cut++) {
      const left = ranks.get(spelling.slice(0, cut))
      if (left === undefined) continue
      const right = ranks.get(spelling.slice(cut))
      if (right !== undefined) pairs.push(left, right, rank)
    }
  }
  return Uint32Array.from(pairs)
}
