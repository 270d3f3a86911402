/**
 * The tuner against computed runs, from the default and from bad starts: after a minute it is near the best setting of a grid, it
 * is quiet afterwards, and it was never much worse than where it began for longer than one check.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlantSetting } from '../../../../test/support/simulated/plant.js'
import { Tuner } from '../../tune/tuner.js'
import { type ClosedRun, changesIn, closedLoop, rateOf, type Scenario, worstBeside } from './closed-loop.js'
import type { Best } from './grid.js'
import { badStarts, defaultStart, SCENARIOS } from './scenarios.js'

/** Of the best grid point's rate, after a minute. */
const BEST = 0.95
/** Changes that stay, in the five minutes after the first one. */
const CHANGES = 2
/** Of the rate of the run that is left as it began, over any window as long as a check. */
const WORST = 0.95
/** When it counts, and how long runs are (s): from the default start long ones, from bad ones shorter ones. */
const MINUTE = 60
const LONG = 360
const SHORT = 100
const SEED = 5
/** All bad starts in every scenario, rather than one of the five in turn: TUNE_STARTS=all, some minutes. */
const ALL = process.env.TUNE_STARTS === 'all'

const kept = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../test/golden/tune/best.json'), 'utf8'),
) as Record<string, Best>

/**
 * Cases that fall short: what is reached after a minute, of the best grid point and of where the run began, and how many changes
 * follow. Bars of their own, so that it does not get worse unseen; docs/measure.md says where the tuner is weak.
 */
interface Short {
  best?: number
  worst?: number
  changes?: number
}
const SHORT_OF: Record<string, Short> = {
  // Uneven work: gains of 5 to 15 % drown in the noise of turns of 1.5 s.
  'jpeg, 16 cores, the trainer nearly limits / depth 32': { best: 0.86 },
  'slow reads, few and far between / default': { best: 0.87 },
  'slow reads, few and far between / depth 32': { best: 0.86, worst: 0.89 },
  'small rows: one claim holds the batch / depth 32': { best: 0.93, worst: 0.94 },
  // More workers than cores harm each other: seen only by trying.
  'jpeg, 64 cores, too many makers harm / twice the cores': { best: 0.87 },
  'jpeg, 64 cores, too many makers harm / depth 1': { best: 0.92 },
  'jpeg, 64 cores, too many makers harm / depth 32': { worst: 0.89 },
  // Steps of seconds: too few of them in a minute.
  'storage with much latency, 2 cores / depth 1': { best: 0.92 },
  'the GPU limits, with slow steps / depth 1': { best: 0.92 },
  '8 ranks share 16 cores / depth 32': { best: 0.86 },
  // Neighbours come and go within a check.
  'neighbours come and go every 20 s, CPU-bound / one worker': { best: 0.92 },
  'neighbours come and go every 20 s, CPU-bound / depth 32': { best: 0.9 },
  'neighbours come and go every 7 s / default': { best: 0.93, changes: 3 },
  'neighbours come and go every 7 s / one worker': { best: 0.86 },
  'neighbours come and go every 7 s / depth 1': { best: 0.91 },
  'neighbours come and go every 7 s / depth 32': { best: 0.87 },
  'neighbours come and go every 7 s / half of the best': { best: 0.86 },
  'neighbours stay / one worker': { best: 0.77 },
  'the step halves / default': { best: 0.93, changes: 3 },
  // Slots hold the memory that more workers would need: less depth is not tried for that.
  'memory for few slots / depth 32': { best: 0.18, worst: 0.91 },
}

/** The best grid points, each run again beside the tuned run: on the same machine at the same moments. */
const measured = new Map<string, ClosedRun>()

function bestRate(scenario: Scenario, seconds: number): number {
  const { rate: _, ...setting } = bestOf(scenario)
  const run = measured.get(scenario.name) ?? closedLoop(scenario, setting, LONG, SEED)
  measured.set(scenario.name, run)
  return rateOf(run, MINUTE, seconds)
}

function tried(
  scenario: Scenario,
  start: PlantSetting,
  seconds: number,
  name: string,
): { figures: string; failed: string[] } {
  const {
    best = BEST,
    worst: least = WORST,
    changes = CHANGES,
  } = SHORT_OF[`${scenario.name} / ${name}`] ?? {}
  const run = closedLoop(scenario, start, seconds, SEED, new Tuner(0))
  const alone = closedLoop(scenario, start, seconds, SEED)
  const reached = rateOf(run, MINUTE, seconds) / bestRate(scenario, seconds)
  const { tried, kept } = changesIn(run, MINUTE, seconds)
  const worst = worstBeside(run, alone)
  const told = ({ workers, depth, claimRows }: PlantSetting) =>
    `${workers} workers, depth ${depth}, claims of ${claimRows}`
  const failed = [
    ...(reached < best ? [`${(100 * reached).toFixed(1)} % of the best after a minute`] : []),
    ...(kept > changes ? [`${kept} changes in the time after the first minute`] : []),
    ...(worst.ratio < least ? [`${(100 * worst.ratio).toFixed(1)} % of where it began`] : []),
  ]
  const figures = [
    `${scenario.name}: from ${told(start)} to ${told(run.final)}`,
    `  after a minute ${(100 * reached).toFixed(1)} % of the best (${told(bestOf(scenario))}), then ${tried} tried, ${kept} kept`,
    `  beside the start: ${((100 * rateOf(run, MINUTE, seconds)) / rateOf(alone, MINUTE, seconds)).toFixed(1)} %, at worst ${(100 * worst.ratio).toFixed(1)} % over ${worst.window} s from ${worst.at} s`,
    ...run.decisions.map(({ at, event, reason }) => `  ${(at / 1000).toFixed(1)} s ${event}: ${reason}`),
  ].join('\n')
  return { figures, failed }
}

function bestOf(scenario: Scenario): Best['best'][number] {
  return kept[scenario.name].best[0]
}

describe.each(SCENARIOS.map((scenario, i) => ({ name: scenario.name, scenario, i })))(
  '$name',
  ({ scenario, i }) => {
    test('from the default start', () => {
      const { figures, failed } = tried(scenario, defaultStart(scenario), LONG, 'default')
      expect(failed, figures).toEqual([])
    })

    const starts = Object.entries(badStarts(scenario, bestOf(scenario)))
    const some = starts.filter((_, n) => ALL || n === i % 5)
    test.each(some)('from %s', (name, start) => {
      const { figures, failed } = tried(scenario, start, SHORT, name)
      expect(failed, figures).toEqual([])
    })
  },
)
