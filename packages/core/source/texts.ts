/** Texts in the forms in which files hold them. What is no text is refused: nothing is put in the place of bytes. */
import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../basics/errors.js'

export function utf8Text(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  throw new DecodeError('its text is not UTF-8: write it again, or store it as bytes')
}

/** NumPy's `S`: bytes of fixed length, filled up with zeros. */
export function withoutZeros(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

/** NumPy's `U`: code points of four bytes each, filled up with zeros. Undefined where one is none. */
export function textOfPoints(bytes: Uint8Array, bigEndian: boolean): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let text = ''
  let end = 0
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, !bigEndian)
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return undefined
    text += String.fromCodePoint(point)
    if (point !== 0) end = text.length
  }
  return text.slice(0, end)
}
