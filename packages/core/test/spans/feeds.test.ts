/** The spans of a feed: its own alone, of every thread that works for it. */
import { describe, expect, test, vi } from 'vitest'
import {
  type AnyLoader,
  feedingOf,
  feedModule,
  numberFeed,
  open,
  using,
} from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { until } from '../../../../test/support/until.js'
import { CallingThread } from '../../engine/ring/calling-thread.js'
import { attachSpans } from '../../spans/attach.js'
import type { SpanReader } from '../../spans/reader.js'

const COUNT = 96
const PICTURES = {
  source: { synthetic: { count: COUNT, images: { width: 64, height: 48 } } },
  fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [16, 16] }] } },
  batch: { size: 8, last: 'keep' },
} as const
const NUMBERS = numberFeed(COUNT, { batch: { size: 8, last: 'keep' } })

const loop = async (loader: AnyLoader) => {
  for await (const _ of loader);
}
const rows = (loader: AnyLoader, kind: string) =>
  loader.spans().records.reduce((sum, record) => sum + (record.kind === kind ? record.rows : 0), 0)

const root = temporaryFolder()

/** A feed's ring, as the table names it. */
const ringOf = (feeding: ReturnType<typeof feedingOf>) => {
  const { reader } = (feeding as unknown as { spans: { reader: { rings(): { ring: number }[] } } }).spans
  return reader.rings().find(({ ring }) => ring === feeding.id)
}

/** Workers join small spans for some milliseconds before they write them. */
const written = (loader: AnyLoader) => until(() => rows(loader, 'transform') >= COUNT)

describe.each([0, 2])('two feeds in one engine, with %i workers', workers => {
  test('never see each other’s spans', async () => {
    const options = { workers, epochs: 1 }
    await using(PICTURES as never, options, async pictures => {
      await using(NUMBERS, options, async numbers => {
        await Promise.all([loop(pictures), loop(numbers)])
        if (workers > 0) for (const loader of [pictures, numbers]) await written(loader)
        for (const loader of [pictures, numbers]) {
          const { records, lost } = loader.spans()
          expect(lost).toBe(0)
          expect(new Set(records.map(({ ring }) => ring))).toEqual(new Set([feedingOf(loader).id]))
          // One loop of its own: of each batch, the hand-over and the step.
          const consumers = records.filter(({ lane }) => lane.kind === 'consumer')
          expect(new Set(consumers.map(({ lane }) => lane.name)).size).toBe(1)
          for (const kind of ['hand', 'step'])
            expect(consumers.reduce((sum, one) => sum + (one.kind === kind ? one.joined : 0), 0)).toBe(12)
        }
        expect(pictures.stats().spans.decode).toBeGreaterThan(0)
        expect(numbers.stats().spans).not.toHaveProperty('decode')
        expect(Object.keys(numbers.stats().spans)).toContain('transform')
        if (workers > 0)
          for (const loader of [pictures, numbers]) expect(rows(loader, 'transform')).toBe(COUNT)
      })
    })
  })
})

test('feeds whose functions take turns in the calling thread book their own time', async () => {
  const folder = temporaryFolder()
  const wait = 'await new Promise(resolve => setTimeout(resolve, 1)); return'
  const pictures = await feedModule(
    folder,
    'pictures.mjs',
    `export default feed({
      ...${JSON.stringify(PICTURES)},
      map: async sample => { ${wait} sample },
    })`,
  )
  const numbers = await feedModule(
    folder,
    'numbers.mjs',
    `export default feed({ ...${JSON.stringify(NUMBERS)}, map: async sample => { ${wait} sample } })`,
  )
  await using(pictures, { workers: 0 }, one =>
    using(numbers, { workers: 0 }, async other => {
      await Promise.all([loop(one), loop(other)])
      expect(one.stats().spans.decode).toBeGreaterThan(0)
      expect(other.stats().spans).not.toHaveProperty('decode')
    }),
  )
})

test('CPU time of taking up a feed is none of making batches', async () => {
  const spinning = await feedModule(
    root,
    'spins-when-loaded.feed.mjs',
    `for (const until = process.cpuUsage().user + 400_000; process.cpuUsage().user < until; );
    export default feed({
      source: synthetic({ count: 64, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(value => value) },
      batch: 4,
    })`,
  )
  await using(spinning, { workers: 1 }, async loader => {
    for await (const _ of loader);
    const { id } = feedingOf(loader)
    const spans = attachSpans(process.pid)
    const [counters] = spans.counters(id).filter(({ lane }) => lane.kind === 'worker')
    spans.close()
    expect(counters.cpu).toBeLessThan(200)
  })
})

test.runIf(process.platform === 'linux')(
  'without workers, CPU time of steps is none of making batches',
  async () => {
    const sleeping = await feedModule(
      root,
      'sleeps.feed.mjs',
      `const word = new Int32Array(new SharedArrayBuffer(4))
    const sleep = value => (Atomics.wait(word, 0, 0, 4), value)
    export default feed({
      source: synthetic({ count: 32, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(sleep) },
      batch: 4,
    })`,
    )
    await using(sleeping, { workers: 0 }, async loader => {
      for await (const _ of loader) for (const until = performance.now() + 20; performance.now() < until; );
      const { running, blocked } = loader.stats().account.parts
      expect(blocked).toBeGreaterThan(running)
    })
  },
)

