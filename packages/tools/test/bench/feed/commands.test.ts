/** The command lines that `millrace bench` ends with. */
import { expect, test } from 'vitest'
import { reportOf } from '../../../bench/report.js'
import { choose } from '../../../bench/result/choose.js'
import { type MeasuredRun, summarize } from '../../../bench/result/summary.js'
import { outcome } from '../../../cli/verbs/bench.js'
import { fileOf, runsOf, setting } from './made.js'

const BASELINE = runsOf(setting(0, 1), 'baseline', [200, 202, 198])
const USUAL = runsOf(setting(4), 'default', [800, 810, 790])
const TUNED = '# nothing needs to be given: workers and depth are tuned then'

/** The lines that hold a command, as the verb prints them and as the page shows them. */
function linesOf(...groups: MeasuredRun[][]) {
  const file = fileOf(BASELINE, USUAL, ...groups)
  const configurations = summarize(file.runs)
  const choice = choose(configurations, file.runs, { feed: 'f.json', stepMs: 10 }) ?? null
  file.summary = { configurations, choice }
  const { text } = outcome({ ...file, report: 'r' }, 'out', undefined)
  const commands = (all: string) => all.split('\n').filter(line => line.includes('millrace run'))
  return { text: commands(text), page: reportOf(file, new Map()).commands }
}

test('what is faster than the default is called best, or fastest where others are alike', () => {
  const eight = runsOf(setting(8), 'variation', [1000, 1020, 980])
  const command = 'millrace run f.json --workers 8 --depth 4 --step-ms 10'
  expect(linesOf(eight).text).toEqual([`best      ${command}`])
  expect(linesOf(eight, runsOf(setting(9), 'variation', [990, 1030, 970])).text).toEqual([
    `fastest   ${command}`,
  ])
})

test('where the default is as good, nothing is given, and it is tuned', () => {
  const command = `millrace run f.json --step-ms 10      ${TUNED}`
  const { text, page } = linesOf(runsOf(setting(8), 'variation', [820, 780, 805]))
  expect(text).toEqual([`default   ${command}`])
  expect(page).toEqual([{ text: 'millrace run f.json --step-ms 10', about: TUNED.slice(2) }])
  // Surely the best.
  expect(linesOf(runsOf(setting(8), 'variation', [500, 505, 495])).text).toEqual([`default   ${command}`])
})
