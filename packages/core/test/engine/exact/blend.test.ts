/** The weights of a blend, changed while running: part of the state, and the same for everyone. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type AnyLoader,
  type FeedJson,
  feedingOf,
  numberFeed,
  numbers,
  numbersIn,
  type State,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { WORKSPACE_BYTES } from '../../../engine/plan/budget.js'

const FEED: FeedJson = numberFeed(0, {
  source: {
    blend: {
      entries: [
        { source: numbers(100), weight: 1, name: 'a' },
        { source: numbers(60), weight: 1, name: 'b' },
      ],
      epoch: 96,
    },
  },
  batch: { size: 8, last: 'keep' },
})
const STEPS = 12

interface Seen {
  ids: string[][]
  states: State[]
}

/** Two epochs, with changes of weights after given steps (counted through both). */
async function run(loader: AnyLoader, changes: Record<number, Record<string, number>>): Promise<Seen> {
  await loader.ready
  const seen: Seen = { ids: [], states: [loader.state()] }
  for (let epoch = 0; epoch < 2; epoch++) {
    for await (const batch of loader) {
      seen.ids.push(batch.ids)
      const change = changes[seen.ids.length]
      if (change) await loader.setWeights(change)
      seen.states.push(loader.state())
    }
  }
  return seen
}

const CHANGES = { 3: { a: 9, b: 1 }, 7: { a: 0, b: 1 }, 12: { a: 1, b: 3 } }
const share = (ids: string[][]) => ids.flat().filter(id => id.startsWith('a/')).length / ids.flat().length