test('without workers, CPU time of batches before a long step is kept', async () => {
  const called: string[] = []
  const lane = { resume: () => called.push('resume'), pause: () => called.push('pause') }
  const ring = { ready: () => 0 }
  const thread: CallingThread = Object.assign(Object.create(CallingThread.prototype), {
    lane,
    ring,
    made: 0,
    paused: true,
  })
  const clock = vi.spyOn(performance, 'now')
  const made = async (...times: number[]) => {
    called.length = 0
    for (const now of times) {
      clock.mockReturnValue(now)
      await thread.make(0, async () => {})
    }
    return called
  }
  try {
    // Long steps: what passes between two batches is the trainer's.
    expect(await made(100, 110)).toEqual(['resume', 'pause', 'resume', 'pause'])
    // Short ones: nothing is looked up. The long step after them must not take their work along.
    expect(await made(110.5, 111, 120)).toEqual(['pause'])
    expect(await made(130)).toEqual(['resume', 'pause'])
  } finally {
    clock.mockRestore()
  }
})

test('workers that wait for a slot, and workers without work, say so', async () => {
  await using(NUMBERS, { workers: 2, depth: 2 }, async loader => {
    for await (const _ of loader) {
      // Both slots are soon filled: while the loop stands still here, workers wait for one.
      const waits = () =>
        loader.spans().records.some(({ kind, lane }) => kind === 'wait' && lane.kind === 'worker')
      await until(waits)
      break
    }
  })
  const loader = open(NUMBERS, { workers: 1, epochs: 1 }) as AnyLoader
  await loop(loader)
  const { reader } = (feedingOf(loader) as unknown as { spans: { reader: { readSince(): Read } } }).spans
  await until(() => reader.readSince().records.some(({ kind, ring }) => kind === 'idle' && ring === 0))
  await loader.close()
})
interface Read {
  records: { kind: string; ring: number }[]
}

test('stats() and spans(cursor) read on', async () => {
  await using(PICTURES as never, { workers: 1 }, async loader => {
    await loop(loader)
    await written(loader)
    const first = loader.spans()
    const before = loader.stats().spans
    expect(loader.stats().spans.read).toBeGreaterThanOrEqual(before.read)
    await loop(loader)
    await until(() => rows(loader, 'transform') >= 2 * COUNT)
    const second = loader.spans(first.cursor)
    expect(second.records.length).toBeGreaterThan(0)
    const known = new Set(first.records.map(({ lane, number }) => `${lane.lane} ${number}`))
    expect(second.records.filter(({ lane, number }) => known.has(`${lane.lane} ${number}`))).toEqual([])
    expect(loader.stats().spans.transform).toBeGreaterThan(before.transform)
  })
})

test('a ring that stays open keeps its name while others come and go', async () => {
  await using training = open(NUMBERS, { workers: 0 }) as AnyLoader
  await training.ready
  for (let i = 0; i < 256; i++) {
    const validation = open(NUMBERS, { workers: 0, depth: 1 })
    await validation.ready
    await validation.close()
  }
  expect(ringOf(feedingOf(training))).toMatchObject({ open: true })
})

test('a ring says how it is filled, also after tune()', async () => {
  await using(NUMBERS, { workers: 2, depth: 3 }, async loader => {
    await loader.ready
    const feeding = feedingOf(loader)
    const { chunks, stride, rows, bytes } = feeding.layout
    const facts = { workers: 2, depth: 3, claims: chunks / stride, rows, slotBytes: bytes, stepsInEpoch: 12 }
    expect(ringOf(feeding)).toMatchObject(facts)
    expect([rows, bytes > 0, chunks > 0]).toEqual([8, true, true])
    await loader.tune({ workers: 1, depth: 5 })
    expect(ringOf(feeding)).toMatchObject({ ...facts, workers: 1, depth: 5 })
  })
  await using(NUMBERS, { workers: 0 }, async loader => {
    await loader.ready
    expect(ringOf(feedingOf(loader))).toMatchObject({ workers: 0 })
  })
})

test('counters of a ring have all of its rows and claims, and stats() its times', async () => {
  await using(NUMBERS, { workers: 2, epochs: 3, steps: 36 }, async loader => {
    await loader.ready
    const feeding = feedingOf(loader)
    const { reader } = (feeding as unknown as { spans: { reader: SpanReader } }).spans
    const workers = () => reader.counters(feeding.id).filter(({ lane }) => lane.kind === 'worker')
    const sum = (of: 'rows' | 'claims', look = workers()) =>
      look.reduce((all, { rings }) => all + rings[0][of], 0)
    await loop(loader)
    // Workers may have begun with the next loop: of each claim, they count its rows.
    await until(() => sum('rows') >= 3 * COUNT)
    const { chunks, stride, rows: size } = feeding.layout
    const look = workers() // they go on meanwhile
    expect(sum('rows', look) / sum('claims', look)).toBe((size / chunks) * stride)
    const transform = () => workers().reduce((all, { rings }) => all + rings[0].ms.transform, 0)
    await until(() => transform() > 0 && loader.stats().spans.transform === transform())
    const [trainer] = reader.counters(feeding.id).filter(({ lane }) => lane.kind === 'consumer')
    expect(trainer.rings[0]).toMatchObject({ rows: 3 * COUNT, claims: 3 * 12 })
  })
})

test('a ring is named by its source, and is closed with its loader', async () => {
  const loader = open(NUMBERS, { workers: 1 }) as AnyLoader
  await loader.ready
  const feeding = feedingOf(loader)
  expect(ringOf(feeding)).toMatchObject({
    name: 'synthetic',
    rank: 0,
    world: 1,
    open: true,
    engine: process.pid,
  })
  await loader.close()
  expect(ringOf(feeding)).toMatchObject({ open: false })
})
