/** The permutation is a bijection for every n, can be inverted, and never changes from one version to the next. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { permutation } from '../../order/permutation.js'

function expectBijection(n: number, seed: number): void {
  const p = permutation(n, { seed, epoch: seed % 5 })
  const seen = new Uint8Array(n)
  for (let i = 0; i < n; i++) {
    const index = p.at(i)
    if (!(index >= 0 && index < n)) throw new Error(`n=${n}: at(${i}) = ${index}`)
    if (seen[index]++) throw new Error(`n=${n}: ${index} comes twice`)
    if (p.inverse(index) !== i) throw new Error(`n=${n}: inverse(at(${i})) = ${p.inverse(index)}`)
  }
}

describe('bijection', () => {
  test('for every n up to 600', () => {
    for (let n = 0; n <= 600; n++) expectBijection(n, n)
  })

  test('for 2^k − 1, 2^k and 2^k + 1 up to k = 20', () => {
    for (let k = 1; k <= 20; k++) for (const off of [-1, 0, 1]) expectBijection(2 ** k + off, k)
  })

  test('for random n and seeds', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 0 }), expectBijection), {
      numRuns: runs(40),
      seed: 1,
    })
  })
})

describe('inverse', () => {
  const centres = [2 ** 16, 1e9, 2 ** 30, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 45, 2 ** 51, 2 ** 52 - 1]
  test.each(centres.flatMap(n => [n - 1, n, n + 1]))('undoes at, n = %d', n => {
    const p = permutation(n, { seed: 3, epoch: 9, stream: 'inverse' })
    fc.assert(
      fc.property(fc.maxSafeInteger(), x => {
        const position = Math.abs(x) % n
        const index = p.at(position)
        expect(Number.isInteger(index) && index >= 0 && index < n).toBe(true)
        expect(p.inverse(index)).toBe(position)
        expect(p.at(p.inverse(position))).toBe(position)
      }),
      { seed: 2 },
    )
    for (const edge of [0, 1, n - 2, n - 1]) expect(p.inverse(p.at(edge))).toBe(edge)
  })
})

describe('the key', () => {
  const first = (seed: number, epoch: number, stream?: string | number) =>
    Array.from({ length: 8 }, (_, i) => permutation(1e9, { seed, epoch, stream }).at(i)).join()

  test('is no sum: (seed, epoch, stream) that add up alike differ', () => {
    const all = new Set<string>()
    let count = 0
    for (let seed = -3; seed <= 3; seed++)
      for (let epoch = 0; epoch < 5; epoch++)
        for (const stream of [undefined, 0, 1, '0', '1', 'a', 'b', '']) {
          all.add(first(seed, epoch, stream))
          count++
        }
    expect(all.size).toBe(count)
  })

  test('uses all bits of a seed', () => {
    const seeds = [1, 1 + 2 ** 32, 1 + 2 ** 33, 1 + 2 ** 52, -1, 2 ** 32 - 1]
    expect(new Set(seeds.map(seed => first(seed, 0))).size).toBe(seeds.length)
  })
})

describe('fill', () => {
  test('is `at` of each position, whatever the bits and however many', () => {
    for (const n of [300, 1025, 4099, 65_536, 70_001]) {
      const p = permutation(n, { seed: 3, epoch: 1 })
      for (const [start, length] of [
        [0, n],
        [7, 1026],
        [n - 5, 9],
      ]) {
        const out = new Uint32Array(Math.min(length, n))
        const count = p.fill(out, start)
        expect(count).toBe(Math.min(out.length, n - start))
        for (let i = 0; i < count; i++) if (out[i] !== p.at(start + i)) expect.fail(`${n}: ${start + i}`)
      }
    }
  })

  test('is at, position by position, and stops at n', () => {
    for (const n of [5, 1000, 2 ** 33]) {
      const p = permutation(n, { seed: 1, epoch: 0 })
      const start = n - 5
      const out = new Float64Array(8).fill(-1)
      expect(p.fill(out, start)).toBe(5)
      expect([...out]).toEqual([...[0, 1, 2, 3, 4].map(i => p.at(start + i)), -1, -1, -1])
      expect(p.fill(out, n)).toBe(0)
    }
  })

  test('refuses arrays that can not hold the indices', () => {
    expect(() => permutation(2 ** 32 + 1, { seed: 0, epoch: 0 }).fill(new Uint32Array(1), 0)).toThrow(
      /Float64Array/,
    )
    expect(() => permutation(2 ** 31 + 1, { seed: 0, epoch: 0 }).fill(new Int32Array(1), 0)).toThrow(
      /Float64Array/,
    )
  })
})

describe('arguments', () => {
  test.each([-1, 1.5, Number.NaN, 2 ** 52 + 1, Infinity])('n = %d is refused', n => {
    expect(() => permutation(n, { seed: 0, epoch: 0 })).toThrow(/2\^52/)
  })

  test('a seed or epoch that is no whole number is refused', () => {
    expect(() => permutation(1, { seed: 0.5, epoch: 0 })).toThrow(/seed/)
    expect(() => permutation(1, { seed: 0, epoch: -1 })).toThrow(/epoch/)
  })

  test.each([0, 10, 1000, 2 ** 40])('positions outside of n = %d are refused', n => {
    const p = permutation(n, { seed: 0, epoch: 0 })
    for (const wrong of [-1, n, n + 1, 0.5, Number.NaN, 2 ** 53]) {
      expect(() => p.at(wrong)).toThrow(RangeError)
      expect(() => p.inverse(wrong)).toThrow(RangeError)
    }
  })
})

/** Saved states depend on these. If this test fails, every feed's order has changed: find another way. */
test('golden values, the same in every version', () => {
  const golden = [10, 100, 255, 256, 1000, 1e6, 1e9, 2 ** 31, 2 ** 31 + 1, 2 ** 45, 2 ** 52].map(n => {
    const p = permutation(n, { seed: 7, epoch: 3, stream: 'golden' })
    return [n, p.at(0), p.at(1), p.at(n - 1), permutation(n, { seed: -1, epoch: 0 }).at(0)]
  })
  expect(golden).toMatchInlineSnapshot(`
    [
      [
        10,
        0,
        2,
        4,
        5,
      ],
      [
        100,
        13,
        64,
        42,
        87,
      ],
      [
        255,
        221,
        250,
        108,
        93,
      ],
      [
        256,
        71,
        72,
        133,
        197,
      ],
      [
        1000,
        562,
        366,
        872,
        41,
      ],
      [
        1000000,
        315152,
        74859,
        707165,
        302986,
      ],
      [
        1000000000,
        735693622,
        316439434,
        45853064,
        385178472,
      ],
      [
        2147483648,
        1158509469,
        2133854264,
        1340469834,
        1826368935,
      ],
      [
        2147483649,
        731302406,
        747199112,
        1589675228,
        66926962,
      ],
      [
        35184372088832,
        878419205898,
        28096425560513,
        24998646651997,
        25572584029478,
      ],
      [
        4503599627370496,
        3005157017589623,
        1811618150775068,
        96018936502140,
        3039090555797276,
      ],
    ]
  `)
})
