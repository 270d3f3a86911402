/** Makers that die are replaced and their rows made again; samples that hang are named and end the run. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  digest,
  digests,
  engine,
  feedingOf,
  feedModule,
  loopIds,
  numberFeed,
  open,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { mapped } from '../../../../../test/support/maps.js'
import { programs } from '../../../../../test/support/program.js'
import { until } from '../../../../../test/support/until.js'
import type { Ring } from '../../../batch/ring.js'

const root = temporaryFolder()
let modules = 0

/** 48 samples whose label is their own number, and a function on it that does something bad to its thread. */
const deadly = (body: string, rest = '') =>
  feedModule(
    root,
    `deadly-${modules++}.feed.mjs`,
    `import { existsSync, writeFileSync } from 'node:fs'
    /** True the first time it is asked about a name. */
    const first = name => {
      const file = ${JSON.stringify(root)} + '/' + name
      if (existsSync(file)) return false
      writeFileSync(file, '')
      return true
    }
    const throwBeside = value => new Promise(resolve => {
      setTimeout(() => { throw new Error('stray') }, 0)
      setTimeout(() => resolve(value), 50)
    })
    export default feed({
      source: synthetic({ count: 48, images: { width: 8, height: 8, classes: 48 } }),
      order: shuffle({ seed: 4 }),
      fields: { image: image('jpg').randomCrop(4), label: int('cls').map(${body}) },
      batch: { size: 8, last: 'keep' }, ${rest}
    })`,
  )

/** A feed whose module ends every maker that loads it. */
const stillbornFeed = () =>
  feedModule(
    root,
    `stillborn-${modules++}.feed.mjs`,
    `import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) process.exit(7)
    export default feed({ source: synthetic({ count: 8, images: { width: 8, height: 8 } }),
      fields: { label: int('cls').map(value => value) }, batch: 8 })`,
  )

const run = (feed: Awaited<ReturnType<typeof deadly>>, workers: number) =>
  using(feed, { workers, timeout: 600 }, async loader => {
    const labels: number[] = []
    for await (const batch of loader) labels.push(...Array.from(batch.label as BigInt64Array, Number))
    return { labels, bad: loader.stats().bad }
  })

describe('a maker that dies', () => {
  test.each([1, 3])('once at a sample is replaced, and nothing shows (%i workers)', async workers => {
    const feed = await deadly(
      `value => { if (value % 7 === 3 && first('${workers}-' + value)) process.exit(3); return value }`,
    )
    const calm = await deadly('value => value')
    expect(await digests(feed, { workers, depth: 3 })).toEqual(await digests(calm, { workers: 0 }))
    expect(existsSync(join(root, `${workers}-3`))).toBe(true)
  })

  test('twice at a sample makes that sample bad', async () => {
    const feed = await deadly('value => { if (value === 20) process.exit(3); return value }')
    await expect(run(feed, 3)).rejects.toThrow(/sample 20: .*ended two worker threads/)
  })

  test('at many samples still ends well, with drop', async () => {
    // More than the pool would bear if it blamed itself.
    const feed = await deadly(
      'value => { if (value % 8 === 1) process.exit(3); return value }',
      "onError: 'drop'",
    )
    const { labels, bad } = await run(feed, 1)
    expect([...labels].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 48 }, (_, i) => i).filter(i => i % 8 !== 1),
    )
    expect(bad.count).toBe(6)
    expect(new Set(bad.samples.map(({ id }) => Number(id) % 8))).toEqual(new Set([1]))
  })

  test('while it closes a batch without its bad samples leaves the others where they belong', async () => {
    const feed = await deadly(
      "value => { if (value % 3 === 1) throw new Error('bad'); return value }",
      "onError: 'drop'",
    )
    const expected = await digests(feed, { workers: 0 })
    await using(feed, { workers: 0 }, async loader => {
      await loader.ready
      const feeding = feedingOf(loader) as unknown as { ring: Ring; alone: { ring: Ring } }
      const { ring } = feeding.alone
      const publish = ring.publish.bind(ring)
      let published = 0
      // The first to close a batch dies when all is done but saying so.
      ring.publish = slot => {
        if (published++ % 2 === 1) return publish(slot)
        feeding.ring.abandon(0)
      }
      const found: string[] = []
      for await (const batch of loader) found.push(digest(batch, ['image', 'label']))
      expect(found).toEqual(expected)
    })
  })

  test('again and again without a sample to blame ends the run with the cause', async () => {
    const feed = await stillbornFeed()
    await expect(using(feed, { workers: 2 }, loader => loopIds(loader))).rejects.toThrow(
      /worker threads keep dying: .*code 7/,
    )
  })

  test('so often that its run is ended leaves makers for those that come later', async () => {
    await using(numberFeed(40), { workers: 1 }, async other => {
      await other.ready
      const stillborn = using(await stillbornFeed(), { workers: 1 }, loader => loopIds(loader))
      await expect(stillborn).rejects.toThrow(/keep dying/)
      expect((await using(numberFeed(40), { workers: 1 }, loopIds)).flat()).toHaveLength(40)
    })
  })

  test('out of memory is replaced; the sample is named', async () => {
    const feed = await deadly(
      `value => { if (value === 20) { const all = []; for (;;) all.push(new Array(1e5).fill(value)) } return value }`,
      "onError: 'drop'",
    )
    expect(feed.json.fields.label.map).toBeDefined()
    const { code, stdout } = await programs(root).run(
      `import deadly from './deadly-${modules - 1}.feed.mjs'
      const loader = open(deadly, { workers: 1 })
      let count = 0
      for await (const batch of loader) count += batch.count
      console.log(JSON.stringify([count, loader.stats().bad.samples]))
      await loader.close()`,
      ['--max-old-space-size=60'],
    )
    expect(code).toBe(0)
    const [count, bad] = JSON.parse(stdout)
    expect(count).toBe(47)
    expect(bad).toEqual([
      expect.objectContaining({ id: '20', message: expect.stringMatching(/two worker threads/) }),
    ])
  })
})

