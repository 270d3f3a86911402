/** `millrace diagnose FEED`: real feeds, small ones. What is found depends on the machine; that it adds up does not. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { LONGEST_WAIT } from '../../../../test/support/until.js'
import type { FeedJson } from '../../../core/define/types.js'
import { findings } from '../../diagnose/findings.js'
import { checkRecordFile, readEvidence, writeEvidence } from '../../diagnose/recorded.js'
import { made } from '../verdict/made.js'

// Workers are threads of the built package.
await import(new URL('../../../../build/all/index.js', import.meta.url).href)
const built = new URL('../../../../build/observe/diagnose/feed.js', import.meta.url).href
const { diagnoseFeed } = (await import(built)) as typeof import('../../diagnose/feed.js')

/** A module of the built package, which is loaded already: to make it again of its source takes longer than the test. */
const inBuilt = <T>(path: string) =>
  import(new URL(`../../../../build/${path}`, import.meta.url).href) as Promise<T>

const folder = mkdtempSync(join(tmpdir(), 'millrace-diagnose-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FEED: FeedJson = {
  source: { synthetic: { count: 200, tensors: { shape: [64], dtype: 'f32' } } },
  fields: { data: { from: 'data', as: 'npy', shape: [64], dtype: 'f32' } },
  batch: { size: 10 },
} as unknown as FeedJson

const quiet = { steps: 60, seconds: 1, apply: false, progress: () => {} }

describe('a feed that is diagnosed', () => {
  test('parts of a step add up, steps are those of the window, and the first batch is kept apart', async () => {
    const found = await diagnoseFeed(FEED, { workers: 1 }, { ...quiet, stepMs: 2 })
    const parts = Object.values(found.parts)
    expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 6)
    expect(found.account.steps).toBeGreaterThan(0)
    expect(found.recorded.steps.filter(step => step.first)).toHaveLength(1)
    expect(found.recorded.steps.slice(1).every(step => step.asked >= found.recorded.from)).toBe(true)
    // A sleep is never shorter than it was asked for.
    expect(found.recorded.probes.ideal?.ms).toBeGreaterThanOrEqual(1.99)
    expect(found.recorded.probes.ideal?.from).toBe('given')
    expect(found.recorded.host).not.toBeNull()
  })

  test('as many steps are seen as were asked for, at least', async () => {
    const found = await diagnoseFeed(FEED, { workers: 1 }, { ...quiet, steps: 100, seconds: 60, stepMs: 1 })
    expect(found.account.steps).toBeGreaterThanOrEqual(100)
  })

  test('is judged alike when it was recorded', async () => {
    const found = await diagnoseFeed(FEED, { workers: 1 }, { ...quiet, steps: 20, seconds: 0.5, stepMs: 20 })
    const file = join(folder, 'case.json.gz')
    writeEvidence(file, found.recorded)
    const again = findings(readEvidence(file))
    expect([again.verdict, again.second, again.lost]).toEqual([found.verdict, found.second, found.lost])
    expect(found.verdict).toBe('inconclusive') // of 20 steps nothing can be said
  })
})

test('however slow a feed is, a step of it is seen whole', async () => {
  const found = await diagnoseFeed(FEED, { workers: 1 }, { ...quiet, steps: 1, seconds: 0.001, stepMs: 5 })
  expect(found.account.steps).toBeGreaterThan(0)
})

describe('a loop that runs', () => {
  test('is looked at from its own process', async () => {
    const { open } = (await import(
      new URL('../../../../build/all/index.js', import.meta.url).href
    )) as typeof import('../../../all/index.js')
    const loader = open(FEED, { workers: 1, epochs: null })
    const found = loader.diagnose({ seconds: 0.5 }) // waits until the feed is open
    let done = false
    void found.then(() => {
      done = true
    })
    for await (const _ of loader) {
      await new Promise(resolve => setTimeout(resolve, 2))
      if (done) break
    }
    const { parts } = await found
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 6)
    await expect(loader.diagnose({ seconds: 0 })).rejects.toThrow('seconds')
    await loader.close()
  })
})

