/** Anything a program may do with a loader, in any order: what is handed out is always what the definition says. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  loopIds,
  numberFeed,
  numbersIn,
  open,
  type State,
  using,
} from '../../../../../test/support/engine.js'
import { runs } from '../../../../../test/support/runs.js'

const FEED = numberFeed(45, { batch: { size: 4, last: 'keep' } })
const STEPS = 12
const EPOCHS = 60

let expected: string[][][]
let holder: AnyLoader
beforeAll(async () => {
  holder = open(numberFeed(1), { workers: 1, depth: 1 })
  expected = await using(FEED, { workers: 0 }, async loader => {
    const epochs: string[][][] = []
    for (let epoch = 0; epoch < EPOCHS; epoch++) epochs.push(await loopIds(loader))
    return epochs
  })
})
afterAll(() => holder.close())

const act = fc.oneof(
  { weight: 8, arbitrary: fc.constant('next' as const) },
  { weight: 2, arbitrary: fc.constantFrom('break', 'keep', 'release', 'save', 'load', 'pause') },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }).map(workers => ({ workers })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }).map(depth => ({ depth })) },
)

test('next, break, keep, release, save, load and tune', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 1, max: 6 }),
    fc.array(act, { minLength: 5, maxLength: 50 }),
    async (workers, depth, acts) => {
      await using(FEED, { workers, depth }, async loader => {
        await loader.ready
        // The model: where the run stands, and what is kept.
        let [epoch, step] = [0, 0]
        let slots = depth
        let iterator: AsyncIterator<AnyBatch> | undefined
        let current: AnyBatch | undefined
        let loaded = false
        // The present loop, and batches of all of them: the first look does not count.
        let began: [number, number] = [0, 0]
        let total = 0
        /** After a break: what the state says, which counts what was handed out. */
        let stopped: [number, number] | undefined
        const kept: AnyBatch[] = []
        const saved: { state: State; place: [number, number] }[] = []

        const leave = async () => {
          if (!iterator) return
          await iterator.return?.()
          iterator = undefined
          current = undefined
          if (!loaded) stopped = [epoch, step]
          // After a break the next loop begins the next epoch; at an epoch's end that is where it stands anyway.
          if (!loaded && total === 1) [epoch, step] = began
          else if (!loaded && step > 0) [epoch, step] = [epoch + 1, 0]
        }

        for (const what of acts) {
          if (typeof what === 'object') {
            await loader.tune(what)
            if ('depth' in what) slots = what.depth
          } else if (what === 'next') {
            if (kept.length >= slots) kept.shift()!.release()
            if (kept.length >= slots) continue
            if (!iterator) began = [epoch, step]
            iterator ??= loader[Symbol.asyncIterator]()
            loaded = false
            stopped = undefined
            const { value, done } = await iterator.next()
            if (done) {
              expect(step).toBe(0)
              iterator = undefined
              current = undefined
              continue
            }
            current = value as AnyBatch
            total++
            expect([current.epoch, current.ids]).toEqual([epoch, expected[epoch][step]])
            expect(numbersIn(current)).toEqual(expected[epoch][step])
            ;[epoch, step] = step === STEPS - 1 ? [epoch + 1, 0] : [epoch, step + 1]
          } else if (what === 'break') await leave()
          else if (what === 'keep' && current && !kept.includes(current)) kept.push(current.keep())
          else if (what === 'release' && kept.length > 0) {
            const old = kept.pop()!
            expect(numbersIn(old)).toEqual(old.ids)
            old.release()
            if (old === current) current = undefined
          } else if (what === 'save') saved.push({ state: loader.state(), place: stopped ?? [epoch, step] })
          else if (what === 'load' && saved.length > 0) {
            await leave()
            const last = saved.pop()!
            loader.load(last.state)
            ;[epoch, step] = last.place
            loaded = true
            stopped = undefined
          } else if (what === 'pause') await new Promise(resolve => setTimeout(resolve, 3))
          const state = loader.state()
          const place = stopped ?? [epoch, step]
          expect([state.epoch, state.position]).toEqual([place[0], place[1] * 4])
        }
        for (const batch of kept) expect(numbersIn(batch)).toEqual(batch.ids)
      })
    },
  )
  await fc.assert(property, { numRuns: runs(60) })
})
