/**
 * The best settings of the scenarios are kept in test/golden/tune/best.json, since finding them takes minutes. After a change of
 * scenarios or of the computed run: TUNE_GRID=write npx vitest run packages/observe/test/tune/grid.test.ts
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Best, bestOf, keyOf } from './grid.js'
import { SCENARIOS } from './scenarios.js'

const FILE = join(import.meta.dirname, '../../../../test/golden/tune/best.json')

function kept(): Record<string, Best> {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Best>
  } catch {
    return {}
  }
}

test.runIf(process.env.TUNE_GRID === 'write')('the best settings are found', () => {
  const before = kept()
  const entries = SCENARIOS.map(scenario => {
    const { [scenario.name]: known } = before
    return [scenario.name, known?.key === keyOf(scenario) ? known : bestOf(scenario)]
  })
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(entries), null, 1)}\n`)
})

test('the best settings are those of these scenarios', () => {
  const keys = Object.entries(kept()).map(([name, { key }]) => [name, key])
  expect(Object.fromEntries(keys)).toEqual(Object.fromEntries(SCENARIOS.map(one => [one.name, keyOf(one)])))
})

test('a grid gives the best settings that are kept', () => {
  const scenario = SCENARIOS[0]
  expect(bestOf(scenario)).toEqual(kept()[scenario.name])
})
