import { describe, expect, it } from 'vitest'
import type { Dtype } from '../../basics/dtype.js'
import type { SyntheticJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'

async function rows(json: SyntheticJson, column: string, wanted: number[]): Promise<Uint8Array[]> {
  const source = attachSource(await openSource({ synthetic: json }, { root: '/', wanted: [] }))
  return wanted.map(row => source.sample(row, 0, [column], { ranges: [], units: [] })[column] as Uint8Array)
}

describe('synthetic', () => {
  it('images weigh what photographs of their size weigh, and differ from row to row and seed to seed', async () => {
    const images = { width: 224, height: 224 }
    const [a, b] = await rows({ count: 9, images }, 'jpg', [0, 1])
    const [other] = await rows({ count: 9, images, seed: 1 }, 'jpg', [0])
    for (const jpg of [a, b, other]) {
      expect([...jpg.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff])
      expect(jpg.length).toBeGreaterThan(26_000)
      expect(jpg.length).toBeLessThan(34_000)
    }
    expect(Buffer.compare(a, b)).not.toBe(0)
    expect(Buffer.compare(a, other)).not.toBe(0)
  })

  it('images may be a single pixel or wider than the grain', async () => {
    const make = (width: number, height: number) => rows({ count: 1, images: { width, height } }, 'jpg', [0])
    expect((await make(1, 1))[0].length).toBeGreaterThan(100)
    expect((await make(700, 3))[0].length).toBeGreaterThan(100)
  })

  it('does not depend on which rows were made before', async () => {
    const json: SyntheticJson = { count: 50, images: { width: 32, height: 32 } }
    const [, late] = await rows(json, 'jpg', [3, 40])
    const [alone] = await rows(json, 'jpg', [40])
    expect(Buffer.compare(late, alone)).toBe(0)
  })

  it('tensors begin with their row and have the length of their shape', async () => {
    const sizes: [Dtype, number][] = [
      ['u8', 1],
      ['bool', 1],
      ['i16', 2],
      ['bf16', 2],
      ['f16', 2],
      ['f32', 4],
      ['i64', 8],
      ['f64', 8],
    ]
    for (const [dtype, bytes] of sizes) {
      const [data] = await rows({ count: 9, tensors: { shape: [2, 3], dtype } }, 'data', [5])
      expect([dtype, data.length]).toEqual([dtype, 6 * bytes])
    }
    const [floats] = await rows({ count: 9, tensors: { shape: [50], dtype: 'f32' } }, 'data', [5])
    const values = [...new Float32Array(floats.buffer)]
    expect(values[0]).toBe(5)
    expect(values.slice(1).every(v => v >= 0 && v < 1)).toBe(true)
  })

  it('tokens lie below the vocabulary', async () => {
    const [small] = await rows({ count: 500, tokens: { length: 64, vocabulary: 100 } }, 'tokens', [250])
    const tokens = [...new Uint16Array(small.buffer)]
    expect(tokens[0]).toBe(50)
    expect(tokens.every(token => token < 100)).toBe(true)
    const [large] = await rows({ count: 5, tokens: { length: 64, vocabulary: 1e6 } }, 'tokens', [1])
    expect(large.length).toBe(256)
  })
})
