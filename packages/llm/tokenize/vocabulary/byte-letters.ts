/** The letters by which byte-level vocabularies write bytes: themselves where they can be seen, otherwise letters from U+0100 on. */
export const BYTE_LETTERS: readonly string[] = letters()
const BYTES: ReadonlyMap<string, number> = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte]))

function letters(): string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    return String.fromCharCode(seen ? byte : next++)
  })
}

/** The bytes that letters stand for; undefined where one of them stands for none. */
export function bytesOfLetters(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const byte = BYTES.get(text[i])
    if (byte === undefined) return undefined
    bytes[i] = byte
  }
  return bytes
}
