/** The account of a loader: of a real loop, and of times that are given. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { feedingOf, feedModule, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { LONGEST_WAIT, until } from '../../../../test/support/until.js'
import { attachSpans } from '../../../core/spans/attach.js'
import { monotonicMs } from '../../../core/spans/clock.js'
import { account } from '../../account/account.js'
import { collect } from '../../account/collect.js'
import { LoopAccount } from '../../account/loop-account.js'
import { PART_NAMES } from '../../account/parts.js'
import { spansOfLoader } from '../../account/source.js'
import type { Accounting } from '../../evidence.js'
import { mistakes } from '../metrics/schema.js'

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../docs/accounting.schema.json'), 'utf8'),
)

const root = temporaryFolder()

/** 64 numbers in batches of 4, with a function that computes for a while. */
const spinning = () =>
  feedModule(
    root,
    'spinning.feed.mjs',
    `const spin = value => { for (const until = performance.now() + 1; performance.now() < until; ); return value }
    export default feed({
      source: synthetic({ count: 64, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(spin) },
      batch: 4,
    })`,
  )

function sumOf({ parts }: Accounting): number {
  return PART_NAMES.reduce((sum, name) => sum + parts[name], 0)
}

describe('a loop in Node', () => {
  test.each([0, 1])('with %i workers: supply is told by what makes the batches', async workers => {
    await using(await spinning(), { workers, epochs: 2 }, async loader => {
      let steps = 0
      // The step that a loop is left in counts as well.
      for await (const _ of loader) if (++steps === 20) break
      const { account: run, epoch } = loader.stats()
      expect(mistakes(JSON.parse(JSON.stringify(run)), schema)).toEqual([])
      expect([run.steps, run.samples, epoch.steps]).toEqual([19, 19 * 4, 4])
      for (const one of [run, epoch]) expect(sumOf(one)).toBeCloseTo(1, 9)
      const { running, queued, blocked, noSlot } = run.parts
      // A sample takes a millisecond at the least; without workers a step waits for the four of its batch.
      if (workers === 0) expect((running + queued + blocked) * run.stepMs).toBeGreaterThan(3.9)
      if (workers === 0) expect(noSlot).toBe(0)
      expect(run.makers.work.map + run.makers.work.transform).toBeGreaterThan(0.97)
      expect(run.epochGapMs).not.toBeNull()
      expect(run.firstBatchMs).toBeGreaterThan(0)
      expect(loader.metrics()['millrace/steps']).toBe(steps - 1)
      // Records say the same.
      const spans = attachSpans(process.pid)
      const ring = spans.rings().findLast(({ open }) => open)!.ring
      const found = collect(spansOfLoader(spans, ring))
      spans.close()
      expect(found.steps.reduce((sum, step) => sum + step.count, 0)).toBe(steps)
      expect(found.steps[0].first).toBe(true)
      const { parts } = account(found)
      expect(parts.ideal).toBeCloseTo(run.parts.ideal, 1)
    })
  })
})

test('a worker that was taken away is no longer counted, until it is needed again', async () => {
  await using(await spinning(), { workers: 2, tune: 'off', epochs: null }, async loader => {
    await loader.ready
    const batches = loader[Symbol.asyncIterator]()
    const take = async (count: number) => {
      for (let i = 0; i < count; i++) await batches.next()
    }
    const spans = attachSpans(process.pid)
    const { id } = feedingOf(loader)
    const sums = () =>
      JSON.stringify(spans.counters().find(({ lane }) => lane.kind === 'worker' && lane.number === 1)?.rings)
    const works = async () => {
      const before = sums()
      await take(20)
      return sums() !== before
    }
    const patient = { timeout: LONGEST_WAIT }
    await expect.poll(works, patient).toBe(true)
    await loader.tune({ workers: 1 })
    await expect.poll(works, patient).toBe(false) // though each slot that is freed wakes all
    const from = monotonicMs()
    await take(40)
    await until(() => collect(spansOfLoader(spans, id), { from, to: monotonicMs() }).makers.length > 0)
    const { makers } = collect(spansOfLoader(spans, id), { from, to: monotonicMs() })
    expect(new Set(makers.map(({ maker }) => maker))).toEqual(new Set([0]))
    await loader.tune({ workers: 2 })
    await expect.poll(works, patient).toBe(true)
    spans.close()
  })
})

test('garbage collections of workers that call functions are told', async () => {
  const collecting = await feedModule(
    root,
    'collecting.feed.mjs',
    `import { setFlagsFromString } from 'node:v8'
    import { runInNewContext } from 'node:vm'
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc')
    export default feed({
      source: synthetic({ count: 256, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(value => (gc(), value)) },
      batch: 1,
    })`,
  )
  await using(collecting, { workers: 1 }, async loader => {
    for await (const _ of loader);
    await until(() => loader.evidence().makers.some(({ gc }) => gc > 0))
  })
})

/** What the loader says of itself. */
const BESIDE = { workers: 1, depth: 4, slotBytes: 1, rank: 0, world: 1 }

describe('times of a step', () => {
  /** A step at 1000 ms that is asked for, complete, on the device, got, and done at these times. */
  function parts(completed: number, arrived: number, got: number, done: number) {
    const run = new LoopAccount(monotonicMs(), false)
    run.handed(1, { asked: 0, completed: 0, arrived: 0, got: 0, samples: 1, stepInEpoch: 0, mark: 'first' })
    run.stepped(1)
    run.handed(1, { asked: 10, completed, arrived, got, samples: 1, stepInEpoch: 1, mark: undefined })
    run.stepped(done)
    return run.evidence(BESIDE).steps.find(step => !step.first)
  }

  test('a batch that was complete before it was asked for is hand-over alone', () => {
    expect(parts(4, 4, 12, 20)).toMatchObject({ supply: 0, transfer: 0, handOver: 2, compute: 8 })
  })

  test('until it is complete it is supply', () => {
    expect(parts(15, 15, 16, 20)).toMatchObject({ supply: 5, transfer: 0, handOver: 1, compute: 4 })
  })

  test('until it is on the device it is transfer', () => {
    expect(parts(5, 13, 14, 20)).toMatchObject({ supply: 0, transfer: 3, handOver: 1, compute: 6 })
    expect(parts(12, 13, 14, 20)).toMatchObject({ supply: 2, transfer: 1, handOver: 1 })
  })

  test('garbage collections count as far as they fell on a wait', () => {
    const run = new LoopAccount(monotonicMs(), false)
    run.handed(1, {
      asked: 10,
      completed: 4,
      arrived: 4,
      got: 14,
      samples: 1,
      stepInEpoch: 1,
      mark: undefined,
    })
    run.stepped(20)
    run.collected(12, 6)
    run.collected(15, 5)
    expect(account(run.evidence(BESIDE)).gcMs).toBe(2)
    expect(account(run.evidence(BESIDE)).host?.seconds).toBeGreaterThanOrEqual(0)
    run.close()
  })

  test('a clock that differs a little never makes a part negative', () => {
    expect(parts(30, 40, 14, 20)).toMatchObject({ supply: 4, transfer: 0, handOver: 0, compute: 6 })
  })
})