describe('experiments', () => {
  test('workers that wait are tried twice as many, by a check that is undone', async () => {
    const { writeFileSync } = await import('node:fs')
    const module = join(folder, 'waiting.mjs')
    const built = new URL('../../../../build/all/index.js', import.meta.url).href
    writeFileSync(
      module,
      `import { feed, int, synthetic } from ${JSON.stringify(built)}
      const never = new Int32Array(new SharedArrayBuffer(4))
      const wait = value => (Atomics.wait(never, 0, 0, 5), value)
      export default feed({
        source: synthetic({ count: 100000, images: { width: 8, height: 8, classes: 16 } }),
        fields: { label: int('cls').map(wait) },
        batch: 8,
      })`,
    )
    const { default: waiting } = (await import(module)) as { default: { json: FeedJson } }
    const opening = { workers: 1, allowCode: true }
    const found = await diagnoseFeed(waiting.json, opening, { ...quiet, seconds: 3, stepMs: 1 })
    const { doubled } = found.recorded.probes
    expect([doubled?.workers, doubled?.doubledWorkers]).toEqual([1, 2])
    const [before, after] = [doubled!.before, doubled!.after].map(rates => Math.max(...rates))
    expect(after / before).toBeGreaterThan(1.2)
  })

  const files = join(folder, 'rows')
  test('rows to come that are in memory are not absent', async () => {
    const { lookForAbsent } = await inBuilt<typeof import('../../diagnose/absent.js')>(
      'observe/diagnose/absent.js',
    )
    const { normalizeFeed } =
      await inBuilt<typeof import('../../../core/define/normalize.js')>('core/define/normalize.js')
    const lines = Array.from({ length: 50 }, (_, i) => JSON.stringify({ n: i })).join('\n')
    const { writeFileSync } = await import('node:fs')
    writeFileSync(`${files}.jsonl`, `${lines}\n`)
    const json = {
      source: { jsonl: `${files}.jsonl` },
      fields: { n: { from: 'n', as: 'int' } },
      batch: { size: 10 },
    } as unknown as FeedJson
    const { probes, facts } = await lookForAbsent(
      normalizeFeed(json, folder, []),
      {},
      { epoch: 0, position: 10 },
    )
    expect(probes.absent === undefined || probes.absent.share === 0).toBe(true)
    expect(facts.freeBytes).toBeGreaterThan(0)
  })

  test('the same batches are made twice in another process', async () => {
    const { measureCached } = (await import(
      new URL('../../../../build/observe/diagnose/cached.js', import.meta.url).href
    )) as typeof import('../../diagnose/cached.js')
    const { open } = (await import(
      new URL('../../../../build/all/index.js', import.meta.url).href
    )) as typeof import('../../../all/index.js')
    const loader = open(FEED, { workers: 0 })
    await loader.ready
    const state = loader.state()
    await loader.close()
    const cached = await measureCached({ json: FEED, options: { workers: 1 }, state }, LONGEST_WAIT / 1000)
    expect(cached?.samplesPerSecond).toBeGreaterThan(0)
    const bad = { ...FEED, fields: { data: { from: 'data', as: 'nothing' } } } as unknown as FeedJson
    expect(
      await measureCached({ json: bad, options: { workers: 1 }, state }, LONGEST_WAIT / 1000),
    ).toBeUndefined()
  })
})

describe('recorded evidence', () => {
  test('is not put where something else is, or nothing can be', async () => {
    const { readFileSync, writeFileSync } = await import('node:fs')
    const file = join(folder, 'feed.json')
    writeFileSync(file, JSON.stringify(FEED))
    expect(() => checkRecordFile(file)).toThrow('holds no evidence')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(FEED)
    expect(() => checkRecordFile(join(folder, 'missing', 'case.json.gz'))).toThrow("can't be written")
    const free = join(folder, 'free.json.gz')
    expect(() => checkRecordFile(free)).not.toThrow()
    writeEvidence(free, made())
    expect(() => checkRecordFile(free)).not.toThrow()
  })

  test.each([
    ['{}', 'no evidence of version 1'],
    ['{"version": 1, "steps": {}}', '"steps" is no list'],
    ['{"version": 1, "steps": [], "makers": [{}]}', 'has no "work"'],
    ['{"version": 1, "steps": [], "makers": []}', '"facts" is no object'],
    ['[', "can't be read"],
  ])('%s is refused', async (text, problem) => {
    const { writeFileSync } = await import('node:fs')
    const file = join(folder, 'bad.json')
    writeFileSync(file, text)
    expect(() => readEvidence(file)).toThrow(problem)
  })
})
