/** The kernel that converts elements gives what its plain twin gives, for any bits. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../../test/support/runs.js'
import { bytesOfStored, isFloatDtype, type StoredDtype } from '../../../../core/basics/array.js'
import { DTYPES, type Dtype } from '../../../../core/basics/dtype.js'
import { CONVERT_CODES } from '../../../transform/kernels/codes.js'
import { kernel } from '../../../transform/kernels/load.js'
import { convertPlain } from '../twins/convert.js'

interface ConvertKernel {
  convert(source: number, from: number, target: number, to: number, count: number): number
  swap(at: number, size: number, count: number): void
}

const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
const u8 = new Uint8Array(memory.buffer)
const { convert, swap } = kernel<ConvertKernel>('convert', memory)
const stored = Object.keys(CONVERT_CODES) as StoredDtype[]
const targets = Object.keys(DTYPES) as Dtype[]
const [FROM, TO] = [64, 8192]

/** Bits of elements: any, and those near the ends of what integers and floats hold. */
function bitsOf(dtype: StoredDtype): fc.Arbitrary<Uint8Array> {
  const size = bytesOfStored(dtype)
  const edge = fc
    .tuple(fc.integer({ min: 0, max: 8 * size }), fc.integer({ min: -3, max: 3 }), fc.boolean())
    .map(([bit, near, negative]) => {
      const value = (2n ** BigInt(bit) + BigInt(near)) * (negative ? -1n : 1n)
      return Uint8Array.from({ length: size }, (_, b) => Number((value >> BigInt(8 * b)) & 255n))
    })
  const any = fc.uint8Array({ minLength: size, maxLength: size })
  return fc
    .array(fc.oneof(any, edge), { minLength: 1, maxLength: 40 })
    .map(all => new Uint8Array(Buffer.concat(all)))
}

/** A NaN that signals may keep its payload, or be made quiet: processors differ. */
const isSignalling = (bits: bigint, width: bigint, fraction: bigint): boolean => {
  const exponent = (1n << (width - 1n - fraction)) - 1n
  const all = (bits >> fraction) & exponent
  const rest = bits & ((1n << fraction) - 1n)
  return all === exponent && rest !== 0n && rest >> (fraction - 1n) === 0n
}

const FRACTION: Partial<Record<StoredDtype, bigint>> = { f16: 10n, bf16: 7n, f32: 23n, f64: 52n }

function withoutSignalling(dtype: StoredDtype, data: Uint8Array): Uint8Array {
  const fraction = FRACTION[dtype]
  if (fraction === undefined) return data
  const size = bytesOfStored(dtype)
  const kept: Uint8Array[] = []
  for (let i = 0; i < data.length; i += size) {
    const element = data.subarray(i, i + size)
    const bits = element.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
    if (!isSignalling(bits, BigInt(8 * size), fraction)) kept.push(element)
  }
  return new Uint8Array(Buffer.concat(kept))
}

describe('convert', () => {
  for (const source of stored) {
    for (const target of targets) {
      if (source === target || (isFloatDtype(source) && !isFloatDtype(target) && target !== 'bool')) continue
      test(`${source} → ${target}`, () => {
        fc.assert(
          fc.property(bitsOf(source), any => {
            const data = withoutSignalling(source, any)
            const count = data.length / bytesOfStored(source)
            const room = count * bytesOfStored(target)
            u8.fill(0xaa, TO, TO + room + 8)
            u8.set(data, FROM)
            const written = convert(CONVERT_CODES[source], FROM, CONVERT_CODES[target], TO, count)
            const plain = new Uint8Array(room).fill(0xaa)
            const from = new DataView(data.buffer, data.byteOffset, data.byteLength)
            expect(written).toBe(convertPlain(source, from, target, new DataView(plain.buffer), count))
            const bytes = written * bytesOfStored(target)
            expect(Buffer.compare(u8.slice(TO, TO + bytes), plain.subarray(0, bytes))).toBe(0)
            expect(u8.slice(TO + room, TO + room + 8).every(byte => byte === 0xaa)).toBe(true)
          }),
          { numRuns: runs(40) },
        )
      })
    }
  }
})

test('swap reverses the bytes of each element, and no others', () => {
  for (const size of [1, 2, 4, 8]) {
    for (const count of [1, 2, 3, 8, 9, 31]) {
      const data = Uint8Array.from({ length: size * count }, (_, i) => i * 7)
      u8.fill(0xaa, TO, TO + data.length + 16)
      u8.set(data, TO)
      swap(TO, size, count)
      for (let i = 0; i < data.length; i += size) data.subarray(i, i + size).reverse()
      expect([...u8.slice(TO, TO + data.length)]).toEqual([...data])
      expect(u8.slice(TO + data.length, TO + data.length + 16).every(byte => byte === 0xaa)).toBe(true)
    }
  }
})
