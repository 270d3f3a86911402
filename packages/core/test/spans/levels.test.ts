/** How much is written of a feed, and what of its work is told apart: opening files, and functions of the user's. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
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
import { levelOf } from '../../spans/level.js'
import type { SpanReader } from '../../spans/reader.js'
import { SpanLevel } from '../../spans/span-words.js'

const COUNT = 240
const NUMBERS = numberFeed(COUNT, { batch: { size: 8, last: 'keep' } })

const loop = async (loader: AnyLoader) => {
  for await (const _ of loader);
}

/** The reader of this process, and what workers did for a loader. */
function spansOf(loader: AnyLoader) {
  const feeding = feedingOf(loader)
  const { reader } = (feeding as unknown as { spans: { reader: SpanReader } }).spans
  const makers = () => reader.counters(feeding.id).filter(({ lane }) => lane.kind === 'worker')
  const sum = (of: 'rows' | 'reads' | 'opens' | 'claims') =>
    makers().reduce((all, { rings }) => all + rings[0][of], 0)
  return { feeding, reader, sum }
}

const before = process.env.MILLRACE_SPANS
afterEach(() => {
  if (before === undefined) delete process.env.MILLRACE_SPANS
  else process.env.MILLRACE_SPANS = before
})

test('the environment wins over the option, where it names a level', () => {
  delete process.env.MILLRACE_SPANS
  expect(levelOf(undefined)).toBe(SpanLevel.Spans)
  expect(levelOf('counters')).toBe(SpanLevel.Counters)
  process.env.MILLRACE_SPANS = 'counters'
  expect(levelOf('spans')).toBe(SpanLevel.Counters)
  for (const odd of ['', '1', 'none']) {
    process.env.MILLRACE_SPANS = odd
    expect(levelOf('counters')).toBe(SpanLevel.Counters)
  }
})

test('what is turned off when a feed is opened holds for that feed', async () => {
  await using(NUMBERS, { workers: 1, epochs: 1 }, async loud => {
    await loud.ready
    const { feeding, reader, sum } = spansOf(loud)
    process.env.MILLRACE_SPANS = '0'
    expect(levelOf('spans')).toBeUndefined()
    await using(NUMBERS, { workers: 1, epochs: 1 }, async quiet => {
      await loop(quiet)
      const { id } = feedingOf(quiet)
      expect(quiet.spans().records).toEqual([])
      expect(reader.rings().map(({ ring }) => ring)).not.toContain(id)
      expect(reader.counters(id)).toEqual([])
      expect(quiet.stats().samples).toBe(COUNT)
    })
    await loop(loud)
    await until(() => sum('rows') >= COUNT)
    expect(reader.rings().map(({ ring }) => ring)).toContain(feeding.id)
  })
})

test('another word is refused', () => {
  expect(() => open(NUMBERS, { observe: 'all' as never })).toThrow(
    'unknown level "all"; known: counters, spans',
  )
})

test('the level that is gone is the default one, and a notice says so', async () => {
  const notices: string[] = []
  const options = { workers: 0, observe: 'full' as never, notice: (text: string) => notices.push(text) }
  await using(NUMBERS, options, async loader => {
    await loader.ready
    const { feeding, reader } = spansOf(loader)
    expect(reader.rings().find(({ ring }) => ring === feeding.id)).toMatchObject({ level: 'spans' })
  })
  expect(notices).toEqual([expect.stringContaining('observe "full" has no effect any more')])
})

test('at the level counters sums are the same, and records fewer', async () => {
  await using(NUMBERS, { workers: 1, epochs: 1, observe: 'counters' }, async loader => {
    await loader.ready
    const { feeding, reader, sum } = spansOf(loader)
    expect(reader.rings().find(({ ring }) => ring === feeding.id)).toMatchObject({ level: 'counters' })
    await loop(loader)
    await until(() => sum('rows') >= COUNT)
    const own = loader.spans().records.filter(({ lane }) => lane.kind === 'worker')
    // A record a second and kind, at most.
    expect(own.filter(({ kind }) => kind === 'transform').length).toBeLessThan(COUNT / 8)
    expect(loader.stats().spans.transform).toBeGreaterThan(0)
  })
})

describe('of work is told apart', () => {
  const folder = temporaryFolder()

  test('opening files, with how many there were', async () => {
    mkdirSync(join(folder, 'files', 'a'), { recursive: true })
    for (let i = 0; i < 40; i++) writeFileSync(join(folder, 'files', 'a', `${i}.txt`), `${i}`)
    const definition = {
      source: { folder: { path: join(folder, 'files'), extensions: ['.txt'] } },
      fields: { text: { from: 'image', as: 'bytes', ragged: { max: 64 } } },
      batch: { size: 8, last: 'keep' },
    }
    await using(definition as never, { workers: 2, epochs: 1 }, async loader => {
      await loop(loader)
      const { sum } = spansOf(loader)
      await until(() => sum('rows') >= 40)
      expect(sum('opens')).toBeGreaterThanOrEqual(40)
      expect(sum('reads')).toBeGreaterThanOrEqual(40)
      const { open, read } = loader.stats().spans
      expect(open).toBeGreaterThan(0)
      expect(read).toBeGreaterThan(0)
    })
  })

  test.each([
    [
      'that computes',
      0,
      'sample => { for (const end = performance.now() + 2; performance.now() < end; ); return sample }',
    ],
    ['that waits', 1, 'async sample => { await new Promise(done => setTimeout(done, 2)); return sample }'],
  ])('a function %s', async (_, workers, map) => {
    const feed = await feedModule(
      folder,
      `map-${workers}.mjs`,
      `export default feed({ ...${JSON.stringify(numberFeed(16, { batch: { size: 8, last: 'keep' } }))}, map: ${map} })`,
    )
    const begun = performance.now()
    await using(feed, { workers, epochs: 1 }, async loader => {
      await loop(loader)
      // 16 samples of 2 ms each. What was booked twice would be more than the time that has passed.
      await until(() => (loader.stats().spans.map ?? 0) >= 16)
      const { map, transform } = loader.stats().spans
      expect(map + transform).toBeLessThan((performance.now() - begun) * Math.max(1, workers))
    })
  })
})
