/** Lifetime: of a batch, whose memory is lent, and of a loader, which owns threads and memory. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  type FeedJson,
  feedingOf,
  loopIds,
  numberFeed,
  numbersIn,
  open,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { mapped } from '../../../../../test/support/maps.js'
import { writeShards } from '../../../../../test/support/pictures.js'
import { until } from '../../../../../test/support/until.js'

vi.hoisted(() => {
  process.env.MILLRACE_BUILT = 'build'
})

/** As the engine that is built has it. */
const { Places } = (await import(
  new URL('../../../../../build/core/deliver/node/places.js', import.meta.url).href
)) as {
  Places: typeof import('../../../deliver/node/places.js').Places
}

const FEED = numberFeed(64, { batch: { size: 4, last: 'keep' } })
/** Arrays of a released batch: a loop over them ends with an error, not with NaN. */
function isGone(array: Uint8Array | Float32Array): void {
  for (const touch of [
    () => array.length,
    () => [...array],
    () => array.map(x => x),
    () => Array.from(array),
  ])
    expect(touch).toThrow(/has been released.*keep\(\)/)
  expect(array).toBeInstanceOf(Object)
}

const values = (batch: AnyBatch) => (batch.number as { values: Uint8Array }).values

describe.each([0, 2])('a batch, with %i workers', workers => {
  test('lives until the next one is asked for', async () => {
    await using(FEED, { workers }, async loader => {
      let last: AnyBatch | undefined
      let array: Uint8Array | undefined
      for await (const batch of loader) {
        if (last) {
          isGone(array!)
          expect(() => last?.ids).toThrow(/has been released.*keep\(\)/)
          expect(() => last?.number).toThrow(/released/)
          expect(() => last?.positions).toThrow(/released/)
          expect(() => last?.valid).toThrow(/released/)
          expect(() => last?.shape('number')).toThrow(/released/)
          expect(() => last?.keep()).toThrow(/released/)
        }
        last = batch
        array = values(batch)
        expect(array).toHaveLength(16)
      }
      isGone(array!)
    })
  })

  test('lives until release() after keep(), and its bytes stay', async () => {
    await using(FEED, { workers, depth: 4 }, async loader => {
      const kept: { batch: AnyBatch; ids: string[] }[] = []
      for await (const batch of loader) {
        if (batch.step % 3 === 0) kept.push({ batch: batch.keep(), ids: batch.ids })
        if (kept.length < 3) continue
        for (const { batch: old, ids } of kept) {
          expect(numbersIn(old)).toEqual(ids)
          expect(old.ids).toEqual(ids)
        }
        const array = values(kept[0].batch)
        kept.shift()!.batch.release()
        isGone(array)
      }
      // Also beyond the end of an epoch, a break and a move.
      const ids = kept.map(({ batch }) => numbersIn(batch))
      await loopIds(loader, 2)
      await loopIds(loader)
      expect(kept.map(({ batch }) => numbersIn(batch))).toEqual(ids)
      for (const { batch } of kept) batch.release()
      expect(await loopIds(loader)).toHaveLength(16)
    })
  })

  describe('of more than 64 MiB', () => {
    const side = 1024
    const large: FeedJson = {
      source: { synthetic: { count: 17 * 8, tensors: { shape: [side, side], dtype: 'f32' } } },
      fields: { data: { from: 'data', as: 'npy', dtype: 'f32', shape: [side, side] } },
      batch: { size: 17, last: 'keep' },
    }
    // The last row is the last to be made.
    const lastRow = (batch: AnyBatch) => (batch.data as Float32Array).subarray(16 * side * side)

    test('shows zeros when it is released, never another batch, and V8 makes no buffer for it', async ({
      skip,
    }) => {
      const of = vi.spyOn(Places, 'of')
      onTestFinished(() => of.mockRestore())
      await using(large, { workers, depth: 4 }, async loader => {
        await loader.ready
        skip(of.mock.results[0].value === undefined, 'this system moves no pages')
        const seen: { array: Float32Array; was: number }[] = []
        for await (const batch of loader) {
          for (const { array: old } of seen) expect(old[12_345]).toBe(0)
          const array = lastRow(batch)
          seen.push({ array, was: array[12_345] })
          expect(lastRow(batch).byteOffset).toBe(array.byteOffset)
        }
        expect(seen).toHaveLength(8)
        expect(new Set(seen.map(({ was }) => was)).size).toBe(8)
        expect(new Set(seen.map(({ array }) => array.buffer)).size).toBe(1)
        expect([loader.stats().depth, feedingOf(loader).depth]).toEqual([4, 4])
        await loader.close()
        for (const { array } of seen) expect(array).toHaveLength(0)
      })
    })

    test('where pages cannot be moved, shows what it was until its arrays are taken back', async () => {
      const of = vi.spyOn(Places, 'of').mockReturnValue(undefined)
      onTestFinished(() => of.mockRestore())
      await using(large, { workers, depth: 4 }, async loader => {
        const seen: { array: Float32Array; was: number }[] = []
        let detached = 0
        for await (const batch of loader) {
          const array = lastRow(batch)
          for (const { array: old, was } of seen) expect([undefined, was]).toContain(old[12_345])
          detached = seen.filter(({ array: old }) => old.length === 0).length
          // Two go together: of the batches before this one, one at most is yet to go.
          expect(detached).toBeGreaterThanOrEqual(seen.length - 1)
          seen.push({ array, was: array[12_345] })
        }
        expect(seen).toHaveLength(8)
        expect(loader.stats().depth).toBe(4)
        expect(detached).toBeGreaterThan(0)
      })
    })
  })

  test('may be released early, and twice', async () => {
    await using(FEED, { workers, depth: 1 }, async loader => {
      let count = 0
      for await (const batch of loader) {
        batch.release()
        batch.release()
        count++
      }
      expect(count).toBe(16)
    })
  })

  test('with all slots kept the next one is refused, and comes after a release', async () => {
    await using(FEED, { workers, depth: 3 }, async loader => {
      const iterator = loader[Symbol.asyncIterator]()
      const kept: AnyBatch[] = []
      for (let i = 0; i < 3; i++) kept.push((await iterator.next()).value!.keep())
      await expect(iterator.next()).rejects.toThrow(/all 3 slots are kept: release\(\) a batch.*depth/)
      kept[1].release()
      const place = loader.state()
      expect(place.position).toBe(12)
      loader.load(place)
      for await (const batch of loader) {
        expect(batch.position).toBe(12)
        break
      }
      expect(numbersIn(kept[0])).toEqual(kept[0].ids)
    })
  })

  test('is gone with its loader, kept or not', async () => {
    const loader = open(FEED, { workers })
    const iterator = loader[Symbol.asyncIterator]()
    const kept = ((await iterator.next()).value as AnyBatch).keep()
    const current = (await iterator.next()).value as AnyBatch
    const array = values(kept)
    await loader.close()
    expect(array).toHaveLength(0)
    expect(() => kept.ids).toThrow(/closed|released/)
    expect(() => current.number).toThrow(/closed|released/)
    kept.release()
    await expect(iterator.next()).rejects.toThrow(/closed/)
  })
})

