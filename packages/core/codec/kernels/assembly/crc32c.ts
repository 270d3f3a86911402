/**
 * CRC-32C. Short data goes through tables, sixteen bytes at a time: sixteen tables of 256 words at `tables`, of which table t has a
 * byte followed by t zeros.
 *
 * Long data is folded first. A checksum is the remainder of a division by the polynomial P, with the data as the bits of one
 * large number, without carries. It stays the same where a multiple of P is added (xor) anywhere. P has this multiple with few bits,
 * y being sixteen bytes (x^128):
 *
 *   y^209 + y^144 + y^54 + y^39 + y^14 + 1
 *
 * So sixteen bytes can be taken away, if they are added 65, 155, 170, 195 and 209 times sixteen bytes further on. What is left are the
 * last 209 · 16 bytes, and those go through the tables. (Found by trying all multiples of six terms; there are none of four below
 * y^5275, and none with an odd number, since P has an even one. packages/core/test/codec/checksum.test.ts divides it.)
 */

/** Castagnoli's polynomial, bits reversed. */
@inline
const POLYNOMIAL: u32 = 0x82f63b78

/** Fills the tables, 16 KiB. */
export function prepare(tables: usize): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1
    store<u32>(tables + (byte << 2), crc)
  }
  for (let at: usize = 1024; at < 16384; at += 4) {
    const before = load<u32>(tables + at - 1024)
    store<u32>(tables + at, (before >> 8) ^ load<u32>(tables + ((before & 255) << 2)))
  }
}

@inline
function word(tables: usize, value: u32, table: usize): u32 {
  const at = tables + (table << 10)
  return (
    load<u32>(at + 3072 + ((value & 255) << 2)) ^
    load<u32>(at + 2048 + (((value >> 8) & 255) << 2)) ^
    load<u32>(at + 1024 + (((value >> 16) & 255) << 2)) ^
    load<u32>(at + ((value >> 24) << 2))
  )
}

/** The inner register goes in and out: its complement is the checksum. */
export function crc32c(tables: usize, from: usize, length: usize, register: u32): u32 {
  const end = from + length
  let crc = register
  for (; end - from >= 16; from += 16) {
    crc =
      word(tables, load<u32>(from) ^ crc, 12) ^
      word(tables, load<u32>(from + 4), 8) ^
      word(tables, load<u32>(from + 8), 4) ^
      word(tables, load<u32>(from + 12), 0)
  }
  for (; from < end; from++) crc = load<u32>(tables + (((crc ^ <u32>load<u8>(from)) & 255) << 2)) ^ (crc >> 8)
  return crc
}

/** How much further sixteen bytes are added, in bytes; the last is the number of bytes that are left. */
@inline
const A: usize = 65 * 16
@inline
const B: usize = 155 * 16
@inline
const C: usize = 170 * 16
@inline
const D: usize = 195 * 16
@inline
const E: usize = 209 * 16

@inline
function foldOne(at: usize): void {
  const near = v128.xor(v128.load(at), v128.load(at - A))
  const middle = v128.xor(v128.load(at - B), v128.load(at - C))
  const far = v128.xor(v128.load(at - D), v128.load(at - E))
  v128.store(at, v128.xor(v128.xor(near, middle), far))
}

/** Before the first bytes: nothing was folded, and the register is added to them. */
export function begin(from: usize, register: u32): void {
  memory.fill(from - E, 0, E)
  store<u32>(from, load<u32>(from) ^ register)
}

/** Folds `length` bytes, a multiple of sixteen, and leaves the last of them right before `from`, for the bytes that come next. */
export function fold(from: usize, length: usize): void {
  foldAll(from, length)
  memory.copy(from - E, from + length - E, E)
}

/** The last 209 · 16 bytes that were folded, or zeros, lie right before `from`. */
@inline
function foldAll(from: usize, length: usize): void {
  const end = from + length
  for (; end - from >= 64; from += 64) {
    foldOne(from)
    foldOne(from + 16)
    foldOne(from + 32)
    foldOne(from + 48)
  }
  for (; from < end; from += 16) foldOne(from)
}

/** Adds what was folded, up to `end`, to what is `by` further on and no longer folded. */
@inline
function spill(end: usize, by: usize): void {
  for (let at = end; at < end + by; at += 16) v128.store(at, v128.xor(v128.load(at), v128.load(at - by)))
}

/** As `fold`, of the last bytes, at least 209 · 16 of any number. Gives the register of all of them. */
export function foldLast(tables: usize, from: usize, length: usize): u32 {
  const folded = (length & ~15) - E
  foldAll(from, folded)
  const left = from + folded
  spill(left, A)
  spill(left, B)
  spill(left, C)
  spill(left, D)
  spill(left, E)
  return crc32c(tables, left, length - folded, 0)
}
