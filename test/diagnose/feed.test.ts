/** `millrace diagnose FEED`: real feeds, small ones. What is found depends on the machine; that it adds up does not. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { FeedJson } from '../../src/define/types.js'
import { findings } from '../../src/diagnose/findings.js'
import { readEvidence, writeEvidence } from '../../src/diagnose/recorded.js'

// Workers are threads of the built package.
const built = new URL('../../dist/diagnose/feed.js', import.meta.url).href
const { diagnoseFeed } = (await import(built)) as typeof import('../../src/diagnose/feed.js')

const folder = mkdtempSync(join(tmpdir(), 'millrace-diagnose-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FEED: FeedJson = {
  source: { synthetic: { count: 200, tensors: { shape: [64], dtype: 'f32' } } },
  fields: { data: { from: 'data', as: 'npy', shape: [64], dtype: 'f32' } },
  batch: { size: 10 },
} as unknown as FeedJson

const quiet = { steps: 60, seconds: 4, apply: false, progress: () => {} }

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

  test('is judged alike when it was recorded', async () => {
    const found = await diagnoseFeed(FEED, { workers: 1 }, { ...quiet, steps: 20, seconds: 0.5, stepMs: 20 })
    const file = join(folder, 'case.json.gz')
    writeEvidence(file, found.recorded)
    const again = findings(readEvidence(file))
    expect([again.verdict, again.second, again.lost]).toEqual([found.verdict, found.second, found.lost])
    expect(found.verdict).toBe('inconclusive') // of 20 steps nothing can be said
  })
})

describe('recorded evidence', () => {
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
