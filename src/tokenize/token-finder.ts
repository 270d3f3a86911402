/** Finds added tokens in a text: the leftmost, of several at one place the longest. */
import type { AddedToken } from './vocabulary/model.js'

interface Node {
  next: Map<number, Node>
  id?: number
}

export interface FoundToken {
  from: number
  to: number
  id: number
}

export class TokenFinder {
  private readonly root: Node = { next: new Map() }
  /** Whether a token begins with a byte. */
  private readonly begins = new Uint8Array(256)

  constructor(tokens: readonly AddedToken[]) {
    for (const { text, id } of tokens) {
      let node = this.root
      for (const byte of Buffer.from(text)) {
        const next = node.next.get(byte) ?? { next: new Map() }
        node.next.set(byte, next)
        node = next
      }
      if (node === this.root) continue
      node.id = id
      this.begins[Buffer.from(text)[0]] = 1
    }
  }

  /** The first token from `at` on. */
  next(text: Uint8Array, at: number): FoundToken | undefined {
    for (let from = at; from < text.length; from++) {
      if (this.begins[text[from]] === 0) continue
      const found = this.longest(text, from)
      if (found !== undefined) return found
    }
    return undefined
  }

  private longest(text: Uint8Array, from: number): FoundToken | undefined {
    let node = this.root
    let found: FoundToken | undefined
    for (let to = from; to < text.length; to++) {
      const next = node.next.get(text[to])
      if (next === undefined) break
      node = next
      if (node.id !== undefined) found = { from, to: to + 1, id: node.id }
    }
    return found
  }
}
