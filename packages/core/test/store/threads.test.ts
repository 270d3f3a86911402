/** The block cache between real threads: loaded once, right under pressure, sound after a death. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { BlockCache, type BlockCacheData, createBlockCache } from '../../store/block-cache.js'
import { BlockTable } from '../../store/block-table.js'
import { SharedLock } from '../../system/memory/shared-lock.js'
import { use } from './use.js'

// Threads start without the test runner's TypeScript: they get what is built.
const module = new URL('../../../../build/core/store/block-cache.js', import.meta.url).href

interface Scene {
  data: BlockCacheData
  units: number
  loads: Int32Array
  flags: Int32Array
}

function scene(bytes: number, makers: number, units: number, blocks?: number): Scene {
  const words = (length: number) => new Int32Array(new SharedArrayBuffer(4 * length))
  return { data: createBlockCache({ bytes, makers, blocks }), units, loads: words(units), flags: words(2) }
}

function start(scene: Scene, maker: number, rounds: number, mode = 'use', seed = maker + 1): Worker {
  const workerData = { module, ...scene, maker, rounds, mode, seed }
  return new Worker(new URL('./fixtures/cache-user.mjs', import.meta.url), { workerData })
}

function served(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('message', message => resolve(message.served))
    worker.once('error', reject)
  })
}

const run = (scene: Scene, makers: number, rounds: number, mode?: string) =>
  Promise.all(Array.from({ length: makers }, (_, maker) => served(start(scene, maker, rounds, mode))))

describe('threads', () => {
  it('load each unit exactly once where the budget suffices', async () => {
    const play = scene(4 << 20, 6, 200, 256)
    const rounds = 600
    expect(await run(play, 6, rounds)).toEqual(Array(6).fill(2 * rounds))
    const stats = new BlockCache(play.data).stats()
    expect([...play.loads].every(loads => loads === 1)).toBe(true)
    expect(stats).toMatchObject({ loads: 200, evictions: 0, refusals: 0, units: 200 })
    expect(stats.hits + stats.waits).toBe(6 * 2 * rounds - 200)
  })

  it('see right bytes while units come and go', async () => {
    const play = scene(160 << 10, 6, 200, 24)
    await run(play, 6, 700)
    const stats = new BlockCache(play.data).stats()
    expect(stats.evictions).toBeGreaterThan(100)
    expect(stats.loads).toBe(play.loads.reduce((sum, loads) => sum + loads, 0))
    expect(stats.loads - stats.evictions).toBe(stats.units)
  })

  it('go on after loads that fail', async () => {
    const play = scene(160 << 10, 4, 60)
    await run(play, 4, 600, 'fail')
    const stats = new BlockCache(play.data).stats()
    expect(stats.loads - stats.evictions).toBe(stats.units)
    expect(play.loads.reduce((sum, loads) => sum + loads, 0)).toBeGreaterThan(stats.loads)
  })

  it('take over what a dead thread was loading', async () => {
    const play = scene(1 << 20, 3, 20, 32)
    const victim = start(play, 0, 1, 'die')
    const end = new Promise(resolve => victim.once('exit', resolve))
    while (Atomics.load(play.flags, 0) === 0) await sleep(5)
    const others = [served(start(play, 1, 300)), served(start(play, 2, 300))]
    const cache = new BlockCache(play.data)
    while (cache.stats().waits === 0) await sleep(5) // a thread wants the unit that never comes
    Atomics.store(play.flags, 1, 1)
    Atomics.notify(play.flags, 1)
    expect(await end).toBe(9)
    await cache.forget(0)
    expect(await Promise.all(others)).toEqual([600, 600])
    expect([...play.loads]).toEqual([1, 2, ...Array(18).fill(1)])
    expect(leasedBlocks(play.data)).toBe(0)
  })

  it('survive threads that are ended anywhere', async () => {
    const play = scene(160 << 10, 3, 200, 24)
    const cache = new BlockCache(play.data)
    const witness = served(start(play, 2, 2000))
    for (let death = 0; death < 12; death++) {
      const maker = death % 2
      const victim = start(play, maker, 1e9, 'use', death + 10)
      const before = cache.stats().loads
      while (cache.stats().loads < before + 5) await sleep(1)
      await sleep(death % 4)
      await victim.terminate()
      await cache.forget(maker)
      expect(leasedBlocks(play.data, maker)).toBe(0)
    }
    expect(await witness).toBeGreaterThan(0)
    expect(leasedBlocks(play.data)).toBe(0)
    use(cache, 0, { bytes: 10, now: 0, nextUse: () => 0, load: into => [into] })!.release()
  })

  it('get a lock back whose holder died in the middle of a change', async () => {
    const play = scene(1 << 20, 3, 20, 32)
    expect(await run(play, 3, 100)).toEqual([200, 200, 200])
    const table = new BlockTable(play.data.books, play.data.blocks, 4, play.data.memory.byteLength / 4096)
    const stats = new BlockCache(play.data).stats()
    // Maker 1 died with the lock and left everything that is derived in disorder. Maker 0 died besides.
    new SharedLock(table.words, table.lockAt, 1).acquire()
    table.words.set([0, 0], 1)
    const derived = table as unknown as Record<'order' | 'heads' | 'chain', Int32Array>
    for (const column of [derived.order, derived.heads, derived.chain]) column.fill(3)
    const waiting = served(start(play, 2, 300))
    const cache = new BlockCache(play.data)
    const first = cache.forget(0)
    await cache.forget(1)
    await first
    expect(await waiting).toBe(600)
    expect(cache.stats()).toMatchObject({ units: stats.units, bytes: stats.bytes, loads: 20 })
  })
})

function leasedBlocks({ books, blocks, makers, memory }: BlockCacheData, maker?: number): number {
  const table = new BlockTable(books, blocks, makers + 1, memory.byteLength / 4096)
  const leased = (block: number) => (maker === undefined ? table.leased(block) : table.leasedBy(block, maker))
  return [...table.state.keys()].filter(block => table.state[block] !== 0 && leased(block)).length
}
