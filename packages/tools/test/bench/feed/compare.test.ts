/** Two runs side by side: what differs, and what is noise. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import type { Parts } from '../../../../observe/evidence.js'
import type { RunRecord } from '../../../../observe/live/record.js'
import { type Block, compareBlocks, fewer, mainCause } from '../../../bench/compare/blocks.js'
import { compare } from '../../../bench/compare/compare.js'
import { writeBench } from '../../../bench/result/file.js'
import { fileOf, runsOf, setting } from './made.js'

const folder = temporaryFolder()
const NONE: Parts = {
  ideal: 0,
  slowed: 0,
  handOver: 0,
  transfer: 0,
  running: 0,
  queued: 0,
  blocked: 0,
  noSlot: 0,
}

/** Ten steps of so many ms: 10 ideal, the rest waiting while workers ran. */
const block = (ms: number): Block => ({
  steps: 10,
  samples: 320,
  ms: 10 * ms,
  parts: { ...NONE, ideal: 100, running: 10 * (ms - 10) },
})

function record(second: number, steps: number, stepMs: number, more: Partial<RunRecord> = {}): RunRecord {
  return {
    version: 1,
    time: 1e12 + 1000 * second,
    at: 1000 * second,
    seconds: 1,
    host: 'h',
    trainer: 1,
    engine: 1,
    ring: 1,
    feed: 'f',
    rank: 0,
    world: 1,
    step: (second + 1) * steps,
    steps,
    samples: 32 * steps,
    bytes: 0,
    stepMs,
    idealMs: 10,
    idealFrom: 'given',
    lost: 1 - 10 / stepMs,
    parts: { ...NONE, ideal: 10 / stepMs, blocked: 1 - 10 / stepMs },
    wait: null,
    workers: 4,
    depth: 4,
    slots: null,
    cores: null,
    memory: null,
    gpu: null,
    bad: 0,
    why: {
      verdict: 'io-latency',
      second: null,
      sentence: '',
      remedy: null,
      lost: 0.5,
      seconds: 15,
    },
    decisions: [],
    ...more,
  }
}

const lines = (records: readonly RunRecord[]) => `${records.map(one => JSON.stringify(one)).join('\n')}\n`

test('a difference beyond the spread of blocks is significant, and has its cause', () => {
  const found = compareBlocks([20, 20.2, 19.8, 20.1].map(block), [15, 15.2, 14.9, 15].map(block))
  expect(found.step).toMatchObject({ significant: true })
  expect(found.step.change).toBeCloseTo(-5, 1)
  expect(found.rate.ratio.value).toBeCloseTo(20.025 / 15.025, 6)
  expect(found.rate.significant).toBe(true)
  expect(mainCause(found)?.part).toBe('running')
  expect(found.parts.map(({ part }) => part)).toEqual(['ideal', 'running'])
  // Parts add up to the step.
  const sum = found.parts.reduce((total, { change }) => total + change, 0)
  expect(sum).toBeCloseTo(found.step.change, 9)
})

test('what varies as much as it differs is noise', () => {
  const found = compareBlocks([20, 30, 15, 25].map(block), [18, 29, 14, 22].map(block))
  expect(found.rate.significant).toBe(false)
  expect(mainCause(found)).toBeUndefined()
  expect(compareBlocks([block(20)], [block(10)]).rate.ratio.interval).toBeNull()
  // Two blocks say nothing of the noise either.
  const two = compareBlocks([20, 21].map(block), [10, 11].map(block))
  expect([two.rate.ratio.interval, two.step.interval, two.rate.significant]).toEqual([null, null, false])
})

test('joining blocks loses no step', () => {
  const blocks = Array.from({ length: 47 }, (_, i) => block(11 + i))
  const few = fewer(blocks, 20)
  expect(few).toHaveLength(20)
  const sum = (list: readonly Block[]) => list.reduce((total, { ms }) => total + ms, 0)
  expect(sum(few)).toBeCloseTo(sum(blocks), 6)
})

