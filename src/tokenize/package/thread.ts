/** The thread in which the package `tokenizers` runs (tokenizer.ts beside this asks it). */
import { createRequire } from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import type { AddedToken } from '../vocabulary/model.js'

export interface Setup {
  /** The text of tokenizer.json. */
  text: Uint8Array
  /** Where the package is. */
  path: string
  added: readonly AddedToken[]
  special: 'text' | 'parse'
  port: MessagePort
  /** Counts the answers. */
  answered: Int32Array
}

export type Question = { encode: string } | { decode: number[] }

export interface Answer {
  tokens: Uint32Array
  /** The first character of each token, counted in code points. */
  starts: Uint32Array
  text: string
  error?: string
}

const { text, path, added, special, port, answered } = workerData as Setup
const NOTHING: Answer = { tokens: new Uint32Array(0), starts: new Uint32Array(0), text: '' }

function answer(given: Partial<Answer>): void {
  port.postMessage({ ...NOTHING, ...given })
  Atomics.add(answered, 0, 1)
  Atomics.notify(answered, 0)
}

async function encoder(): Promise<(question: Question) => Promise<Partial<Answer>>> {
  const { Tokenizer } = createRequire(import.meta.url)(path) as typeof import('tokenizers')
  const json = JSON.parse(Buffer.from(text).toString())
  // Names of special tokens are found in texts no more; the numbers of tokens behind them would move, and are put right again.
  const found = special === 'parse' ? added : added.filter(token => !token.special)
  const kept = new Set(found.map(({ text }) => text))
  json.added_tokens = (json.added_tokens ?? []).filter(({ content }: { content: string }) =>
    kept.has(content),
  )
  // These would cut and fill what is encoded.
  json.truncation = json.padding = null
  const tokenizer = Tokenizer.fromString(JSON.stringify(json))
  const whole = special === 'parse' ? tokenizer : Tokenizer.fromString(Buffer.from(text).toString())
  const moved = new Map<number, number>()
  for (const { text, id } of found) {
    const given = tokenizer.tokenToId(text)
    if (given !== null && given !== id) moved.set(given, id)
  }
  return async question => {
    if ('decode' in question) return { text: await whole.decode(question.decode, false) }
    const encoding = await tokenizer.encode(question.encode, null, { addSpecialTokens: false })
    const tokens = Uint32Array.from(encoding.getIds())
    if (moved.size > 0) for (const [i, id] of tokens.entries()) tokens[i] = moved.get(id) ?? id
    return { tokens, starts: Uint32Array.from(encoding.getOffsets(), ([start]) => start) }
  }
}

try {
  const encode = await encoder()
  port.on('message', async (question: Question) => {
    try {
      answer(await encode(question))
    } catch (error) {
      answer({ error: (error as Error).message })
    }
  })
  answer({})
} catch (error) {
  answer({ error: `the package tokenizers can't be used: ${(error as Error).message}` })
}
