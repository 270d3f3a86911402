/** Levels in the old encoding BIT_PACKED, which no writer at hand uses: the example of the format's specification. */
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../core/basics/errors.js'
import { readPageLevels } from '../../parquet/decode/bits.js'
import { ENCODING } from '../../parquet/names.js'

describe('levels in BIT_PACKED', () => {
  const packed = Uint8Array.of(0b00000101, 0b00111001, 0b01110111)

  it('have their greatest bits first', () => {
    const levels = new Uint8Array(8)
    expect(readPageLevels(packed, 0, ENCODING.BIT_PACKED, 7, levels)).toBe(3)
    expect([...levels]).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('are refused where they are cut off, or higher than the schema has', () => {
    expect(() => readPageLevels(packed, 1, ENCODING.BIT_PACKED, 7, new Uint8Array(8))).toThrow(DecodeError)
    expect(() => readPageLevels(packed, 0, ENCODING.BIT_PACKED, 5, new Uint8Array(8))).toThrow('a level is 6')
  })
})
