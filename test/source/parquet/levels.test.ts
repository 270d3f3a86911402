/** Levels in the old encoding BIT_PACKED, which no writer at hand uses: the example of the format's specification. */
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../src/basics/errors.js'
import { readOldLevels } from '../../../src/source/parquet/decode/bits.js'

describe('levels in BIT_PACKED', () => {
  const packed = Uint8Array.of(0b00000101, 0b00111001, 0b01110111)

  it('have their greatest bits first', () => {
    const levels = new Uint8Array(8)
    expect(readOldLevels(packed, 0, packed.length, 7, 8, levels)).toBe(3)
    expect([...levels]).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('are refused where they are cut off, or higher than the schema has', () => {
    expect(() => readOldLevels(packed, 1, 3, 7, 8, new Uint8Array(8))).toThrow(DecodeError)
    expect(() => readOldLevels(packed, 0, 3, 5, 8, new Uint8Array(8))).toThrow('a level is 6')
  })
})
