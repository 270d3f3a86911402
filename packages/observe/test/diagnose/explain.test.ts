import { expect, test } from 'vitest'
import { explainDiagnosis } from '../../diagnose/api.js'
import { judge } from '../../verdict/judge.js'
import { explain } from '../../verdict/words.js'
import { made } from '../verdict/made.js'

test('a diagnosis is explained in the words of the command line', async () => {
  const diagnosis = judge(made({ step: { supply: 10 }, running: 0.98 }))
  expect(await explainDiagnosis(diagnosis)).toBe(explain(diagnosis))
  expect(await explainDiagnosis(diagnosis)).toMatch(/^Your trainer loses .*\n\nverdict {3}under-parallel/)
})
