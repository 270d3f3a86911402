/** Epochs: one `for` is one epoch, and the state always tells what was handed out. */
import { describe, expect, test } from 'vitest'
import { loopIds, numberFeed, type State, using } from '../../../../../test/support/engine.js'

const FEED = numberFeed(50, { batch: { size: 8, last: 'keep' } })
const STEPS = 7

/** The ids of the first epochs, by one loop each. */
const epochs = (n: number) =>
  using(FEED, { workers: 0 }, async loader => {
    const out: string[][][] = []
    for (let i = 0; i < n; i++) out.push(await loopIds(loader))
    return out
  })

const place = ({ epoch, position }: State) => [epoch, position]

describe.each([0, 2])('with %i workers', workers => {
  test('the next `for` is the next epoch, shuffled anew', async () => {
    const all = await using(FEED, { workers }, async loader => {
      const out: string[][][] = []
      for (let i = 0; i < 3; i++) {
        for await (const batch of loader) {
          if (batch.step === 0) out.push([])
          expect(batch.epoch).toBe(i)
          out[i].push(batch.ids)
        }
        expect(place(loader.state())).toEqual([i + 1, 0])
      }
      return out
    })
    expect(all).toEqual(await epochs(3))
    const [first, second] = all.map(epoch => epoch.flat())
    expect(first).not.toEqual(second)
    expect([...first].sort()).toEqual([...second].sort())
  })

  test('after a break the next `for` begins the next epoch', async () => {
    const [, second, third] = await epochs(3)
    await using(FEED, { workers }, async loader => {
      await loopIds(loader, 3)
      expect(place(loader.state())).toEqual([0, 24])
      expect(await loopIds(loader, STEPS)).toEqual(second)
      expect(await loopIds(loader)).toEqual(third)
    })
  })

  test('but for the first look at one batch: that is not counted', async () => {
    const [first, second, third] = await epochs(3)
    const said: string[] = []
    await using(FEED, { workers, notice: text => said.push(text) }, async loader => {
      loader[Symbol.asyncIterator]() // nothing was taken
      await loopIds(loader, 1)
      expect(loader.loopSteps).toBe(STEPS)
      expect(await loopIds(loader)).toEqual(first)
      expect(said).toEqual([])
      expect(await loopIds(loader, 1)).toEqual(second.slice(0, 1))
      expect(await loopIds(loader, 3)).toEqual(third.slice(0, 3))
      await loopIds(loader)
    })
    // Said once.
    expect(said).toEqual([expect.stringMatching(/left at position 8 of epoch 1.*begins with epoch 2\./)])
  })

  test('a second look counts; a look from a state is taken again from there', async () => {
    const [first, second] = await epochs(2)
    const state = await using(FEED, { workers }, async loader => {
      for (const ids of [first, first, second]) expect(await loopIds(loader, 1)).toEqual(ids.slice(0, 1))
      return loader.state()
    })
    await using(FEED, { workers, state }, async loader => {
      expect(await loopIds(loader, 1)).toEqual(second.slice(1, 2))
      expect(await loopIds(loader)).toEqual(second.slice(1))
    })
  })

  test('a second iterator ends the first', async () => {
    const [first, second] = await epochs(2)
    await using(FEED, { workers }, async loader => {
      const one = loader[Symbol.asyncIterator]()
      expect((await one.next()).value?.ids).toEqual(first[0])
      const two = loader[Symbol.asyncIterator]()
      await expect(one.next()).rejects.toThrow('another loop over this loader has begun')
      expect((await two.next()).value?.ids).toEqual(first[0])
      expect((await two.next()).value?.ids).toEqual(first[1])
      const waiting = two.next()
      const three = loader[Symbol.asyncIterator]()
      await expect(waiting).rejects.toThrow('another loop over this loader has begun')
      expect((await three.next()).value?.ids).toEqual(second[0])
      await three.return()
    })
  })

  test('an error in the body of the loop counts as a break', async () => {
    const [, second] = await epochs(2)
    await using(FEED, { workers }, async loader => {
      const body = async () => {
        for await (const batch of loader) if (batch.step === 2) throw new Error('mine')
      }
      await expect(body()).rejects.toThrow('mine')
      expect(await loopIds(loader)).toEqual(second)
    })
  })

  test('after load(state) it goes on from there', async () => {
    const [first, second] = await epochs(2)
    await using(FEED, { workers }, async loader => {
      await loader.ready
      const states = [loader.state()]
      for await (const _ of loader) states.push(loader.state())
      expect(states.map(place)).toEqual([...Array.from({ length: STEPS }, (_, i) => [0, i * 8]), [1, 0]])
      for (const step of [2, 5, 0, STEPS - 1]) {
        loader.load(states[step])
        expect(loader.state()).toEqual(states[step])
        const here: number[] = []
        const ids: string[][] = []
        for await (const batch of loader) {
          here.push(batch.step)
          ids.push(batch.ids)
        }
        expect(ids).toEqual(first.slice(step))
        expect(here).toEqual(first.map((_, i) => i).slice(step))
      }
      expect(await loopIds(loader)).toEqual(second)
    })
  })

  test('a state loaded inside a loop goes before the break', async () => {
    const [first] = await epochs(1)
    await using(FEED, { workers }, async loader => {
      let saved!: State
      for await (const batch of loader) {
        if (batch.step === 1) saved = loader.state()
        if (batch.step === 4) {
          loader.load(saved)
          break
        }
      }
      expect(place(loader.state())).toEqual([0, 16])
      expect(await loopIds(loader)).toEqual(first.slice(2))
    })
  })

  test('the state counts what was handed out, not what was made ahead', async () => {
    await using(FEED, { workers, depth: 8 }, async loader => {
      await loader.ready
      expect(place(loader.state())).toEqual([0, 0])
      await new Promise(resolve => setTimeout(resolve, 50)) // time to make ahead
      expect(place(loader.state())).toEqual([0, 0])
      for await (const batch of loader) {
        expect(place(loader.state())).toEqual(batch.step === STEPS - 1 ? [1, 0] : [0, 8 * (batch.step + 1)])
      }
    })
  })

  test('epochs: n makes one loop of n epochs', async () => {
    const expected = (await epochs(3)).flat()
    await using(FEED, { workers, epochs: 3 }, async loader => {
      await loader.ready
      expect(loader.loopSteps).toBe(3 * STEPS)
      expect(await loopIds(loader)).toEqual(expected)
      expect(place(loader.state())).toEqual([3, 0])
    })
  })

  test('epochs: null never ends', async () => {
    const expected = (await epochs(4)).flat()
    await using(FEED, { workers, epochs: null }, async loader => {
      expect(await loopIds(loader, 3 * STEPS + 2)).toEqual(expected.slice(0, 3 * STEPS + 2))
    })
  })

  test('steps: n ends a loop, over the end of an epoch if need be, and the next goes on', async () => {
    const expected = (await epochs(4)).flat()
    await using(FEED, { workers, steps: 9 }, async loader => {
      expect(await loopIds(loader)).toEqual(expected.slice(0, 9))
      expect(place(loader.state())).toEqual([1, 16])
      expect(await loopIds(loader)).toEqual(expected.slice(9, 18))
    })
    await using(FEED, { workers, steps: 9, epochs: 1 }, async loader => {
      expect(await loopIds(loader)).toEqual(expected.slice(0, STEPS))
    })
    await using(FEED, { workers, steps: 0 }, async loader => expect(await loopIds(loader)).toEqual([]))
  })
})