describe('a loader', () => {
  test('closes once, in any state, and then says so', async () => {
    for (const workers of [0, 2]) {
      const atOnce = open(FEED, { workers })
      await atOnce.close()
      await atOnce.close()
      expect(() => atOnce.state()).toThrow(/closed/)
      await expect(loopIds(atOnce as AnyLoader)).rejects.toThrow(/closed/)
      const later = open(FEED, { workers })
      await later.ready
      await Promise.all([later.close(), later.close()])
      await expect(later.tune({ depth: 2 })).rejects.toThrow(/closed/)
    }
  })

  test('disposes of itself', async () => {
    const loader = open(FEED, { workers: 1 })
    await loader.ready
    await loader[Symbol.asyncDispose]()
    expect(() => loader.state()).toThrow(/closed/)
  })

  test('says that it is not open yet', async () => {
    const loader = open(FEED, { workers: 1 })
    expect(() => loader.state()).toThrow(/not open yet: await loader.ready/)
    expect(() => loader.stats()).toThrow(/not open yet/)
    await loader.close()
  })

  test('is moved while it is paused, also by two who do not wait for each other', async () => {
    await using(numberFeed(64), { workers: 1, depth: 2 }, async loader => {
      await loader.ready
      const feeding = feedingOf(loader)
      const { ring } = feeding
      const paused: boolean[] = []
      const reset = ring.reset.bind(ring)
      ring.reset = (...words) => {
        paused.push(ring.paused)
        reset(...words)
      }
      const busy = 200 // a maker that takes its time
      while (!ring.next(busy)) await feeding.move({ epoch: 0, position: 0, limit: 9 })
      paused.length = 0
      const moves = [1, 2].map(epoch => feeding.move({ epoch, position: 0, limit: 9 }))
      setTimeout(() => ring.drop(busy), 20)
      await Promise.all(moves)
      expect(paused).toEqual([true, true])
    })
  })

  test('that is moved twice, as by a client that was interrupted, stands where the second move says', async () => {
    await using(numberFeed(64), { workers: 1, depth: 2 }, async loader => {
      await loader.ready
      const feeding = feedingOf(loader)
      const { ring } = feeding
      const busy = 200 // a maker that takes its time
      while (!ring.next(busy)) await feeding.move({ epoch: 0, position: 0, limit: 9 })
      const first = feeding.move({ epoch: 1, position: 0, limit: 9 })
      await until(() => ring.paused)
      ring.drop(busy)
      while (ring.busy); // the worker as well; the first move, which waits for a timer, does not see that yet
      await feeding.move({ epoch: 2, position: 0, limit: 9 })
      await first
      expect(ring.startAt.epoch).toBe(2)
    })
  })

  test('that is closed while somebody waits ends the waiting', async () => {
    const loader = open(numberFeed(4, { batch: { size: 4, last: 'keep' } }), {
      workers: 1,
      depth: 1,
      epochs: null,
    })
    const iterator = loader[Symbol.asyncIterator]()
    await iterator.next()
    await loader.tune({ workers: 1 })
    const waiting = iterator.next().then(
      () => iterator.next().then(() => iterator.next()),
      error => error,
    )
    await loader.close()
    await expect(
      waiting.then(value => (value instanceof Error ? Promise.reject(value) : value)),
    ).rejects.toThrow(/closed/)
  })

  test.each([0, 1])(
    'that is closed while its depth is raised takes that memory first (%i workers)',
    async workers => {
      // Elsewhere its descriptor would be another file's by then.
      for (let i = 0; i < 5; i++) {
        const loader = open(FEED, { workers, depth: 1 })
        await loader.ready
        const tuned = loader.tune({ depth: 8 })
        await Promise.resolve()
        await loader.close()
        await tuned
      }
    },
  )

  test('shares its makers with others: train and val at once', async () => {
    const val = numberFeed(30, { order: 'none', batch: { size: 7, last: 'keep' } })
    const [expected, expectedVal] = await Promise.all(
      [FEED, val].map(json => using(json, { workers: 0 }, loader => loopIds(loader))),
    )
    await using(FEED, { workers: 2 }, async train => {
      await using(val, { workers: 1 }, async valid => {
        for (let epoch = 0; epoch < 3; epoch++) {
          const [one, two] = await Promise.all([loopIds(train), loopIds(valid)])
          if (epoch === 0) expect(one).toEqual(expected)
          expect(two).toEqual(expectedVal)
        }
        expect(train.stats().workers).toBe(2)
        expect(valid.stats().workers).toBe(2)
      })
      expect((await loopIds(train)).flat()).toHaveLength(64)
    })
  })

  test.runIf(process.platform === 'linux')(
    'gives its memory back with its end, though others go on',
    async () => {
      const folder = temporaryFolder()
      writeShards(folder, 24, 3)
      const shards: FeedJson = {
        source: { tar: `${folder}/*.tar` },
        fields: { label: { from: 'cls', as: 'int' } },
        batch: 4,
      }
      await using(FEED, { workers: 2 }, async train => {
        await loopIds(train, 3)
        const alone = mapped('memfd:millrace ')
        for (let i = 0; i < 4; i++) {
          await using(shards, { workers: 2 }, async other => {
            await loopIds(other)
            expect(mapped('memfd:millrace ')).toBeGreaterThan(alone)
          })
          expect(mapped('memfd:millrace ')).toBe(alone)
          // An index is mapped once, whoever looks at it, and however often.
          expect(mapped(folder)).toBe(3)
        }
        expect(await loopIds(train)).toHaveLength(16)
      })
    },
  )
})
