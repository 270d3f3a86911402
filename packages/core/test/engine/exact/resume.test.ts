/** Resuming: any chain of parts, each with its own workers, depth, batch and ranks, delivers every sample once. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyLoader,
  digests,
  type FeedJson,
  loopIds,
  numberFeed,
  type OpenOptions,
  open,
  type State,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { jpeg, writeShards } from '../../../../../test/support/pictures.js'
import { runs } from '../../../../../test/support/runs.js'
import { tarFile } from '../../../../../test/support/tar.js'

/** Keeps the pool, so that not every part starts threads of its own. */
let holder: AnyLoader
beforeAll(async () => {
  holder = open(numberFeed(1), { workers: 2, depth: 1 })
  await holder.ready
})
afterAll(() => holder.close())

interface Part {
  world: number
  batch: number
  workers: number
  depth: number
  steps: number
}

/** All ranks of one part: up to `steps` steps of one epoch, from a state. Returns the ids by step, and the state after. */
async function runPart(
  json: FeedJson,
  part: Part,
  state?: State,
): Promise<{ ids: string[][]; state: State }> {
  const { world, workers, depth } = part
  const loaders = Array.from({ length: world }, (_, rank) =>
    open(json, { rank, world, workers, depth, state }),
  )
  try {
    const ranks = await Promise.all(loaders.map(loader => loopIds(loader, part.steps)))
    const states = loaders.map(loader => loader.state())
    expect(states).toEqual(states.map(() => states[0]))
    const ids = ranks[0].map((_, step) => ranks.flatMap(rank => rank[step]))
    return { ids, state: states[0] }
  } finally {
    await Promise.all(loaders.map(loader => loader.close()))
  }
}

const part = fc.record({
  world: fc.integer({ min: 1, max: 4 }),
  batch: fc.integer({ min: 1, max: 9 }),
  workers: fc.integer({ min: 0, max: 2 }),
  depth: fc.integer({ min: 1, max: 5 }),
  steps: fc.integer({ min: 0, max: 6 }),
})

const ORDERS: FeedJson['order'][] = [
  'none',
  { shuffle: 'global', seed: 5 },
  { shuffle: { window: 16 }, seed: 5 },
]

describe('stopped at any step and resumed with other workers, depth, batch size and world', () => {
  test.each(['keep', 'pad'] as const)('last: %s delivers each id once an epoch', async last => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 120 }),
      fc.constantFrom(...ORDERS),
      fc.array(part, { minLength: 1, maxLength: 6 }),
      async (n, order, parts) => {
        const ids: string[] = []
        let state: State | undefined
        // The last part goes on until the epoch ends.
        for (const p of [...parts, { ...parts[0], steps: Number.POSITIVE_INFINITY }]) {
          const json = numberFeed(n, { order, batch: { size: p.batch, last } })
          const done = await runPart(json, p, state)
          ids.push(...done.ids.flat())
          state = done.state
          if (state.epoch > 0) break
        }
        expect(ids).toHaveLength(n)
        expect(new Set(ids).size).toBe(n)
        expect([state?.epoch, state?.position]).toEqual([1, 0])
      },
    )
    await fc.assert(property, { numRuns: runs(60) })
  })

  test('last: drop delivers an exact prefix', async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 40, max: 120 }),
      fc.array(part, { minLength: 1, maxLength: 6 }),
      async (n, parts) => {
        const [order] = await using(
          numberFeed(n, { batch: { size: n, last: 'keep' } }),
          { workers: 0 },
          loader => loopIds(loader),
        )
        const ids: string[] = []
        let state: State | undefined
        for (const p of parts) {
          const json = numberFeed(n, { batch: { size: p.batch, last: 'drop' } })
          const from = state?.position ?? 0
          if (n - from < p.world * p.batch) continue // nothing but a tail: the loop would be over the next epoch
          const done = await runPart(json, p, state)
          ids.push(...done.ids.flat())
          state = done.state
          if (state.epoch > 0) break
        }
        expect(ids).toEqual(order.slice(0, ids.length))
        if (state?.epoch === 0) expect(state.position).toBe(ids.length)
      },
    )
    await fc.assert(property, { numRuns: runs(60) })
  })

  test('with the global batch kept, each step has the ids of the uninterrupted run: 1 → 3 → 2 ranks', async () => {
    const json = numberFeed(500, { batch: { global: 12, last: 'keep' } })
    const whole = await runPart(json, { world: 1, batch: 12, workers: 2, depth: 4, steps: Infinity })
    const steps: string[][] = []
    let state: State | undefined
    for (const [world, count] of [
      [1, 5],
      [3, 11],
      [2, 7],
      [6, Infinity],
    ]) {
      const done = await runPart(json, { world, batch: 12, workers: 2, depth: 3, steps: count }, state)
      steps.push(...done.ids)
      state = done.state
    }
    // The last, smaller step is divided otherwise among other ranks, but is the same set.
    expect(steps.map(ids => [...ids].sort())).toEqual(whole.ids.map(ids => [...ids].sort()))
  })

  test('values are the same as well, also behind the next epoch', async () => {
    const root = temporaryFolder()
    writeShards(root, 40, 2)
    const json: FeedJson = {
      source: { tar: 'train-{0000..0001}.tar' },
      order: { shuffle: { window: 8 }, seed: 1 },
      fields: {
        image: {
          from: 'jpg',
          as: 'image',
          apply: [{ randomResizedCrop: 16 }, { rotate: 30 }, { flip: 0.5 }],
        },
        label: { from: 'cls', as: 'int' },
      },
      batch: { size: 8, last: 'keep', apply: [{ cutmix: { classes: 10 } }] },
    }
    const options: OpenOptions = { root, workers: 2, epochs: 3 }
    const whole = await digests(json, options)
    for (const step of [1, 4, 5, 8]) {
      const state = await using(json, options, async loader => {
        await loopIds(loader, step)
        return JSON.parse(JSON.stringify(loader.state())) as State
      })
      expect(JSON.stringify(state).length).toBeLessThan(1000)
      const rest = await digests(json, {
        ...options,
        workers: 1,
        depth: 2,
        epochs: null,
        steps: 15 - step,
        state,
      })
      expect(rest).toEqual(whole.slice(step))
    }
  })
})

