/** Finds added tokens in a text, as the package `tokenizers` does: the leftmost, of several at one place the longest. */

import { inflateRawSync } from 'node:zlib'
import { CLASS_TABLE } from './scan/class-table.js'
import type { AddedToken } from './vocabulary/model.js'

interface Node {
  next: Map<number, Node>
  token?: AddedToken
}

/** Told of each piece of a text: what stands between added tokens (`id` −1), and those. */
export type Visit = (from: number, to: number, id: number) => void

/** Characters of words: letters, marks and digits, as far as the table of classes has them, whose Unicode version is that of the package; and others. */
const LETTER = /^[\p{L}\p{M}\p{Nd}]$/u
const OTHER = /^[\p{Alphabetic}\p{Pc}\p{Join_Control}]$/u
const SPACE = /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/

export class TokenFinder {
  private readonly root: Node = { next: new Map() }
  private readonly begins = new Uint8Array(256)

  constructor(tokens: readonly AddedToken[]) {
    for (const token of tokens) {
      let node = this.root
      for (const byte of Buffer.from(token.text)) {
        const next = node.next.get(byte) ?? { next: new Map() }
        node.next.set(byte, next)
        node = next
      }
      if (node === this.root) continue
      node.token = token
      this.begins[Buffer.from(token.text)[0]] = 1
    }
  }

  /** Visits all pieces of a text, from left to right. */
  pieces(text: Uint8Array, visit: Visit): void {
    let done = 0
    for (let at = 0; at < text.length; at++) {
      if (this.begins[text[at]] === 0) continue
      const found = this.longest(text, at)
      if (found === undefined) continue
      const { token, to } = found
      const from = at
      // What is looked at next begins behind the token, even where that is none.
      at = to - 1
      if (token.singleWord && (isWord(before(text, from)) || isWord(behind(text, to)))) continue
      const start = token.lstrip ? Math.max(spacesBefore(text, from), done) : from
      const stop = token.rstrip ? spacesBehind(text, to) : to
      if (done < start) visit(done, start, -1)
      visit(start, stop, token.id)
      done = stop
    }
    if (done < text.length) visit(done, text.length, -1)
  }

  private longest(text: Uint8Array, from: number): { token: AddedToken; to: number } | undefined {
    let node = this.root
    let found: { token: AddedToken; to: number } | undefined
    for (let to = from; to < text.length; to++) {
      const next = node.next.get(text[to])
      if (next === undefined) break
      node = next
      if (node.token !== undefined) found = { token: node.token, to: to + 1 }
    }
    return found
  }
}

function isWord(character: string): boolean {
  return LETTER.test(character) ? classOf(character.codePointAt(0)!) !== 0 : OTHER.test(character)
}

/** The character before a place, and behind it; '' at the ends of the text. */
function before(text: Uint8Array, at: number): string {
  let from = at - 1
  while (from > 0 && (text[from] & 0xc0) === 0x80) from--
  return at === 0 ? '' : Buffer.from(text.subarray(from, at)).toString()
}

function behind(text: Uint8Array, at: number): string {
  let to = at + 1
  while (to < text.length && (text[to] & 0xc0) === 0x80) to++
  return at >= text.length ? '' : Buffer.from(text.subarray(at, to)).toString()
}

function spacesBefore(text: Uint8Array, at: number): number {
  for (let from = at; ; ) {
    const character = before(text, from)
    if (!SPACE.test(character)) return from
    from -= Buffer.byteLength(character)
  }
}

export function spacesBehind(text: Uint8Array, at: number): number {
  for (let to = at; ; ) {
    const character = behind(text, to)
    if (!SPACE.test(character)) return to
    to += Buffer.byteLength(character)
  }
}

/** Places of blocks, of 128 characters each. */
const PLACES = 8704
let table: Buffer | undefined

export function classOf(point: number): number {
  table ??= inflateRawSync(Buffer.from(CLASS_TABLE, 'base64'))
  return table[2 * PLACES + 128 * table.readUInt16LE(2 * (point >> 7)) + (point & 127)]
}
