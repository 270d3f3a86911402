/**
 * Reads the fields of a protobuf message where they lie: number and wire type, then a varint, or the place of the bytes.
 * Nothing is copied, and nothing is allocated while it walks.
 */
import { DecodeError } from '../../core/basics/errors.js'

const VARINT = 0
const FIXED64 = 1
export const BYTES = 2
const FIXED32 = 5

export class Fields {
  /** Of the field that `next` came to. */
  number = 0
  type = 0
  /** BYTES, FIXED32, FIXED64: where its bytes begin and end. */
  from = 0
  to = 0
  /** A varint's lower and upper 32 bits. */
  low = 0
  high = 0
  bytes: Uint8Array = new Uint8Array(0)
  private at = 0
  private end = 0

  /** Begins a message that lies from `from` to `to`. */
  over(bytes: Uint8Array, from: number, to: number): this {
    this.bytes = bytes
    this.at = from
    this.end = to
    return this
  }

  /** Goes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false
    const start = this.at
    this.varint()
    if (this.high !== 0 || this.low >>> 3 === 0) throw this.fault('a field without a number', start)
    this.number = this.low >>> 3
    this.type = this.low & 7
    this.from = this.at
    if (this.type === VARINT) this.varint()
    else if (this.type === BYTES) {
      this.varint()
      if (this.high !== 0) throw this.fault('a field that is too long', start)
      this.from = this.at
      this.at += this.low >>> 0
    } else if (this.type === FIXED64) this.at += 8
    else if (this.type === FIXED32) this.at += 4
    else throw this.fault(`a field of wire type ${this.type}`, start)
    if (this.at > this.end) throw this.fault('a field that reaches over the end', start)
    this.to = this.at
    return true
  }

  /** Reads a varint of a packed list, at `at`; gives where it ends. */
  varintAt(at: number): number {
    this.at = at
    this.varint()
    return this.at
  }

  private varint(): void {
    const { bytes, end } = this
    let at = this.at
    let low = 0
    let high = 0
    for (let shift = 0; ; shift += 7) {
      if (at >= end || shift >= 70) throw this.fault('a number that has no end', this.at)
      const byte = bytes[at++]
      const part = byte & 127
      if (shift < 28) low |= part << shift
      else if (shift === 28) {
        low |= part << 28
        high = part >>> 4
      } else high |= part << (shift - 32)
      if (byte < 128) break
    }
    this.at = at
    this.low = low
    this.high = high
  }

  private fault(what: string, at: number): DecodeError {
    return new DecodeError(
      `the record is no tf.Example: ${what}, at its byte ${at}: ask for the column "record", which has its bytes as they are`,
    )
  }
}
