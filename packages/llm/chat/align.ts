/**
 * Finds where each token of a text begins in it. Tokens do not add up to their text everywhere: a blank may be put before what stands
 * between added tokens, added tokens may take the blanks beside them along, and "▁" in a text is a blank in its token.
 */
import { spacesBehind } from '../tokenize/token-finder.js'
import type { AddedToken } from '../tokenize/vocabulary/model.js'

export interface Alphabet {
  bytes(token: number): Uint8Array
  added(token: number): AddedToken | undefined
}

const BLANK = 0x20
const MARK = Buffer.from('▁')

/** Writes the first byte of each token, and the end, behind them; false where these are not the tokens of this text. */
export function align(
  text: Uint8Array,
  tokens: Uint32Array,
  { bytes, added }: Alphabet,
  starts: Uint32Array,
): boolean {
  const count = tokens.length
  let at = 0
  for (let i = 0; i < count; ) {
    const token = added(tokens[i])
    if (token !== undefined) {
      starts[i++] = at
      at = behindAdded(text, token, at)
      if (at < 0) return false
      continue
    }
    let end = i
    while (end < count && added(tokens[end]) === undefined) end++
    const next = end < count ? added(tokens[end]) : undefined
    const ends = (at: number) =>
      next === undefined ? at === text.length : at >= 0 && behindAdded(text, next, at) >= 0
    let to = -1
    for (const put of [false, true]) {
      to = stretch(put)
      if (ends(to)) break
      to = -1
    }
    if (to < 0) return false
    ;[i, at] = [end, to]

    /** Goes through the tokens up to the next added one. `put`: the first blank is not in the text. */
    function stretch(put: boolean): number {
      let [to, blank] = [at, put]
      for (let k = i; k < end; k++) {
        starts[k] = to
        for (const byte of bytes(tokens[k])) {
          if (blank) {
            if (byte !== BLANK) return -1
            blank = false
          } else if (text[to] === byte) to++
          else if (byte === BLANK && MARK.every((one, j) => text[to + j] === one)) to += MARK.length
          else return -1
        }
      }
      return to
    }
  }
  starts[count] = at
  return at === text.length
}

/** The end of an added token with its blanks; −1 where it does not stand there. */
function behindAdded(text: Uint8Array, { text: name, lstrip, rstrip }: AddedToken, at: number): number {
  const from = lstrip ? spacesBehind(text, at) : at
  const to = from + Buffer.byteLength(name)
  if (Buffer.compare(text.subarray(from, to), Buffer.from(name)) !== 0) return -1
  return rstrip ? spacesBehind(text, to) : to
}
