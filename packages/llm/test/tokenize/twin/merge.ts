/** Byte pair encoding in plain TypeScript, as it is defined: what tests hold the kernel against. */
import type { Model } from '../../../tokenize/vocabulary/model.js'
import { wordsOf } from './words.js'

/** Encodes a text by the model alone: without added tokens, NFC and what is put before it. */
export function twinOf(model: Model): (text: string) => number[] {
  const ranks = new Map<number, number>()
  for (let i = 0; i < model.pairs.length; i += 3) {
    const key = model.pairs[i] * 2 ** 20 + model.pairs[i + 1]
    if (!ranks.has(key)) ranks.set(key, model.pairs[i + 2])
  }
  const whole = new Map<string, number>()
  if (model.whole)
    model.tokens.forEach((bytes, id) => {
      whole.set(Buffer.from(bytes).toString('latin1'), id)
    })
  const { bytes: ofBytes, characters } = model
  const symbols = (word: string): number[] => {
    if (characters === undefined) return Array.from(Buffer.from(word), byte => ofBytes[byte])
    return [...word].flatMap(
      character =>
        characters.get(character.codePointAt(0)!) ??
        Array.from(Buffer.from(character), byte => ofBytes[byte]),
    )
  }
  const encodeWord = (word: string): number[] => {
    const bytes = Buffer.from(word)
    const id = whole.get(bytes.toString('latin1'))
    return id === undefined ? merged(symbols(word), ranks, model.made) : [id]
  }
  return text => wordsOf(text, model.pattern).flatMap(encodeWord)
}

function merged(tokens: number[], ranks: ReadonlyMap<number, number>, made: Uint32Array): number[] {
  for (;;) {
    let lowest = Infinity
    let at = -1
    for (let i = 0; i + 1 < tokens.length; i++) {
      const rank = ranks.get(tokens[i] * 2 ** 20 + tokens[i + 1]) ?? Infinity
      if (rank < lowest) [lowest, at] = [rank, i]
    }
    if (at < 0) return tokens
    tokens.splice(at, 2, made[lowest])
  }
}