test('a state from which no step is left is the next epoch: in the state and in the number of epochs', async () => {
  const feed = (size: number) => numberFeed(133, { batch: { size, last: 'drop' } })
  const saved = await using(feed(16), { workers: 0 }, async loader => {
    await loopIds(loader, 7)
    return loader.state()
  })
  expect(place(saved)).toEqual([0, 112])
  for (const [size, world] of [
    [32, 1],
    [16, 2],
    [4, 6],
  ]) {
    const steps = Math.floor(133 / (size * world))
    const options = { workers: 0, world, rank: world - 1 }
    const [, second, third] = await using(feed(size), { ...options, epochs: 3 }, async loader => {
      const all = await loopIds(loader)
      return [0, 1, 2].map(epoch => all.slice(epoch * steps, (epoch + 1) * steps))
    })
    await using(feed(size), { ...options, state: saved }, async loader => {
      await loader.ready
      expect(place(loader.state())).toEqual([1, 0])
      expect(loader.loopSteps).toBe(steps)
      expect(await loopIds(loader)).toEqual(second)
      expect(place(loader.state())).toEqual([2, 0])
      loader.load(saved)
      expect(place(loader.state())).toEqual([1, 0])
      expect(await loopIds(loader)).toEqual(second)
    })
    // Two epochs are two epochs: the tail that is dropped is none.
    await using(feed(size), { ...options, state: saved, epochs: 2 }, async loader => {
      expect(await loopIds(loader)).toEqual([...second, ...third])
    })
  }
})

test('a state inside the tail that drop drops goes on with the next epoch', async () => {
  const saved = await using(FEED, { workers: 0 }, async loader => {
    await loopIds(loader, 6)
    return loader.state()
  })
  expect(place(saved)).toEqual([0, 48])
  const dropping = { ...FEED, batch: { size: 8, last: 'drop' as const } }
  await using(dropping, { workers: 2, state: saved }, async loader => {
    const [, second] = await epochs(2)
    expect(await loopIds(loader)).toEqual(second.slice(0, 6))
    expect(place(loader.state())).toEqual([2, 0])
  })
})
