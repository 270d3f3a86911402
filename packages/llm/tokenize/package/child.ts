/**
 * The process in which the package `tokenizers` runs (tokenizer.ts beside this asks it). Questions and answers are frames:
 *
 *   u32 bytes behind these five │ u8 kind │ setup: JSON; model: the text of tokenizer.json; encode: text; decode: u32 for each token
 *   u32 bytes behind these five │ u8 kind │ tokens: u32 each, their first characters, and those behind them; text; error: text
 */
import { createRequire } from 'node:module'
import { endWith } from '../../../core/system/process/with-starter.js'
import type { AddedToken } from '../vocabulary/model.js'
import { FRAME, KINDS } from './frames.js'

export interface Setup {
  /** Where the package is. */
  path: string
  added: readonly AddedToken[]
  special: 'text' | 'parse'
}

type Encode = (kind: number, body: Buffer) => Promise<[number, Uint8Array]>

endWith(process.ppid)
let setup: Setup
let encode: Encode

async function answer(kind: number, body: Buffer): Promise<[number, Uint8Array] | undefined> {
  if (kind === KINDS.setup) {
    setup = JSON.parse(body.toString())
    return undefined
  }
  if (kind !== KINDS.model) return encode(kind, body)
  encode = encoder(body.toString())
  return [KINDS.text, new Uint8Array(0)]
}

function encoder(text: string): Encode {
  const { path, added, special } = setup
  const { Tokenizer } = createRequire(import.meta.url)(path) as typeof import('tokenizers')
  const whole = Tokenizer.fromString(text)
  const json = JSON.parse(text)
  // Names of special tokens are found in texts no more; the numbers of tokens behind them would move, and are put right again.
  const found = special === 'parse' ? added : added.filter(token => !token.special)
  const kept = new Set(found.map(({ text }) => text))
  json.added_tokens = (json.added_tokens ?? []).filter(({ content }: { content: string }) =>
    kept.has(content),
  )
  // These would cut and fill what is encoded.
  json.truncation = json.padding = null
  const tokenizer = Tokenizer.fromString(JSON.stringify(json))
  const moved = new Map<number, number>()
  for (const { text, id } of found) {
    const given = tokenizer.tokenToId(text)
    if (given !== null && given !== id) moved.set(given, id)
  }
  return async (kind, body) => {
    if (kind === KINDS.decode) {
      const tokens = Array.from({ length: body.length / 4 }, (_, i) => body.readUInt32LE(4 * i))
      return [KINDS.text, Buffer.from(await whole.decode(tokens, false))]
    }
    const encoding = await tokenizer.encode(body.toString(), null, { addSpecialTokens: false })
    const ids = encoding.getIds()
    const out = new Uint32Array(3 * ids.length)
    for (const [i, id] of ids.entries()) out[i] = moved.get(id) ?? id
    for (const [i, [start, end]] of encoding.getOffsets().entries()) {
      out[ids.length + i] = start
      out[2 * ids.length + i] = end
    }
    return [KINDS.tokens, new Uint8Array(out.buffer)]
  }
}

let [chunks, length] = [[] as Buffer[], 0]
let turn: Promise<void> = Promise.resolve()

process.stdin.on('data', (chunk: Buffer) => {
  chunks.push(chunk)
  length += chunk.length
  for (;;) {
    if (length < FRAME) return
    if (chunks[0].length < FRAME) chunks = [Buffer.concat(chunks)]
    const end = FRAME + chunks[0].readUInt32LE(0)
    if (length < end) return
    const all = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const [kind, body] = [all[4], all.subarray(FRAME, end)]
    chunks = [all.subarray(end)]
    length -= end
    turn = turn.then(() => reply(kind, body))
  }
})
process.stdin.on('end', () => process.exit())

async function reply(kind: number, body: Buffer): Promise<void> {
  const found = await answer(kind, body).catch(
    (error: Error) => [KINDS.error, Buffer.from(error.message)] as const,
  )
  if (found === undefined) return
  const front = Buffer.alloc(FRAME)
  front.writeUInt32LE(found[1].length)
  front[4] = found[0]
  process.stdout.write(Buffer.concat([front, found[1]]))
}
