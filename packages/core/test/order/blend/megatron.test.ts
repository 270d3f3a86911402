/** The order of Megatron's BlendedDataset is the one that numpy and its C++ helpers give, position for position. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { normalized } from '../../../basics/numpy.js'
import {
  MegatronBlendOrder,
  type MegatronBlendSpec,
  planMegatronBlend,
} from '../../../order/blend/megatron.js'

interface Reported {
  shape: number[]
  sha256: string
  first: number[]
  last: number[]
}

const expected = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../../test/golden/megatron/expected.json'), 'utf8'),
) as {
  blend: { weights: number[]; shares: string; size: number; sources: Reported; samples: Reported }[]
  exhaustive: { sizes: number[]; sources: Reported; samples: Reported }[]
}

function reported(numbers: readonly number[]): Reported {
  const bytes = new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { shape: [numbers.length], sha256, first: numbers.slice(0, 8), last: numbers.slice(-8) }
}

function drawn(spec: Omit<MegatronBlendSpec, 'names' | 'surplus'>, size: number) {
  const names = spec.counts.map(String)
  const data = planMegatronBlend({ ...spec, names, surplus: 0.005 })
  const sources = spec.counts.map(length => ({ length, at: (_: number, position: number) => position }))
  const order = new MegatronBlendOrder(data, sources)
  // From the end, so that nothing is known from a position before.
  const draws = Array.from({ length: size }, (_, i) => ({
    ...order.draw(0, size - 1 - i, { source: 0, row: 0, drawn: 0, epoch: 0 }),
  })).reverse()
  return { order, data, sources: draws.map(one => one.source), rows: draws.map(one => one.row) }
}

it.each(expected.blend)('BlendedDataset: $weights', ({ weights, shares, size, sources, samples }) => {
  const found = drawn({ weights, samples: size, counts: weights.map(() => size) }, size)
  const bytes = new Uint8Array(Float64Array.from(normalized(normalized(weights))).buffer)
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(shares)
  expect(reported(found.sources)).toEqual(sources)
  expect(reported(found.rows)).toEqual(samples)
})

it.each(expected.exhaustive)('all samples: $sizes', ({ sizes, sources, samples }) => {
  const found = drawn({ counts: sizes }, sources.shape[0])
  expect(found.order.length).toBe(sources.shape[0])
  expect(reported(found.sources)).toEqual(sources)
  expect(reported(found.rows)).toEqual(samples)
})

it('how often each source was drawn before a position is what the draws before it show', () => {
  const { order, sources } = drawn(
    { weights: [3, 1, 0.2], samples: 20_000, counts: [20_000, 20_000, 20_000] },
    20_000,
  )
  for (const position of [0, 1, 4095, 4096, 4097, 9000, 20_000]) {
    const counts = [0, 0, 0]
    for (const source of sources.slice(0, position)) counts[source]++
    expect([...order.drawnBefore(position)]).toEqual(counts)
  }
})

it('a source that would be drawn more often than it was built for is refused, as in Megatron', () => {
  expect(() => drawn({ weights: [1, 1], samples: 100, counts: [100, 49] }, 100)).toThrow(
    /draws 50 samples of "49", which was built with 49.*surplus/,
  )
  expect(() => drawn({ weights: [1, 1], counts: [100, 49] }, 100)).toThrow(/needs it, as in Megatron/)
})