describe('a sample that hangs', () => {
  const SPIN = 'value => { if (value === 20) for (;;); return value }'
  /** As SPIN, but for what it takes of the machine while the time runs out. */
  const BLOCK =
    'value => { if (value === 20) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return value }'
  const NEVER = 'value => value === 20 ? new Promise(() => {}) : value'
  /** Seconds. The other samples take microseconds: also a machine that has more to do makes them in time. */
  const LIMIT = 8

  test.each([
    ['spins', SPIN, 3],
    ['never resolves', NEVER, 1],
    ['never resolves', NEVER, 0],
  ])('%s: it is named and ends the run, whatever the policy', async (_, body, workers) => {
    const feed = await deadly(body, "onError: 'drop'")
    const loader = open(feed, { workers, timeout: LIMIT })
    const loop = async () => {
      for await (const _batch of loader);
    }
    const error: Error = await loop().then(
      () => new Error('it ended well'),
      e => e,
    )
    expect(error).toBeInstanceOf(engine.EngineError)
    expect(error.message).toMatch(/^sample 20 has taken \d+ s \(limit 8 s\): .*timeout/)
    await loader.close()
    expect(mapped('memfd:millrace ')).toBe(0)
  })

  test('after a break the next epoch does not wait for it in silence', async () => {
    const feed = await deadly(BLOCK)
    await using(feed, { workers: 3, timeout: LIMIT, depth: 8 }, async loader => {
      await loopIds(loader, 1)
      await expect(loopIds(loader)).rejects.toThrow(/sample 20 has taken/)
    })
  })

  test('does not stop another feed of the process, once its own is closed', async () => {
    const other = open(numberFeed(200), { workers: 1 })
    await other.ready
    const memory = mapped('memfd:millrace ')
    const stuck = open(await deadly(BLOCK), { workers: 1, timeout: LIMIT })
    await expect(loopIds(stuck as never)).rejects.toThrow(/sample 20/)
    await stuck.close()
    expect(mapped('memfd:millrace ')).toBe(memory)
    expect((await loopIds(other)).flat()).toHaveLength(200)
    await other.close()
  })

  test("nor do many of them, each in a feed that is closed: makers ended for that are nobody's fault", async () => {
    const other = open(numberFeed(200), { workers: 1 })
    const endless = await deadly('value => { for (;;); return value }')
    // More than the pool would bear if it blamed itself.
    for (let i = 0; i < 10; i++) {
      const stuck = open(endless, { workers: 1 })
      await stuck.ready
      const { ring } = feedingOf(stuck)
      await until(() => ring.held(0))
      await stuck.close()
    }
    expect((await loopIds(other)).flat()).toHaveLength(200)
    await other.close()
  })

  test('is not one that was being made while the process was stopped (Ctrl-Z)', async () => {
    // Its first sample says that it has begun, and lasts until it is told to end.
    const [begun, end] = [join(root, 'ctrl-z-begun'), join(root, 'ctrl-z-end')]
    await deadly(`value => {
      if (first('ctrl-z-begun')) while (!existsSync(${JSON.stringify(end)}));
      return value
    }`)
    const { child, ended } = programs(root).start(
      `import slow from './deadly-${modules - 1}.feed.mjs'
      const loader = open(slow, { workers: 1, timeout: ${LIMIT} })
      for await (const batch of loader) break
      await loader.close()
      console.log('well')`,
    )
    await until(() => existsSync(begun))
    child.kill('SIGSTOP')
    await new Promise(resolve => setTimeout(resolve, (LIMIT + 1) * 1000))
    writeFileSync(end, '')
    child.kill('SIGCONT')
    expect(await ended).toMatchObject({ code: 0, stdout: 'well\n' })
  })

  test('close() ends it, also before the time is over', async () => {
    const loader = open(await deadly(SPIN), { workers: 2 })
    const waiting = loopIds(loader as never).catch(error => error as Error)
    await new Promise(resolve => setTimeout(resolve, 300))
    await loader.close()
    expect(await waiting).toMatchObject({ message: expect.stringMatching(/closed/) })
  })
})

test('what a function prints is printed', async () => {
  await deadly("value => { console.log('label ' + value); return value }")
  const { stdout } = await programs(root).run(
    `import deadly from './deadly-${modules - 1}.feed.mjs'
    const loader = open(deadly, { workers: 2 })
    for await (const _ of loader);
    await loader.close()`,
  )
  // Rows of the next epoch that were made ahead are printed as well.
  expect(new Set(stdout.match(/label \d+/g)).size).toBe(48)
})
