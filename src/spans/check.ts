/** CRC-32 as zlib has it, which Python computes by a call: Node 20 has none. */
const TABLE = new Uint32Array(256).map((_, byte) => {
  let word = byte
  for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1
  return word
})

export function crc32(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0xffffffff
  for (let i = from; i < to; i++) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[i]) & 255]
  return ~crc >>> 0
}
