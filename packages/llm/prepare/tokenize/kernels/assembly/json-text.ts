/**
 * The text under a key of a line of JSON, without a value for anything else. The whole line is checked by JSON's grammar. Whatever is
 * unusual (a key with an escape, values nested very deep, a line that is no object or not right, a text that is missing)
 * is left to JSON.parse: see ../../json/text.ts.
 *
 *   path    u32 number of keys; for each u32 length, then the bytes, padded to 4: the keys from the outermost on
 *   stack   a byte for each open list or object: 1 for an object
 *
 * Loads reach up to 15 bytes behind the line, stores up to 15 behind the text.
 */

const QUOTE: u8 = 0x22
const BACKSLASH: u8 = 0x5c
const OPEN_OBJECT: u8 = 0x7b
const CLOSE_OBJECT: u8 = 0x7d
const OPEN_LIST: u8 = 0x5b
const CLOSE_LIST: u8 = 0x5d
const COMMA: u8 = 0x2c
const COLON: u8 = 0x3a
const DEEPEST: i32 = 1024

/** The line must be looked at by JSON.parse; it is right, and there is no such key. */
const UNSURE: i32 = -1
const MISSING: i32 = -2

let end: usize = 0
let wrong: bool = false

/** How many bytes the text has, which is written from `to` on; or one of the above. */
export function textOf(from: usize, until: usize, path: usize, stack: usize, to: usize): i32 {
  end = until
  wrong = false
  const keys = load<u32>(path) as i32
  let found: i32 = MISSING
  let at = space(from)
  if (at >= end || load<u8>(at) != OPEN_OBJECT) return UNSURE
  /** Open lists and objects, and how many of them lie on the path. */
  let depth: i32 = 1
  let onPath: i32 = 1
  let wanted = path + 4
  store<u8>(stack, 1)
  at = space(at + 1)
  // Whether a key (in an object) or a value (in a list) must stand here, or the end may as well.
  let mayEnd = true
  while (depth > 0) {
    if (at >= end) return UNSURE
    const inObject = load<u8>(stack + depth - 1) == 1
    let byte = load<u8>(at)
    if (mayEnd && byte == (inObject ? CLOSE_OBJECT : CLOSE_LIST)) {
      depth--
      if (onPath > depth && depth > 0) {
        onPath = depth
        wanted = keyAt(path, depth - 1)
      }
      at = space(at + 1)
    } else {
      let here = false
      if (inObject) {
        if (byte != QUOTE) return UNSURE
        const key = at + 1
        at = stringEnd(key)
        if (wrong) return UNSURE
        if (onPath == depth) {
          const length = at - key
          // A key with an escape may be the one.
          if (escaped) return UNSURE
          here = length == load<u32>(wanted) && same(key, wanted + 4, length)
        }
        at = space(at + 1)
        if (at >= end || load<u8>(at) != COLON) return UNSURE
        at = space(at + 1)
        if (at >= end) return UNSURE
        byte = load<u8>(at)
      }
      // The last one of several counts.
      if (here) found = UNSURE
      if (byte == QUOTE) {
        if (here && depth == keys) {
          at = copyString(at + 1, to)
          if (wrong) return UNSURE
          found = (written - to) as i32
        } else {
          at = stringEnd(at + 1)
          if (wrong) return UNSURE
        }
        at = space(at + 1)
      } else if (byte == OPEN_OBJECT || byte == OPEN_LIST) {
        if (depth == DEEPEST) return UNSURE
        store<u8>(stack + depth, byte == OPEN_OBJECT ? 1 : 0)
        depth++
        if (here && byte == OPEN_OBJECT && depth <= keys) {
          onPath = depth
          wanted = keyAt(path, depth - 1)
        }
        at = space(at + 1)
        mayEnd = true
        continue
      } else {
        at = wordEnd(at, byte)
        if (wrong) return UNSURE
        at = space(at)
      }
    }
    if (depth == 0) break
    // Behind a value.
    if (at >= end) return UNSURE
    const next = load<u8>(at)
    if (next == COMMA) {
      at = space(at + 1)
      mayEnd = false
    } else mayEnd = true
    if (mayEnd && next != CLOSE_OBJECT && next != CLOSE_LIST) return UNSURE
  }
  return at == end ? found : UNSURE
}

function keyAt(path: usize, number: i32): usize {
  let at = path + 4
  for (let i = 0; i < number; i++) at += 4 + ((load<u32>(at) + 3) & ~3)
  return at
}

function same(a: usize, b: usize, length: usize): bool {
  for (let i: usize = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false
  return true
}

@inline
function space(at: usize): usize {
  while (at < end) {
    const byte = load<u8>(at)
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) break
    at++
  }
  return at
}

/** Of 16 bytes those that end a stretch of plain text: quote, backslash, control characters. */
@inline
function special(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH))),
      i8x16.lt_u(bytes, i8x16.splat(0x20)),
    ),
  )
}

/** Whether the string that was passed over has an escape. */
let escaped: bool = false

