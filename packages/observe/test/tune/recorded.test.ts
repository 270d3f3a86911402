/**
 * Recorded signals give the same decisions. Each file of test/golden/tune/*.jsonl is a run: a look in each line. After a change of
 * what the tuner decides, look at how the decisions differ, then: TUNE_RECORD=write npx vitest run packages/observe/test/tune/recorded.test.ts
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Tuner } from '../../tune/tuner.js'
import { closedLoop } from './closed-loop.js'
import { again, type RecordedLook, recording } from './recorded.js'
import { defaultStart, SCENARIOS } from './scenarios.js'

const FOLDER = join(import.meta.dirname, '../../../../test/golden/tune')
const SECONDS = 60
/** Runs with few steps, so that files are small: which scenario, and with how many workers it begins. */
const RUNS: Record<string, { scenario: string; workers: number }> = {
  'pictures.jsonl': { scenario: 'large pictures, few rows', workers: 1 },
  'neighbours.jsonl': { scenario: 'neighbours come and go every 20 s', workers: 2 },
}

test.runIf(process.env.TUNE_RECORD === 'write')('runs are recorded', () => {
  for (const [file, { scenario: name, workers }] of Object.entries(RUNS)) {
    const scenario = SCENARIOS.find(one => one.name === name)!
    const lines: string[] = []
    const controller = recording(new Tuner(0), look => lines.push(JSON.stringify(look)))
    closedLoop(scenario, { ...defaultStart(scenario), workers }, SECONDS, 3, controller)
    writeFileSync(join(FOLDER, file), `${lines.join('\n')}\n`)
  }
})

const files = readdirSync(FOLDER).filter(name => name.endsWith('.jsonl'))

test('there is a recorded run of each', () => expect(files.sort()).toEqual(Object.keys(RUNS).sort()))

describe.each(files)('%s', file => {
  const looks = readFileSync(join(FOLDER, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as RecordedLook)

  test('has decisions in it', () => {
    const events = looks.flatMap(({ decisions }) => decisions.map(({ event }) => event))
    expect(events).toContain('tried')
    expect(events).toContain('kept')
  })

  test('gives the same decisions', () => {
    const tuner = new Tuner(0)
    for (const look of looks) {
      const { set, decisions, wake } = look
      const now = JSON.parse(JSON.stringify(again(tuner, look))) as ReturnType<typeof again>
      expect(now, `at ${look.now} ms`).toEqual({ set, decisions, wake })
    }
  })

  test('with other signals goes another way', () => {
    const tuner = new Tuner(0)
    const still = ({ sees }: RecordedLook) =>
      sees.map(see => ({
        ...see,
        seen: see.seen.map(one => ({ ...one, evidence: { ...one.evidence, steps: [] } })),
      }))
    // Without steps nothing is tried, so that it soon asks for other windows.
    expect(() => {
      for (const look of looks) again(tuner, { ...look, sees: still(look) })
    }).toThrow('was not recorded')
  })
})
