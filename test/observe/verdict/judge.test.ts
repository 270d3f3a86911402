import { expect, test } from 'vitest'
import { judge } from '../../../src/observe/verdict/judge.js'
import { explain, sentence } from '../../../src/observe/verdict/words.js'
import { made } from './made.js'

test('workers that always run while cores are idle are too few: how many are enough is computed', () => {
  const d = judge(made({ step: { supply: 10 }, running: 0.98, host: { idleCores: 2 } }))
  expect(d.verdict).toBe('under-parallel')
  expect(d.stage).toBe('decode')
  expect(d.remedies[0].set).toEqual({ workers: 3 })
  expect(d.remedies[0].predictedGain).toBeCloseTo(0.5, 1)
  expect(sentence(d)).toMatch(
    /^Your trainer loses 33 %: the workers can't decode fast enough, and cores are free\. 3 workers: \+50 % \(±\d+\)\.$/,
  )
  expect(explain(d)).toContain('--workers 3')
})

test('a trainer that does not wait is the limit', () => {
  const d = judge(made({ running: 0.3 }))
  expect(d.verdict).toBe('compute-bound')
  expect(d.remedies).toEqual([])
})

test('few steps say nothing', () => {
  expect(judge(made({ steps: 50, step: { supply: 10 }, running: 1 })).verdict).toBe('inconclusive')
})