/** The closing quote of a string whose first byte is at `at`. */
function stringEnd(at: usize): usize {
  escaped = false
  while (at < end) {
    const mask = special(v128.load(at))
    if (mask == 0) {
      at += 16
      continue
    }
    at += ctz(mask)
    if (at >= end) break
    const byte = load<u8>(at)
    if (byte == QUOTE) return at
    if (byte != BACKSLASH) break
    escaped = true
    const kind = at + 1 < end ? load<u8>(at + 1) : 0
    if (kind == 0x75) {
      if (hexOf(at + 2) < 0) break
      at += 6
    } else if (plainEscape(kind) >= 0) at += 2
    else break
  }
  wrong = true
  return at
}

/** Behind what `copyString` wrote. */
let written: usize = 0

/** The same, and writes its text. */
function copyString(at: usize, to: usize): usize {
  while (at < end) {
    const bytes = v128.load(at)
    v128.store(to, bytes)
    const mask = special(bytes)
    if (mask == 0) {
      at += 16
      to += 16
      continue
    }
    const plain = ctz(mask)
    at += plain
    to += plain
    if (at >= end) break
    const byte = load<u8>(at)
    if (byte == QUOTE) {
      written = to
      return at
    }
    if (byte != BACKSLASH) break
    const kind = at + 1 < end ? load<u8>(at + 1) : 0
    if (kind == 0x75) {
      let code = hexOf(at + 2)
      if (code < 0) break
      at += 6
      if (code >= 0xd800 && code < 0xe000) {
        // Half of a pair alone is written as U+FFFD, as TextEncoder does.
        const low =
          code < 0xdc00 && at + 6 <= end && load<u16>(at) == 0x755c /* \u */ ? hexOf(at + 2) : -1
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
          at += 6
        } else code = 0xfffd
      }
      to = put(code, to)
    } else {
      const code = plainEscape(kind)
      if (code < 0) break
      store<u8>(to++, code as u8)
      at += 2
    }
  }
  wrong = true
  return at
}

/** What a character behind a backslash means; -1: nothing. */
function plainEscape(kind: u8): i32 {
  switch (kind) {
    case 0x6e: // n
      return 10
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
      return kind
    case 0x74: // t
      return 9
    case 0x72: // r
      return 13
    case 0x62: // b
      return 8
    case 0x66: // f
      return 12
    default:
      return -1
  }
}

/** Four hexadecimal digits; -1 where they are none. */
function hexOf(at: usize): i32 {
  if (at + 4 > end) return -1
  let code = 0
  for (let i: usize = 0; i < 4; i++) {
    const byte = load<u8>(at + i) as i32
    const letter = byte | 0x20
    let digit: i32
    if (byte >= 0x30 && byte <= 0x39) digit = byte - 0x30
    else if (letter >= 0x61 && letter <= 0x66) digit = letter - 0x57
    else return -1
    code = (code << 4) | digit
  }
  return code
}

/** Writes a character as UTF-8. */
function put(code: i32, to: usize): usize {
  if (code < 0x80) {
    store<u8>(to, code as u8)
    return to + 1
  }
  if (code < 0x800) {
    store<u8>(to, (0xc0 | (code >> 6)) as u8)
    store<u8>(to + 1, (0x80 | (code & 63)) as u8)
    return to + 2
  }
  if (code < 0x10000) {
    store<u8>(to, (0xe0 | (code >> 12)) as u8)
    store<u8>(to + 1, (0x80 | ((code >> 6) & 63)) as u8)
    store<u8>(to + 2, (0x80 | (code & 63)) as u8)
    return to + 3
  }
  store<u8>(to, (0xf0 | (code >> 18)) as u8)
  store<u8>(to + 1, (0x80 | ((code >> 12) & 63)) as u8)
  store<u8>(to + 2, (0x80 | ((code >> 6) & 63)) as u8)
  store<u8>(to + 3, (0x80 | (code & 63)) as u8)
  return to + 4
}

@inline
function isDigit(at: usize): bool {
  return at < end && load<u8>(at) >= 0x30 && load<u8>(at) <= 0x39
}

/** Behind a number, true, false or null. */
function wordEnd(at: usize, byte: u8): usize {
  if (byte == 0x74 && at + 4 <= end && load<u32>(at) == 0x65757274) return at + 4
  if (byte == 0x6e && at + 4 <= end && load<u32>(at) == 0x6c6c756e) return at + 4
  if (byte == 0x66 && at + 5 <= end && load<u32>(at + 1) == 0x65736c61) return at + 5
  if (byte == 0x2d) at++
  if (!isDigit(at)) {
    wrong = true
    return at
  }
  if (load<u8>(at) == 0x30) at++
  else while (isDigit(at)) at++
  if (at < end && load<u8>(at) == 0x2e) {
    at++
    if (!isDigit(at)) wrong = true
    while (isDigit(at)) at++
  }
  if (at < end && (load<u8>(at) | 0x20) == 0x65) {
    at++
    if (at < end && (load<u8>(at) == 0x2b || load<u8>(at) == 0x2d)) at++
    if (!isDigit(at)) wrong = true
    while (isDigit(at)) at++
  }
  return at
}
