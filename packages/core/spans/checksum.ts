/** CRC-32 as zlib has it, of whole words. For the 60 bytes of a record that takes a fifth of the time of a call into zlib. */

/** Of each byte, followed by 0, 1, 2 or 3 bytes of zeros. */
const TABLES = tables()

/** `words` are little-endian, as those of every machine that Millrace runs on. */
export function crcOfWords(words: Uint32Array, from: number, to: number): number {
  const [last, third, second, first] = TABLES
  let crc = -1
  for (let i = from; i < to; i++) {
    crc ^= words[i]
    crc = first[crc & 255] ^ second[(crc >>> 8) & 255] ^ third[(crc >>> 16) & 255] ^ last[crc >>> 24]
  }
  return ~crc >>> 0
}

function tables(): Int32Array[] {
  const found = Array.from({ length: 4 }, () => new Int32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
    found[0][byte] = crc
  }
  for (let zeros = 1; zeros < 4; zeros++)
    for (let byte = 0; byte < 256; byte++) {
      const before = found[zeros - 1][byte]
      found[zeros][byte] = (before >>> 8) ^ found[0][before & 255]
    }
  return found
}