describe('a state and changed data', () => {
  const json: FeedJson = {
    source: { tar: 'data/train-{0000..0001}.tar' },
    order: { shuffle: 'global', seed: 1 },
    fields: { label: { from: 'cls', as: 'int' } },
    batch: 4,
  }
  const sample = (i: number) => [
    { name: `s${i}.jpg`, data: jpeg(i, 8) },
    { name: `s${i}.cls`, data: String(i) },
  ]
  let root: string
  let state: State
  beforeAll(async () => {
    root = temporaryFolder()
    writeShards(join(root, 'data'), 20, 2, sample)
    state = await using(json, { root, workers: 0 }, async loader => {
      await loopIds(loader, 2)
      return loader.state()
    })
  })

  const resume = (definition: FeedJson, options: OpenOptions = {}) =>
    using(definition, { root, workers: 0, state, ...options }, loader => loopIds(loader))

  test('moved data is accepted', async () => {
    const elsewhere = join(temporaryFolder(), 'deep')
    mkdirSync(elsewhere)
    writeShards(join(elsewhere, 'data'), 20, 2, sample)
    expect(await resume(json, { root: elsewhere })).toEqual(await resume(json))
  })

  test('another batch size, other ranks and fields are accepted, the fields with a notice', async () => {
    const notices: string[] = []
    const fields: FeedJson['fields'] = { ...json.fields, image: { from: 'jpg', as: 'image', shape: [8, 8] } }
    const ids = await resume({ ...json, fields, batch: 3 }, { notice: text => notices.push(text) })
    expect(ids.flat()).toHaveLength(12)
    expect(notices).toEqual([expect.stringMatching(/fields, functions or onError .* have changed/)])
  })

  test('another seed is refused, by its name', async () => {
    await expect(resume({ ...json, order: { shuffle: 'global', seed: 2 } })).rejects.toThrow(/seed/)
  })

  test('another order is refused, by its name', async () => {
    await expect(resume({ ...json, order: 'none' })).rejects.toThrow(/global.*none|none.*global/)
  })

  test('a changed shard is refused, by its name', async () => {
    const changed = temporaryFolder()
    writeShards(join(changed, 'data'), 20, 2, sample)
    writeShards(join(changed, 'new'), 11, 1, sample)
    renameSync(join(changed, 'new/train-0000.tar'), join(changed, 'data/train-0001.tar'))
    await expect(resume(json, { root: changed })).rejects.toThrow(/train-0001\.tar/)
  })

  test.each<[string, Partial<FeedJson>]>([
    ['where', { source: { subset: { source: { tar: 'a.tar' }, where: { cls: 1 } } } }],
    [
      'groupBy',
      { source: { split: { source: { tar: 'a.tar' }, folds: 3, take: { not: 0 }, groupBy: 'cls' } } },
    ],
    ['weights', { order: { weights: { column: 'cls' }, seed: 1 } }],
  ])('labels that change which samples come (%s) are refused, others are not', async (_, more) => {
    const changed = temporaryFolder()
    const shard = (labels: string) =>
      writeFileSync(
        join(changed, 'a.tar'),
        tarFile([...labels].map((data, i) => ({ name: `${i}.cls`, data }))),
      )
    const plain: FeedJson = {
      source: { tar: 'a.tar' },
      order: 'none',
      fields: { label: { from: 'cls', as: 'int' } },
      batch: { size: 2, last: 'keep' },
    }
    const stopped = (json: FeedJson) =>
      using(json, { root: changed, workers: 0 }, async loader => {
        await loopIds(loader, 1)
        return loader.state()
      })
    shard('012012012012')
    const [state, plainState] = [await stopped({ ...plain, ...more }), await stopped(plain)]
    shard('012021012021') // as many of each, in the same places
    await expect(resume({ ...plain, ...more }, { root: changed, state })).rejects.toThrow(
      /values by which samples are selected, weighted or batched, such as labels or lengths, have changed/,
    )
    await resume(plain, { root: changed, state: plainState })
  })

  test('a state that is none is refused', async () => {
    await expect(resume(json, { state: { version: 9 } as unknown as State })).rejects.toThrow(/version 9/)
    await expect(resume(json, { state: { ...state, position: 99 } })).rejects.toThrow(/position 99/)
  })

  test('a file with an old state does not hide what is wrong with it', async () => {
    const file = join(root, 'state.json')
    writeFileSync(file, JSON.stringify(state).slice(0, 100))
    const { millrace } = await import('../../../../tools/test/prepare/helpers.js')
    const { code, stderr } = await millrace('run', JSON.stringify(json), '--resume', file)
    expect(code).toBe(1)
    expect(stderr).toMatch(/the state is no JSON/)
  })
})