test('two results of bench: the default first', async () => {
  const file = (factor: number) =>
    fileOf(
      runsOf(setting(0, 1), 'baseline', [200, 202, 198]),
      runsOf(
        setting(4),
        'default',
        [800, 804, 796].map(rate => rate * factor),
      ),
    )
  const [a, b] = ['a', 'b'].map(name => join(folder, `${name}.jsonl`))
  writeBench(a, file(1))
  writeBench(b, file(1.5))
  const found = compare(a, b)
  expect(found.kind).toBe('bench')
  expect(found.pairs.map(({ name }) => name)).toEqual(['w4-d4', 'w0-d1'])
  expect(found.pairs[0].comparison.rate.ratio.value).toBeCloseTo(1.5, 6)
  expect(found.conclusion).toMatch(
    /^B is faster with w4-d4: \+50 % \(\+\d+ … \+\d+\), 800 and 1,200 samples\/s/,
  )
  expect(found.conclusion).toContain('waiting for workers that are busy with a batch')
  expect(compare(a, a).conclusion).toContain('No difference beyond noise')
})

test('two rounds are too few, and it is said', async () => {
  const path = join(folder, 'two.jsonl')
  writeBench(path, fileOf(runsOf(setting(4), 'default', [800, 900])))
  expect(compare(path, path).conclusion).toContain("2 rounds can't tell: take 5 (--rounds 5)")
})

test('two run logs are aligned by step, whatever their beginning and end', async () => {
  const [a, b] = ['monday', 'tuesday'].map(name => join(folder, name))
  for (const place of [a, b]) mkdirSync(place)
  const jitter = (i: number) => 1 + 0.02 * ((i * 7) % 5)
  const slow = Array.from({ length: 60 }, (_, i) => record(i, 50, 20 * jitter(i)))
  const fast = Array.from({ length: 40 }, (_, i) =>
    record(i, 100, 10 * jitter(i), {
      workers: 8,
      why: { ...record(0, 1, 1).why!, verdict: 'compute-bound' },
    }),
  )
  writeFileSync(join(a, 'rank0.jsonl'), `{"header":{"version":1}}\n${lines(slow)}`)
  // A line that was cut is no record, and no harm.
  writeFileSync(join(b, 'rank0.jsonl'), `${lines(fast)}{"version":1,"ti`)
  const found = compare(a, b)
  expect(found.kind).toBe('log')
  const [{ comparison, a: x, b: y }] = found.pairs
  expect(comparison.rate.ratio.value).toBeGreaterThan(1.9)
  expect(comparison.rate.significant).toBe(true)
  expect([x.workers, y.workers]).toEqual([4, 8])
  expect(found.conclusion).toContain('waiting for workers that wait for storage')
  expect(found.conclusion).toContain('The verdict was io-latency, and is compute-bound.')
  // Steps of A end at 3000; B has seen 100 × 5 steps when its first five seconds are over.
  expect(found.stretches![0].from).toBe(500)
  expect(found.stretches!.at(-1)!.to).toBe(3000)
  const several = join(folder, 'several.jsonl')
  writeFileSync(several, lines([slow[0], { ...slow[1], trainer: 2 }]))
  expect(() => compare(several, a)).toThrow('has several runs of rank 0')
  const early = join(folder, 'early.jsonl')
  const late = join(folder, 'late.jsonl')
  writeFileSync(early, lines(slow.slice(0, 10)))
  writeFileSync(late, lines(slow.slice(50)))
  expect(() => compare(early, late)).toThrow('no steps in common')
})

test('different kinds, and nothing at all, are refused by name', async () => {
  expect(() => compare(join(folder, 'a.jsonl'), join(folder, 'monday'))).toThrow('is a result of bench, ')
  expect(() => compare(join(folder, 'nothing'), folder)).toThrow('there is no')
  const foreign = (name: string, bytes: string | Uint8Array) => {
    writeFileSync(join(folder, name), bytes)
    return expect(() => compare(join(folder, name), join(folder, 'a.jsonl')))
  }
  foreign('nothing.json', '').toThrow('is empty')
  foreign('feed.json', '{"source": 1}').toThrow('is neither a result of bench nor a run log')
  foreign(
    'noise',
    Uint8Array.from({ length: 3000 }, (_, i) => (i * 181) % 251),
  ).toThrow('is neither')
  foreign('null.json', 'null').toThrow('is neither')
  expect(() => compare('/dev/null', folder)).toThrow('/dev/null is a device')
  const empty = temporaryFolder()
  expect(() => compare(empty, empty)).toThrow(/neither bench\.jsonl nor a run log/)
})
