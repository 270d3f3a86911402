/** Text: UTF-8, strictly. */
import { isUtf8 } from 'node:buffer'
import { isTiled } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { FieldValue } from '../../../core/engine/make/program.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }) // a BOM stays, as in Python

/** The text of a value: bytes must be valid UTF-8; numbers and strings from an index are text already. */
export function decodeText(value: FieldValue): string {
  if (typeof value !== 'object') return String(value)
  if (isTiled(value)) throw new DecodeError(`is ${shown(value)}, not text`)
  try {
    return decoder.decode(value)
  } catch (cause) {
    const at = firstBad(value)
    const byte = value[at]?.toString(16).padStart(2, '0')
    throw new DecodeError(
      `is not UTF-8: byte 0x${byte} at ${at} of ${value.length}: convert the text, or read it as "bytes"`,
      { cause },
    )
  }
}

/** Refuses what `decodeText` refuses, without making a string of what is text. */
export function checkText(value: FieldValue): void {
  if (!(value instanceof Uint8Array) || !isUtf8(value)) decodeText(value)
}

/** A value for an error message: quoted, shortened, printable. */
export function shown(value: FieldValue): string {
  if (isTiled(value)) return `an array of ${value.dtype} [${value.shape.join(', ')}]`
  const text =
    typeof value === 'object'
      ? Buffer.from(value.subarray(0, 164)).toString(isUtf8(value) ? 'utf8' : 'latin1')
      : String(value)
  return text.length > 40 ? `${JSON.stringify(text.slice(0, 40))}…` : JSON.stringify(text)
}

/** Offset of the first byte that does not belong to a character. */
function firstBad(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const lead = bytes[at]
    const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
    if (length === 0 || at + length > bytes.length) return at
    for (let i = 1; i < length; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return at
    const second = bytes[at + 1]
    const overlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90)
    const outside = (lead === 0xed && second >= 0xa0) || (lead === 0xf4 && second >= 0x90) // surrogates; past 10ffff
    if (overlong || outside) return at
    at += length
  }
  return at
}
