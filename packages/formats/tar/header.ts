/**
 * One tar header: 512 bytes (POSIX ustar, GNU, old V7).
 *
 *     0 name 100 · 100 mode 8 · 108 uid 8 · 116 gid 8 · 124 size 12 · 136 mtime 12 · 148 checksum 8 · 156 type 1
 *   157 link 100 · 257 magic 6 · 263 version 2 · 265 uname 32 · 297 gname 32 · 329 device 16 · 345 prefix 155
 */

export const BLOCK = 512

/** What went wrong with a header; the scanner knows the file and the offset. */
export class TarFault extends Error {}

export interface TarHeader {
  name: string
  size: number
  /** The type's character; '0' for a regular file, whichever way it is spelt. */
  type: string
}

/** Whether a block is all zeros: the mark of the end. */
export function isZero(bytes: Uint8Array, at: number): boolean {
  for (let i = at; i < at + BLOCK; i++) if (bytes[i] !== 0) return false
  return true
}

/** Reads the header at `at` into `out`. Throws a TarFault if it is none. */
export function readTarHeader(bytes: Buffer, at: number, out: TarHeader): TarHeader {
  checkSum(bytes, at)
  const type = bytes[at + 156]
  out.name = text(bytes, at, 100)
  // GNU's own format ("ustar  ") keeps times where POSIX keeps the prefix.
  if (bytes[at + 345] !== 0 && bytes.toString('latin1', at + 257, at + 263) === 'ustar\0') {
    out.name = `${text(bytes, at + 345, 155)}/${out.name}`
  }
  out.size = number(bytes, at + 124, 12, 'size')
  // NUL is V7's regular file, '7' a "contiguous" one. V7 marks directories by a slash at the end.
  const regular = type === 0 || type === 0x30 || type === 0x37
  out.type = regular ? (type === 0 && out.name.endsWith('/') ? '5' : '0') : String.fromCharCode(type)
  return out
}

/** The sum of all bytes, those of the sum itself taken as blanks. Some old tars added signed characters. */
function checkSum(bytes: Buffer, at: number): void {
  let sum = 8 * 0x20
  let high = 0
  for (let i = at; i < at + 148; i++) {
    sum += bytes[i]
    high += bytes[i] >>> 7
  }
  for (let i = at + 156; i < at + BLOCK; i++) {
    sum += bytes[i]
    high += bytes[i] >>> 7
  }
  const stored = number(bytes, at + 148, 8, 'checksum')
  if (stored !== sum && stored !== sum - 256 * high) {
    throw new TarFault(`not a tar header (checksum ${sum} instead of ${stored})`)
  }
}

/** Octal digits between blanks and NULs; or, when the first bit is set, a big-endian binary number (GNU's base 256). */
function number(bytes: Buffer, at: number, length: number, what: string): number {
  if (bytes[at] & 0x80) return base256(bytes, at, length, what)
  let i = at
  const end = at + length
  while (i < end && (bytes[i] === 0x20 || bytes[i] === 0)) i++
  let value = 0
  for (; i < end && bytes[i] !== 0x20 && bytes[i] !== 0; i++) {
    const digit = bytes[i] - 0x30
    if (digit < 0 || digit > 7) throw new TarFault(`not a tar header (its ${what} is no octal number)`)
    value = value * 8 + digit
  }
  return value
}

function base256(bytes: Buffer, at: number, length: number, what: string): number {
  if (bytes[at] !== 0x80) throw new TarFault(`its ${what} is negative or beyond all measure`)
  let value = 0
  for (let i = at + 1; i < at + length; i++) value = value * 256 + bytes[i]
  if (value > Number.MAX_SAFE_INTEGER) throw new TarFault(`its ${what} is beyond all measure`)
  return value
}

/** Text up to the first NUL. */
function text(bytes: Buffer, at: number, length: number): string {
  const nul = bytes.indexOf(0, at)
  return bytes.toString('utf8', at, nul < 0 || nul > at + length ? at + length : nul)
}

/** What PAX headers say that concerns us. */
export interface Pax {
  path?: string
  size?: number
  /** The sample's own key, where the members' names can't have it: written by `pack`. */
  key?: string
}

/** The PAX keyword of `Pax.key`, of the form that POSIX sets aside for vendors. */
export const PAX_KEY = 'MILLRACE.key'

/** Reads the records of a PAX header, "LENGTH KEY=VALUE\n" each, into `out`. An empty value takes the key back. */
export function readPax(bytes: Buffer, from: number, to: number, out: Pax): void {
  for (let at = from; at < to && bytes[at] !== 0; ) {
    const blank = bytes.indexOf(0x20, at)
    const length = blank < 0 || blank - at > 10 ? Number.NaN : Number(bytes.toString('latin1', at, blank))
    const end = at + length
    if (!(end > blank && end <= to && bytes[end - 1] === 0x0a))
      throw new TarFault('its PAX header is garbled')
    const record = bytes.toString('utf8', blank + 1, end - 1)
    const equals = record.indexOf('=')
    if (equals < 0) throw new TarFault('its PAX header is garbled')
    paxRecord(record.slice(0, equals), record.slice(equals + 1), out)
    at = end
  }
}

function paxRecord(key: string, value: string, out: Pax): void {
  if (key.startsWith('GNU.sparse.')) throw new TarFault('it is a sparse member: repack without --sparse')
  if (key === 'path') out.path = value === '' ? undefined : value
  if (key === PAX_KEY) out.key = value === '' ? undefined : value
  if (key !== 'size') return
  if (value !== '' && !/^\d{1,16}$/.test(value)) throw new TarFault(`its PAX size is "${value}"`)
  out.size = value === '' ? undefined : Number(value)
}
