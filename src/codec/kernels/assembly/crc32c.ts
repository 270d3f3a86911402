/** CRC-32C, sixteen bytes at a time: sixteen tables of 256 words at `tables`, of which table t has a byte followed by t zeros. */

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