describe('changed weights', () => {
  test('take effect with the next batch, and an epoch keeps its length', async () => {
    const { ids } = await using(FEED, { workers: 2, depth: 8 }, loader => run(loader, CHANGES))
    expect(ids).toHaveLength(2 * STEPS)
    expect(share(ids.slice(0, 3))).toBeCloseTo(0.5, 0)
    expect(share(ids.slice(3, 7))).toBeGreaterThan(0.75)
    expect(share(ids.slice(7, 12))).toBe(0)
    expect(share(ids.slice(12))).toBeCloseTo(0.25, 1)
  })

  test('stay known until the epoch ends, where its last batch is filled with its first samples', async () => {
    // Five steps of 20 for 96 samples: the last one takes 4 from the beginning.
    const padded: FeedJson = { ...FEED, batch: { size: 20, last: 'pad' } }
    const rowsFrom = (state?: State) =>
      using(padded, { workers: 1, state }, async loader => {
        const rows: string[][] = []
        const states: State[] = []
        for await (const batch of loader) {
          rows.push(numbersIn(batch))
          if ([1, 3].includes(batch.step)) await loader.setWeights({ a: 1, b: 5 * batch.step })
          states.push(loader.state())
        }
        return { rows, states }
      })
    const { rows, states } = await rowsFrom()
    expect(rows).toHaveLength(5)
    expect(rows[4].slice(16)).toEqual(rows[0].slice(0, 4))
    for (const after of [1, 3]) expect((await rowsFrom(states[after])).rows).toEqual(rows.slice(after + 1))
  })

  test('are the same for any workers and depth', async () => {
    const expected = await using(FEED, { workers: 0 }, loader => run(loader, CHANGES))
    for (const [workers, depth] of [
      [1, 1],
      [2, 8],
      [4, 3],
    ]) {
      expect(await using(FEED, { workers, depth }, loader => run(loader, CHANGES))).toEqual(expected)
    }
  })

  test('are part of the state: a resumed run is the uninterrupted one', async () => {
    const { ids, states } = await using(FEED, { workers: 2 }, loader => run(loader, CHANGES))
    for (const step of [2, 3, 5, 8, 11]) {
      const state = JSON.parse(JSON.stringify(states[step])) as State
      expect(JSON.stringify(state).length).toBeLessThan(1000)
      const rest = Object.fromEntries(
        Object.entries(CHANGES)
          .map(([at, weights]) => [Number(at) - step, weights] as const)
          .filter(([at]) => at > 0),
      )
      const resumed = await using(FEED, { workers: 1, state }, loader => run(loader, rest))
      expect(resumed.ids).toEqual(ids.slice(step))
      expect(resumed.states).toEqual(states.slice(step))
    }
  })

  test('do not make the state grow, and a run resumed anywhere is still the uninterrupted one', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `source ${i}`)
    const entries = names.map((name, i) => ({ source: numbers(30 + i), weight: 1 + (i % 3), name }))
    const feed = (size: number): FeedJson =>
      numberFeed(0, { source: { blend: { entries, epoch: 1000 } }, batch: { size, last: 'keep' } })
    /** Weights that look like those of a trainer which computes them, after each 20 draws. */
    const weights = (draws: number) => names.map((_, i) => 1 / (1 + ((i * 7 + draws) % 13)))
    /** From a state on, so many draws in steps of `size`, on `world` ranks: ids in order, and the state after. */
    const part = async (size: number, world: number, draws: number, state?: State) => {
      const ranks = await Promise.all(
        Array.from({ length: world }, (_, rank) =>
          using(feed(size), { workers: 1, rank, world, state }, async loader => {
            const ids: string[][] = []
            for await (const batch of loader) {
              ids.push(batch.ids)
              const handed = ids.length * size * world
              if (handed % 20 === 0) {
                await loader.setWeights(weights((state?.position ?? 0) + handed))
                expect(JSON.stringify(loader.state()).length).toBeLessThan(1024 + 24 * names.length)
              }
              if (handed === draws) break
            }
            return { ids, state: JSON.parse(JSON.stringify(loader.state())) as State }
          }),
        ),
      )
      const ids = ranks[0].ids.flatMap((_, step) => ranks.flatMap(rank => rank.ids[step]))
      for (const rank of ranks) expect(rank.state).toEqual(ranks[0].state)
      return { ids, state: ranks[0].state }
    }
    const whole = await part(20, 1, 1000)
    expect(whole.ids).toHaveLength(1000)
    const parts: string[] = []
    let state: State | undefined
    for (const [size, world, draws] of [
      [20, 1, 200],
      [5, 2, 100],
      [10, 2, 300],
      [4, 5, 400],
    ]) {
      const got = await part(size, world, draws, state)
      parts.push(...got.ids)
      state = got.state
    }
    expect(parts).toEqual(whole.ids)
  })

  test('of an old state, with all of its changes, are taken up', async () => {
    const { ids, states } = await using(FEED, { workers: 0 }, loader => run(loader, CHANGES))
    // As states were written when they kept every change there had been.
    const changes = [
      { at: 24, weights: [9, 1] },
      { at: 56, weights: [0, 1] },
    ]
    const old = { ...states[9], changes } as State
    const resumed = await using(FEED, { workers: 1, state: old }, loader => run(loader, { 3: CHANGES[12] }))
    expect(resumed.ids).toEqual(ids.slice(9))
    expect(resumed.states).toEqual(states.slice(9))
  })

  test('that are equal to the present ones are no change: nothing is made again', async () => {
    const expected = await using(FEED, { workers: 0 }, loader => run(loader, {}))
    const same = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [i + 1, { a: 1, b: 1 }]))
    const got = await using(FEED, { workers: 1 }, loader => run(loader, same))
    expect(got).toEqual(expected)
    expect(got.states[12]).not.toHaveProperty('changes')
  })

  test('that make no sense are refused, and leave everything as it was', async () => {
    const expected = await using(FEED, { workers: 0 }, loader => run(loader, {}))
    await using(FEED, { workers: 1 }, async loader => {
      await loader.ready
      await expect(loader.setWeights([0, 0])).rejects.toThrow(/finite sum above 0/)
      await expect(loader.setWeights({ a: -1 })).rejects.toThrow(/expected a number from 0/)
      expect(await run(loader, {})).toEqual(expected)
    })
  })

  test('of a loaded state replace those of the loader, and back', async () => {
    const { ids, states } = await using(FEED, { workers: 0 }, loader => run(loader, CHANGES))
    await using(FEED, { workers: 2 }, async loader => {
      await loader.ready
      const fresh = loader.state()
      const next = async (count: number) => {
        const out: string[][] = []
        for await (const batch of loader) {
          out.push(batch.ids)
          if (out.length === count) break
        }
        return out
      }
      expect(await next(3)).toEqual(ids.slice(0, 3))
      loader.load(states[7])
      expect(await next(5)).toEqual(ids.slice(7, 12))
      loader.load(fresh)
      expect(await next(3)).toEqual(ids.slice(0, 3))
    })
  })

  test('many times in a row, while makers are busy', async () => {
    const changes = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [i + 1, { a: 1 + (i % 4), b: 1 }]),
    )
    const expected = await using(FEED, { workers: 0 }, loader => run(loader, changes))
    for (let i = 0; i < 5; i++)
      expect((await using(FEED, { workers: 4, depth: 8 }, loader => run(loader, changes))).ids).toEqual(
        expected.ids,
      )
  })

  test('after a break the next epoch still comes next', async () => {
    await using(FEED, { workers: 1 }, async loader => {
      for await (const batch of loader) {
        if (batch.step !== STEPS - 1) continue
        await loader.setWeights({ a: 1, b: 5 })
        break
      }
      for await (const batch of loader) {
        expect(batch.epoch).toBe(1)
        await loader.setWeights([1, 1])
        if (batch.step === 2) break
      }
      await loader.setWeights([2, 1])
      for await (const batch of loader) expect(batch.epoch).toBe(2)
    })
  })

  test.each([0, 2])('may change while a batch is waited for (%i workers)', async workers => {
    await using(FEED, { workers, depth: 2, epochs: 10 }, async loader => {
      let over = false
      const changes = async (): Promise<void> => {
        for (let i = 0; !over; i++) {
          await loader.setWeights({ a: 1 + (i % 3), b: 1 })
          await new Promise(resolve => setTimeout(resolve, 1))
        }
      }
      const changing = changes()
      const positions: number[] = []
      for await (const batch of loader) positions.push(96 * batch.epoch + batch.position)
      over = true
      await changing
      expect(positions).toEqual(Array.from({ length: 10 * STEPS }, (_, i) => 8 * i))
    })
  })

  test.each([0, 2])('leave a state in place that is loaded meanwhile (%i workers)', async workers => {
    await using(FEED, { workers }, async loader => {
      for await (const batch of loader) if (batch.step === STEPS - 3) break
      const state = loader.state()
      const steps = async () => {
        let count = 0
        for await (const _ of loader) count++
        return count
      }
      for (let turns = 0; turns < 10; turns++) {
        const changing = loader.setWeights({ a: 2, b: 1 })
        for (let i = 0; i < turns; i++) await Promise.resolve()
        loader.load(state)
        await changing
        expect([await steps(), await steps()]).toEqual([2, STEPS])
        // The same for a loop that begins: it goes on from there, or is over the whole epoch, and the next goes on.
        for await (const _ of loader) break
        const loop = steps()
        for (let i = 0; i < turns; i++) await Promise.resolve()
        loader.load(state)
        const loops = [await loop, await steps()]
        expect([2, STEPS]).toContain(loops[0])
        expect(loops[0] + loops[1]).toBe(2 + STEPS)
        expect(loader.state()).toMatchObject({ epoch: loops[0] === 2 ? 2 : 1, position: 0 })
      }
    })
  })

  test('take no more memory, however often they change', async () => {
    await using(FEED, { workers: 1, depth: 2 }, async loader => {
      await loader.ready
      const { ring } = feedingOf(loader)
      const size = () => ring.memory.buffer.byteLength
      const before = size()
      // More makers than this feed was laid out for: the two others have their workspaces behind it.
      await using(numberFeed(64), { workers: 3 }, async other => {
        await other.ready
        for (let i = 0; i < 12; i++) {
          for await (const batch of loader) if (batch.step === 3) break
          await loader.setWeights({ a: 1 + (i % 3), b: 1 })
          await new Promise(resolve => setTimeout(resolve, 50))
        }
        expect(size() - before).toBeLessThanOrEqual(2 * WORKSPACE_BYTES)
      })
    })
  })

  test('leave the count of bytes that were read as it is', async () => {
    const folder = temporaryFolder()
    for (let i = 0; i < 8; i++) writeFileSync(join(folder, `${i}.txt`), 'x'.repeat(100))
    const source = { folder: { path: '.', extensions: ['.txt'] } }
    const entries = ['a', 'b'].map(name => ({ source, weight: 1, name }))
    const feed = {
      source: { blend: { entries, epoch: 16 } },
      fields: { text: { from: 'image', as: 'bytes', ragged: { max: 100 } } },
      batch: { size: 4 },
    } as unknown as FeedJson
    await using(feed, { workers: 0, root: folder }, async loader => {
      let before = 0
      for await (const { position } of loader) {
        const { bytesRead } = loader.stats()
        // Both sources have the same files: those that stand in a batch twice are read once.
        expect(bytesRead).toBeGreaterThanOrEqual(before + 200)
        before = bytesRead
        await loader.setWeights([2 + position, 1])
      }
    })
  })

  test('leave no files open', async () => {
    const folder = temporaryFolder()
    for (const name of ['a', 'b']) {
      mkdirSync(join(folder, name))
      for (let i = 0; i < 8; i++) writeFileSync(join(folder, name, `${i}.txt`), `${name}${i}`)
    }
    const source = (name: string) => ({
      source: { folder: { path: name, extensions: ['.txt'] } },
      weight: 1,
      name,
    })
    const feed: FeedJson = {
      source: { blend: { entries: [source('a'), source('b')], epoch: 16 } },
      fields: { text: { from: 'image', as: 'bytes', ragged: { max: 16 } } },
      batch: { size: 4 },
    } as unknown as FeedJson
    await using(feed, { workers: 0, root: folder }, async loader => {
      const open = () => readdirSync('/proc/self/fd').length
      const counts: number[] = []
      for (let i = 0; i < 10; i++) {
        for await (const _ of loader) {
        }
        await loader.setWeights({ a: 1 + (i % 3), b: 1 })
        counts.push(open())
      }
      // There are 16 files: more than that would be files of an order before.
      expect(counts.at(-1)! - counts[2]).toBeLessThanOrEqual(16)
    })
  })

  test('are refused where there is nothing to blend, or no such source', async () => {
    await using(numberFeed(8), { workers: 0 }, async loader => {
      await expect(loader.setWeights([1])).rejects.toThrow(/only a blend has weights/)
    })
    await using(FEED, { workers: 0 }, async loader => {
      await expect(loader.setWeights({ a: 1, c: 1 })).rejects.toThrow(/"?c"?/)
      await expect(loader.setWeights([1])).rejects.toThrow(/2/)
    })
  })
})
