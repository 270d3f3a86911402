/** A row group is left out only where none of its rows can meet a condition. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConditionJson } from '../../../core/define/types.js'
import { compileCondition } from '../../../core/source/combine/condition.js'
import type { Physical } from '../../parquet/names.js'
import type { Logical, ParquetLeaf } from '../../parquet/structure/schema.js'
import { mayMatch } from '../../parquet/where.js'

interface Kind {
  physical: Physical
  logical?: Logical
  /** As Parquet stores it. */
  value: fc.Arbitrary<number | bigint | string>
  bytes(value: number | bigint | string): Uint8Array
  /** As conditions see it. */
  seen?(value: number | bigint | string): number
}

const plain = (bytes: number, put: (view: DataView, value: never) => void): Kind['bytes'] => {
  return value => {
    const view = new DataView(new ArrayBuffer(bytes))
    put(view, value as never)
    return new Uint8Array(view.buffer)
  }
}
const i32 = plain(4, (view, value) => view.setInt32(0, value, true))
const unsigned = (bits: number): Logical => ({ kind: 'integer', bits, signed: false })

const KINDS: Record<string, Kind> = {
  i32: { physical: 'INT32', value: fc.integer(), bytes: i32 },
  u32: { physical: 'INT32', logical: unsigned(32), value: fc.nat(2 ** 32 - 1), bytes: i32 },
  i64: {
    physical: 'INT64',
    value: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    bytes: plain(8, (view, value) => view.setBigInt64(0, value, true)),
  },
  u64: {
    physical: 'INT64',
    logical: unsigned(64),
    value: fc.bigInt(0n, 2n ** 64n - 1n),
    bytes: plain(8, (view, value) => view.setBigUint64(0, value, true)),
  },
  f32: {
    physical: 'FLOAT',
    value: fc.float({ noNaN: true }),
    bytes: plain(4, (view, value) => view.setFloat32(0, value, true)),
  },
  f64: {
    physical: 'DOUBLE',
    value: fc.double({ noNaN: true }),
    bytes: plain(8, (view, value) => view.setFloat64(0, value, true)),
  },
  decimal: {
    physical: 'INT32',
    logical: { kind: 'decimal', scale: 2 },
    value: fc.integer(),
    bytes: i32,
    seen: value => Number(value) / 100,
  },
  text: {
    physical: 'BYTE_ARRAY',
    logical: { kind: 'string' },
    value: fc.string({ unit: 'grapheme' }),
    bytes: value => Buffer.from(value as string),
  },
}

type Stored = number | bigint | string
const before = (a: Stored, b: Stored): number => {
  if (typeof a === 'string' || typeof b === 'string')
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  return a < b ? -1 : a > b ? 1 : 0
}

describe('statistics of a row group', () => {
  it.each(Object.keys(KINDS))('never leave out a row: %s', name => {
    const { physical, logical, value, bytes, seen } = KINDS[name]
    const leaf: ParquetLeaf = {
      name,
      physical,
      width: 0,
      ...(logical && { logical }),
      definition: 0,
      repetition: 0,
      elements: 0,
    }
    const reported = (one: number | bigint | string): number | string =>
      typeof one === 'string' ? one : (seen?.(one) ?? Number(one))
    const sign = fc.constantFrom('>', '>=', '<', '<=', '=', '!=')
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 4 }),
        value,
        sign,
        fc.nat(9),
        (values, other, sign, pick) => {
          const sorted = [...values].sort(before)
          const bound = reported([...values, other][pick % (values.length + 1)])
          const statistics = { min: bytes(sorted[0]), max: bytes(sorted[sorted.length - 1]) }
          for (const condition of [bound, [bound], { [sign]: bound }] as ConditionJson[]) {
            const type = typeof bound as 'number' | 'string'
            const holds = compileCondition(condition, { type }, name)
            if (values.some(one => holds(reported(one))))
              expect(mayMatch(leaf, condition, statistics)).toBe(true)
          }
        },
      ),
    )
  })
})
