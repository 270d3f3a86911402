/** Exactly once: every sample of an epoch is delivered, and none twice, whatever the workers, depth and ranks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnyLoader, loopIds, numberFeed, numbersIn, open } from '../../../../../test/support/engine.js'

const LASTS = ['keep', 'pad', 'drop'] as const

/** Keeps the pool, so that not every small feed starts threads of its own. */
let holder: AnyLoader
beforeAll(async () => {
  holder = open(numberFeed(1), { workers: 2, depth: 1 })
  await holder.ready
})
afterAll(() => holder.close())

interface Shape {
  n: number
  batch: number
  world: number
  workers: number
  depth: number
  last: (typeof LASTS)[number]
}

/** Runs all ranks of a feed through one epoch; checks each row, and returns the ids by rank and step. */
async function epoch(loaders: AnyLoader[]): Promise<string[][][]> {
  return Promise.all(
    loaders.map(async loader => {
      const steps: string[][] = []
      for await (const batch of loader) {
        const { ids } = batch
        expect(numbersIn(batch).slice(0, ids.length)).toEqual(ids)
        expect(batch.valid.reduce((sum, one) => sum + one, 0)).toBe(ids.length)
        steps.push(ids)
      }
      return steps
    }),
  )
}

async function checkOnce({ n, batch, world, workers, depth, last }: Shape): Promise<void> {
  const order = { shuffle: 'global', seed: n } as const
  const json = numberFeed(n, { order, batch: { size: batch, last } }, n % 2 === 0 ? 16_384 : 4)
  const loaders = Array.from({ length: world }, (_, rank) => open(json, { rank, world, workers, depth }))
  try {
    const size = world * batch
    const expected = last === 'drop' ? n - (n % size) : n
    for (let e = 0; e < 2; e++) {
      const ranks = await epoch(loaders)
      const steps = last === 'drop' ? Math.floor(n / size) : Math.ceil(n / size)
      expect(ranks.map(rank => rank.length)).toEqual(ranks.map(() => steps))
      const ids = ranks.flat(2)
      expect(ids).toHaveLength(expected)
      expect(new Set(ids).size).toBe(expected)
      expect(ids.every(id => Number(id) < n)).toBe(true)
    }
  } finally {
    await Promise.all(loaders.map(loader => loader.close()))
  }
}

/** Some of everything, by the number of samples: 0, 1 and 2 workers, depths 1…8, 1…4 ranks, each kind of tail. */
function shapeOf(n: number): Shape {
  const last = LASTS[n % 3]
  const world = 1 + (n % 4)
  const batch = last === 'drop' ? Math.max(1, Math.min(1 + (n % 7), Math.floor(n / world))) : 1 + (n % 7)
  const fits = last !== 'drop' || n >= world * batch
  return { n, batch, world: fits ? world : 1, workers: n % 3, depth: 1 + (n % 8), last }
}

describe('every id once an epoch', () => {
  test('for 1 to 200 samples', async () => {
    for (let n = 1; n <= 200; n++) await checkOnce(shapeOf(n))
  })

  test('for sizes around powers of two, and up to 5,000', async () => {
    const spread = [99, 127, 128, 129, 255, 256, 257, 511, 512, 513, 777, 1000, 1023, 1024, 1025]
    for (const n of [...spread, 2047, 2048, 2049, 3001, 4095, 4096, 4097, 4999, 5000])
      await checkOnce({ ...shapeOf(n), batch: 16 + (n % 50) })
  })

  test.each(LASTS)('for large ones, last: %s', async last => {
    await checkOnce({ n: 65_537, batch: 1024, world: 3, workers: 2, depth: 4, last })
  })
})

test('all ranks together deliver the order of one rank, in each step', async () => {
  const json = numberFeed(1000, { batch: { global: 60, last: 'keep' } })
  const alone = open(json, { workers: 2 })
  const ranks = [0, 1, 2].map(rank => open(json, { rank, world: 3, workers: 2 }))
  try {
    const expected = await loopIds(alone)
    const parts = await Promise.all(ranks.map(loader => loopIds(loader)))
    expect(expected.map((_, step) => parts.flatMap(part => part[step]))).toEqual(expected)
  } finally {
    await Promise.all([alone, ...ranks].map(loader => loader.close()))
  }
})

test('drop leaves out the tail, and nothing else', async () => {
  const whole = open(numberFeed(103, { batch: { size: 103, last: 'keep' } }), { workers: 1 })
  const parts = open(numberFeed(103, { batch: { size: 10, last: 'drop' } }), { workers: 1 })
  try {
    const [order] = await loopIds(whole)
    expect((await loopIds(parts)).flat()).toEqual(order.slice(0, 100))
  } finally {
    await Promise.all([whole.close(), parts.close()])
  }
})

test('a feed smaller than one step says so instead of delivering nothing', async () => {
  const loader = open(numberFeed(7, { batch: { size: 8, last: 'drop' } }), { workers: 0 })
  await expect(loader.ready).rejects.toThrow(/7 samples is smaller than one step.*"keep" or "pad"/)
  await loader.close()
})
