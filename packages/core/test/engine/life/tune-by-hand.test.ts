/** Workers and depth that the program sets: they hold, whatever the tuner, other feeds and kept batches do. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  feedingOf,
  numberFeed,
  type OpenOptions,
  open,
} from '../../../../../test/support/engine.js'
import { until } from '../../../../../test/support/until.js'
import type { EngineTuner } from '../../../../observe/tune/engine-tuner.js'
import type { TunedRing } from '../../../deliver/ring-tuner.js'

vi.hoisted(() => {
  process.env.MILLRACE_BUILT = 'build'
})

const { EngineTuner: Tuner } = (await import(
  new URL('../../../../../build/observe/tune/engine-tuner.js', import.meta.url).href
)) as { EngineTuner: typeof EngineTuner }

const loaders: AnyLoader[] = []
afterEach(async () => {
  for (const loader of loaders.splice(0)) await loader.close()
})

function opened(options: OpenOptions): AnyLoader {
  const loader = open(numberFeed(4096), { epochs: null, ...options }) as AnyLoader
  loaders.push(loader)
  return loader
}

/** What the tuner may change of a loader, once it knows it. */
async function mayTune(loader: AnyLoader): Promise<TunedRing['may']> {
  const { runs } = Tuner.shared() as unknown as { runs: Map<number, { ring: TunedRing }> }
  const found = () => [...runs.values()].find(({ ring }) => ring.id === feedingOf(loader).id)?.ring.may
  await until(() => found() !== undefined)
  return found()!
}

describe('tune()', () => {
  test('right after opening is not forgotten by the tuner', async () => {
    const loader = opened({})
    await loader.ready
    await loader.tune({ workers: 1, depth: 2 })
    expect(await mayTune(loader)).toMatchObject({ workers: false, depth: false, claim: true })
  })

  test.each([
    [{ workers: 'auto' }, 'tune.workers'],
    [{ workers: Number.NaN }, 'tune.workers'],
    [{ workers: 0 }, 'tune.workers'],
    [{ workers: 1e5 }, 'tune.workers'],
    [{ depth: Number.NaN }, 'tune.depth'],
    [{ depth: 33 }, 'tune.depth'],
    [{ worker: 3 }, 'tune.worker'],
  ])('%j is refused, and changes nothing', async (change, named) => {
    const loader = opened({ workers: 1, depth: 3, tune: 'off' })
    await loader.ready
    await expect(loader.tune(change as object)).rejects.toThrow(named)
    expect(loader.stats()).toMatchObject({ workers: 1, depth: 3 })
  })

  test('of several depths in a row the last holds', async () => {
    const loader = opened({ workers: 1, tune: 'off' })
    await loader.ready
    await Promise.all([30, 1, 17, 2].map(depth => loader.tune({ depth })))
    expect(loader.stats().depth).toBe(2)
  })

  test('a depth is not lowered below the batches that are kept', async () => {
    const loader = opened({ workers: 1, depth: 8, tune: 'off' })
    const kept: AnyBatch[] = []
    for await (const batch of loader) {
      if (kept.length < 5) kept.push(batch.keep())
      if (kept.length === 5) await loader.tune({ depth: 1 })
      if (batch.positions[0] > 800) break
    }
    expect(loader.stats().depth).toBeGreaterThan(5)
    for (const batch of kept) batch.release()
  })
})

describe('workers that are given', () => {
  test('are those of a feed that is opened beside, and no tuner changes them', async () => {
    const first = opened({ workers: 1 })
    await first.ready
    const second = opened({})
    await second.ready
    expect([first, second].map(loader => loader.stats().workers)).toEqual([1, 1])
    await mayTune(second)
    expect(Tuner.shared().mayTuneWorkers()).toBe(false)
    await first.close()
    expect(Tuner.shared().mayTuneWorkers()).toBe(true)
  })
})
