/** What is taken for a step without workers beside it. */
import { expect, test } from 'vitest'
import { heldSteps } from '../../src/diagnose/experiments.js'
import type { StepTimes } from '../../src/observe/evidence.js'

const step = (compute: number, supply = 0, count = 1): StepTimes => ({
  ...{ asked: 0, supply, handOver: 0, transfer: 0, compute, samples: 1, count },
})

test('steps of a rest are those before the ring is empty, without the first', () => {
  expect(heldSteps([step(9), step(5), step(7), step(30, 400), step(30), step(30)], 8)).toEqual({
    ms: 6,
    steps: 2,
  })
  expect(heldSteps([step(10, 0, 2), step(30, 400)], 4)).toEqual({ ms: 5, steps: 2 })
})

test('no more of them than a ring holds: later ones have workers beside them', () => {
  const steps = Array.from({ length: 40 }, () => step(5))
  expect(heldSteps(steps, 8)?.steps).toBe(8)
  expect(heldSteps([step(60, 0, 12)], 8)).toBeUndefined()
})

test('a ring that was empty holds none', () => {
  expect(heldSteps([step(5, 100), step(5)], 8)).toBeUndefined()
  expect(heldSteps([], 8)).toBeUndefined()
  expect(heldSteps([step(5), step(5), step(5, 100)], 8)).toBeUndefined() // one is too few
})
