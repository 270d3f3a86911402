/** Who decodes, by measuring. */
import { expect, test } from 'vitest'
import { Decision } from '../../src/device/decision.js'

/** Steps of 256 samples, each of so many seconds, some of them waited. */
function steps(decision: Decision, count: number, seconds: number, waited: number): void {
  for (let i = 0; i < count; i++) decision.step(decision.who, 256, seconds, waited)
}

test('a CPU that keeps up stays', () => {
  const decision = new Decision()
  steps(decision, 10, 1, 1) // the first say nothing
  steps(decision, 19, 0.1, 0.001)
  expect(decision.why).toBeUndefined()
  steps(decision, 1, 0.1, 0.001)
  expect(decision.who).toBe('cpu')
  expect(decision.why).toBe(
    'images are decoded on the CPU: it keeps up (2,560 samples/s, waiting 1.0 % of the time)',
  )
})

test('short steps are measured for longer', () => {
  const decision = new Decision()
  steps(decision, 145 + 145, 0.01, 0) // a second and a half to settle, as long to be measured
  expect(decision.why).toBeUndefined()
  steps(decision, 15, 0.01, 0)
  expect(decision.why).toBeDefined()
})

/** A whole trial, of steps of so many seconds. */
function trial(decision: Decision, seconds: number, waited: number): void {
  const { who } = decision
  for (let i = 0; i < 1000 && decision.who === who && decision.why === undefined; i++)
    steps(decision, 1, seconds, waited)
}

/** Who is chosen after all trials, each with steps of so many seconds. */
function tried(cpu: number, gpu: number, both: number, waited = 0.5): Decision {
  const decision = new Decision()
  trial(decision, cpu, cpu * waited)
  expect([decision.who, decision.cpuShare, decision.why]).toEqual(['gpu', 0, undefined])
  trial(decision, gpu, 0)
  expect([decision.who, decision.why]).toEqual(['both', undefined])
  trial(decision, both, 0)
  return decision
}

test('one that does not is compared with the device, and with both', () => {
  expect(tried(0.2, 0.1, 0.12)).toMatchObject({ who: 'gpu', cpuShare: 0 })
  expect(tried(0.2, 0.1, 0.1)).toMatchObject({ who: 'both' }) // as fast, and takes less of the GPU
  expect(tried(0.2, 0.1999, 0.1999)).toMatchObject({ who: 'cpu' }) // not worth it
  expect(tried(0.2, 0.1, 0.08).why).toBe(
    'images are decoded on both, 45 % of them on the CPU: 3,200 samples/s, waiting 0.0 % of the time ' +
      '(the CPU: 1,280 samples/s, waiting 50.0 % of the time; the GPU: 2,560 samples/s, waiting 0.0 % of the time)',
  )
})

test('when both decode the CPU does nearly what it can, and something at least', () => {
  expect(tried(0.2, 0.2, 0.1).cpuShare).toBe(0.45)
  expect(tried(0.2, 0.2, 0.1, 0.4).cpuShare).toBe(0.55)
  expect(tried(0.2, 0.1, 0.08, 0.99).cpuShare).toBe(0.05)
})

test('while a change is due nothing is measured', () => {
  const decision = new Decision()
  steps(decision, 30, 0.2, 0.1)
  for (let i = 0; i < 100; i++) decision.step('cpu', 256, 1, 1)
  expect([decision.who, decision.why]).toEqual(['gpu', undefined])
})

test('a device that turns out not to be able is not asked again', () => {
  const decision = new Decision()
  steps(decision, 30, 0.2, 0.1)
  decision.refuse('no memory is left')
  expect([decision.who, decision.why]).toEqual(['cpu', 'images are decoded on the CPU: no memory is left'])
})
