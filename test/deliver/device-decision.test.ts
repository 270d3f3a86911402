/** Who decodes, by measuring. */
import { expect, test } from 'vitest'
import { Decision } from '../../src/deliver/device-decision.js'

/** Steps of 256 samples, each of so many seconds, some of them waited. */
function steps(decision: Decision, count: number, seconds: number, waited: number): void {
  for (let i = 0; i < count; i++) decision.step(decision.where, 256, seconds, waited)
}

test('a CPU that keeps up stays', () => {
  const decision = new Decision()
  steps(decision, 10, 1, 1) // the first say nothing
  steps(decision, 19, 0.1, 0.001)
  expect(decision.why).toBeUndefined()
  steps(decision, 1, 0.1, 0.001)
  expect(decision.where).toBe('cpu')
  expect(decision.why).toBe(
    'images are decoded on the CPU: it keeps up (2,560 samples/s, waiting 1.0 % of the time)',
  )
})

test('short steps are measured for longer', () => {
  const decision = new Decision()
  steps(decision, 10 + 100, 0.01, 0)
  expect(decision.why).toBeUndefined()
  steps(decision, 51, 0.01, 0)
  expect(decision.why).toBeDefined()
})

test('one that does not is compared with the device', () => {
  for (const [seconds, winner] of [
    [0.1, 'gpu'],
    [0.1999, 'cpu'], // not worth it
    [0.3, 'cpu'],
  ] as const) {
    const decision = new Decision()
    steps(decision, 30, 0.2, 0.1)
    expect([decision.where, decision.why]).toEqual(['gpu', undefined])
    steps(decision, 30, seconds, 0)
    expect(decision.where).toBe(winner)
    expect(decision.why).toContain(
      winner === 'gpu' ? 'decoded on the GPU: ' : 'decoded on the CPU: 1,280 samples/s',
    )
  }
})

test('while a change is due nothing is measured', () => {
  const decision = new Decision()
  steps(decision, 30, 0.2, 0.1)
  for (let i = 0; i < 100; i++) decision.step('cpu', 256, 1, 1)
  expect([decision.where, decision.why]).toEqual(['gpu', undefined])
})

test('a device that turns out not to be able is not asked again', () => {
  const decision = new Decision()
  steps(decision, 30, 0.2, 0.1)
  decision.refuse('no memory is left')
  expect([decision.where, decision.why]).toEqual(['cpu', 'images are decoded on the CPU: no memory is left'])
})
