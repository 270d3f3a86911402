/** What is made of measured runs: intervals, the choice, the baseline, logs, files and the page. */
import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { changeText, intervalText } from '../../../bench/change-words.js'
import { compareBenches, reasonsAgainst } from '../../../bench/compare/compare.js'
import type { Configuration } from '../../../bench/grid/configuration.js'
import type { RunFigures, RunTimes } from '../../../bench/measure/task.js'
import { reportOf } from '../../../bench/report.js'
import { choose, shellWord } from '../../../bench/result/choose.js'
import { isWrittenTo, readBench, writeBench } from '../../../bench/result/file.js'
import { stepEvents, stepLog } from '../../../bench/result/step-log.js'
import { type MeasuredRun, summarize } from '../../../bench/result/summary.js'
import { differs, geometricMean, median, pairedRatio, ratio, spread } from '../../../bench/statistics.js'
import { fileOf, header, runsOf, setting } from './made.js'

const folder = temporaryFolder()
const rounds = (...values: number[]) => new Map(values.map((value, i) => [i + 1, value]))

const TIMES: RunTimes = {
  pid: 7,
  begun: 1_790_000_000_000,
  end: 500,
  setup: [0, 100],
  steady: 1,
  epochs: [
    { epoch: 0, start: 110, end: 300 },
    { epoch: 1, start: 300, end: 490 },
  ],
  steps: [
    [110, 200, 220],
    [220, 230, 250],
    [250, 400, 420],
  ],
  batches: [
    { batch: 0, worker: 0, start: 120, end: 190 },
    { batch: 1, worker: 1, start: 150, end: 229 },
  ],
}

test('medians and spreads', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(spread([5, 1, 9])).toEqual({ median: 5, min: 1, max: 9 })
})

test('pairs of one round cancel what drifts', () => {
  // Rounds differ by a factor of 3, the two by exactly 10 %.
  const paired = pairedRatio(rounds(110, 220, 330), rounds(100, 200, 300))
  expect(paired.value).toBeCloseTo(1.1, 9)
  expect(paired.interval![0]).toBeCloseTo(1.1, 6)
  expect(differs(paired)).toBe(true)
  // The same without pairs can't be told from noise.
  expect(differs(ratio([110, 220, 330], [100, 200, 300]))).toBe(false)
})

test('one or two rounds have no interval', () => {
  expect(pairedRatio(rounds(110), rounds(100))).toEqual({ value: expect.closeTo(1.1, 9), interval: null })
  expect(pairedRatio(rounds(110, 220), rounds(100, 200)).interval).toBeNull()
  expect(ratio([110, 220], [100, 200, 300]).interval).toBeNull()
  expect(ratio([110, 111, 112], [100, 101]).interval).toBeNull()
  expect(ratio([110, 111, 112], [100, 101, 102]).interval).not.toBeNull()
})

test('a change is said with both bounds of its interval', () => {
  expect(changeText({ value: 0.88, interval: [0.8, 0.97] })).toBe('−12 % (−20 … −3.0)')
  expect(changeText({ value: 7.99, interval: [1.2, 53.4] })).toBe('+699 % (+20 … > +900)')
  expect(changeText({ value: 1.64, interval: [0.02, 130] })).toBe('+64 % (< −90 … > +900)')
  expect(changeText({ value: 20, interval: [12, 33.3] })).toBe('+1,900 % (+1,100 … +3,230)')
  expect(changeText({ value: 1, interval: null })).toBe('0 %')
  expect(intervalText({ value: 1.02, interval: [0.9996, 1.04] })).toBe('0 … +4.0 %')
})

test('a word of a command line comes through a shell as it was', () => {
  for (const word of ['a/b-1.json#small', 'x y é/a \'é".json', '{"source": {}}', '$HOME `ls` *', '#x', ''])
    expect(execFileSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' })).toBe(word)
  expect(shellWord('a/b-1.json#small')).toBe('a/b-1.json#small')
})

test('an interval has the width of Student’s', () => {
  // Logs 0, 0.1, 0.2: mean 0.1, standard error 0.1/√3, t of 2 degrees 4.303.
  const { value, interval } = pairedRatio(rounds(1, Math.exp(0.1), Math.exp(0.2)), rounds(1, 1, 1))
  expect(Math.log(value)).toBeCloseTo(0.1, 9)
  expect(Math.log(interval![1])).toBeCloseTo(0.1 + (4.303 * 0.1) / Math.sqrt(3), 6)
})

const CALLED = { feed: 'f', stepMs: 0 }
const BASELINE = runsOf(setting(0, 1), 'baseline', [200, 202, 198])

test('the best', () => {
  const file = fileOf(
    BASELINE,
    runsOf(setting(4), 'default', [800, 810, 790]),
    runsOf(setting(8), 'variation', [1000, 1012, 988]),
    runsOf(setting(6, 2), 'variation', [960, 971, 949]),
    runsOf(setting(2), 'variation', [500, 505, 495]),
  )
  const choice = choose(summarize(file.runs), file.runs, { feed: 'my cats.json', stepMs: 20 })!
  expect(choice.best).toBe('w8-d4')
  expect(choice.alike).toEqual(['w8-d4'])
  expect(choice.bestOverDefault.value).toBeCloseTo(1.25, 2)
  expect(choice.sure).toBe(true)
  expect(choice.command).toBe("millrace run 'my cats.json' --workers 8 --depth 4 --step-ms 20")
  expect(choice.conclusion).toMatch(/^8 workers, depth 4 is best: 1,000 samples\/s \(988–1,012\)/)
  expect(choice.conclusion).toContain('5.0 times the rate without workers')
})

test('within noise the default stays, and it is said', () => {
  const file = fileOf(
    runsOf(setting(0, 1), 'baseline', [790, 820, 800]),
    runsOf(setting(4), 'default', [800, 850, 780]),
    runsOf(setting(8), 'variation', [820, 780, 850]),
  )
  const choice = choose(summarize(file.runs), file.runs, CALLED)!
  expect(choice.best).toBe('w4-d4')
  expect(choice.sure).toBe(false)
  expect(choice.conclusion).toContain('No difference is beyond noise. The default')
  expect(choice.conclusion).not.toContain('is best')
})

test('what leads the default but not its neighbour is fastest, not best', () => {
  const file = fileOf(
    BASELINE,
    runsOf(setting(4), 'default', [800, 810, 790]),
    runsOf(setting(8), 'variation', [1000, 1020, 980]),
    runsOf(setting(6), 'variation', [990, 1030, 970]),
  )
  const choice = choose(summarize(file.runs), file.runs, CALLED)!
  expect(choice).toMatchObject({ best: 'w8-d4', sure: false, alike: ['w8-d4', 'w6-d4'] })
  expect(choice.conclusion).toMatch(
    /^8 workers, depth 4 is fastest: .*No difference beyond noise: w8-d4, w6-d4\./,
  )
})

test('one or two rounds: nothing is best, the default stays', () => {
  for (const [count, said] of [
    [1, '1 round can'],
    [2, '2 rounds can'],
  ] as const) {
    const file = fileOf(
      BASELINE.slice(0, count),
      runsOf(setting(4), 'default', [800, 801].slice(0, count)),
      runsOf(setting(8), 'variation', [2000, 2001].slice(0, count)),
    )
    const choice = choose(summarize(file.runs), file.runs, CALLED)!
    expect(choice).toMatchObject({ best: 'w4-d4', sure: false })
    expect(choice.conclusion).toContain(`${said}'t tell: take 5 (--rounds 5). The default`)
    expect(choice.conclusion).not.toMatch(/is best/)
  }
})

const AB = { a: 'before', b: 'now' }

test('what is slower than a baseline beyond noise is named, and what is missing', () => {
  const before = fileOf(BASELINE, runsOf(setting(4), 'default', [800, 805, 795]))
  const at = (...rates: number[]) => fileOf(BASELINE, runsOf(setting(4), 'default', rates))
  expect(compareBenches(before, at(720, 724, 716), AB).conclusion).toMatch(/^B is slower with w4-d4: −10 %/)
  expect(compareBenches(before, before, AB).conclusion).toContain('No difference beyond noise')
  // Slower on average, but by less than it varies.
  const noisy = compareBenches(before, at(900, 500, 720), AB)
  expect(noisy.pairs.map(({ comparison }) => comparison.rate.significant)).toEqual([false, false])
  expect(compareBenches(before, fileOf(BASELINE), AB).notes).toContain('only in one of the two: w4-d4')
  expect(() => compareBenches(before, fileOf([]), AB)).toThrow('no configuration in common')
})

test('the rates of a comparison are those that its change is made from', () => {
  // By medians this would have been 126 → 136, and slower.
  const before = fileOf(BASELINE, runsOf(setting(4), 'default', [120, 126, 300]))
  const now = fileOf(BASELINE, runsOf(setting(4), 'default', [90, 136, 140]))
  for (const { comparison } of compareBenches(before, now, AB).pairs)
    expect(comparison.rate.b / comparison.rate.a).toBeCloseTo(comparison.rate.ratio.value, 9)
  const [usual] = summarize(now.runs).filter(({ configuration }) => configuration.role === 'default')
  expect(usual.samplesPerSecond.mean).toBeCloseTo(geometricMean([90, 136, 140]), 9)
})

test('other machines, feeds and steps are named', () => {
  expect(reasonsAgainst(header, header)).toEqual([])
  const other = structuredClone(header)
  other.machine.cpu = 'Another'
  other.data.order = 'x'
  other.parameters.stepMs = 20
  expect(reasonsAgainst(header, other).map(text => text.split(':')[0])).toEqual([
    'another CPU',
    'another feed (order hash)',
    'another step',
  ])
})

test('per-step records have the schema that notebooks plot', () => {
  const events = stepEvents(TIMES, 'cats.json', { workers: 2 })
  expect(events[0]).toEqual({
    event: 'run start',
    time: 1_790_000_000,
    data_params: 'cats.json',
    locals: { workers: 2 },
  })
  expect(events.at(-1)).toEqual({ event: 'run end', time: 1_790_000_000.5, duration: 0.5 })
  const names = events.map(({ event }) => event)
  for (const name of ['setup', 'epoch', 'get-batch', 'training'])
    expect(names.filter(one => one === `${name} start`).length).toBe(
      names.filter(one => one === `${name} end`).length,
    )
  expect(events.find(({ event }) => event === 'get-batch end')).toMatchObject({
    idx: 0,
    pid: 0,
    duration: 0.07,
  })
  const trained = events.filter(({ event }) => event === 'training end')
  expect(trained.map(({ batch }) => batch)).toEqual([0, 1, 2])
  expect(trained[1].duration).toBeCloseTo(0.02, 9)
  const times = events.map(({ time }) => time)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(
    stepLog(events)
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toEqual(events)
})

test('bench.jsonl is read as it was written; what is none is refused', () => {
  const path = join(folder, 'bench.jsonl')
  // Rates whose figures have few digits: a file keeps seven.
  const file = fileOf(runsOf(setting(0, 1), 'baseline', [250, 500]), runsOf(setting(4), 'default', [800]))
  writeBench(path, file)
  expect(readBench(path)).toEqual(file)
  expect(readBench(folder)).toEqual(file)
  writeFileSync(path, '{"type":"bench","version":99}\n')
  expect(() => readBench(path)).toThrow('version 99')
  writeFileSync(path, '{"type":"run"}\n')
  expect(() => readBench(path)).toThrow('line 1 is no run')
  const [run] = runsOf(setting(4), 'default', [800])
  const refused = (change: (run: MeasuredRun) => void) => {
    const other = structuredClone(run)
    change(other)
    writeBench(path, fileOf([other]))
    return () => readBench(path)
  }
  expect(refused(() => {})).not.toThrow()
  expect(refused(({ figures }) => delete (figures as Partial<RunFigures>).parts)).toThrow(
    'line 2 is no run: figures.parts: is missing',
  )
  // Names become names of files.
  const named = refused(({ configuration }) => (configuration.name = '../../evil'))
  expect(named).toThrow('line 2 has no configuration of bench: its settings are not called "../../evil"')
  expect(refused(one => (one.configuration = { name: 'w4-d4' } as Configuration))).toThrow(
    'has no configuration of bench: role: is missing',
  )
  expect(refused(({ configuration }) => (configuration.depth = 1.5))).toThrow(
    'has no configuration of bench: depth: expected a whole number',
  )
  writeFileSync(path, 'x\n')
  expect(() => readBench(path)).toThrow('line 1 is no JSON')
})

test('a baseline that results would be written over is known, by whatever name', () => {
  const out = temporaryFolder()
  writeFileSync(join(out, 'bench.jsonl'), '')
  symlinkSync(out, join(folder, 'link'))
  expect(isWrittenTo(out, out)).toBe(true)
  expect(isWrittenTo(join(folder, 'link'), join(out, 'bench.jsonl'))).toBe(true)
  expect(isWrittenTo(join(out, 'new'), out)).toBe(false)
})

test('the knee is the fewest workers that give nearly the most', () => {
  const file = fileOf(
    BASELINE,
    runsOf(setting(8), 'default', [1000]),
    runsOf(setting(2), 'variation', [500]),
    runsOf(setting(4), 'variation', [960]),
    runsOf(setting(6, 8), 'variation', [2000]),
  )
  file.summary = { configurations: summarize(file.runs), choice: null }
  const { rates } = reportOf(file, new Map())
  expect(rates!.points.map(({ workers }) => workers)).toEqual([0, 2, 4, 8])
  expect(rates!.knee).toBe(4)
  // 32 samples a step of 10 ms.
  expect(rates!.demand).toBeCloseTo(3200, 6)
})

test('the report has the figures of the runs', () => {
  const file = fileOf(
    BASELINE,
    runsOf(setting(4), 'default', [800, 810, 790]),
    runsOf(setting(8), 'variation', [1234, 1240, 1230]),
  )
  const summaries = summarize(file.runs)
  file.summary = {
    configurations: summaries,
    choice: choose(summaries, file.runs, { feed: file.header.feed, stepMs: 10 }) ?? null,
  }
  file.failed.push({ ...runsOf(setting(6), 'variation', [1])[0], message: 'no room' })
  const report = reportOf(
    file,
    new Map([
      ['w8-d4', TIMES],
      ['w0-d1', TIMES],
    ]),
  )
  expect(JSON.stringify(report)).not.toMatch(/NaN|undefined/)
  expect(report.headline).toMatchObject({ tone: 'good', what: '8 workers, depth 4 is best:' })
  expect(report.headline.why).toMatch(/^1,235 samples\/s \(1,230–1,240\), /)
  expect(report.commands).toEqual([
    { text: 'millrace run cats.json --workers 8 --depth 4 --step-ms 10', about: '' },
  ])
  expect(report.cards.map(({ title, value }) => [title, value])).toEqual([
    ['Best', '1,235'], // the geometric mean
    ['Default', '800'],
    ['Baseline', '200'],
  ])
  expect(report.table.rows.map(({ cells, mark }) => [...cells.slice(0, 3), mark])).toEqual([
    ['w0-d1', '200', '198–202', 'baseline'],
    ['w4-d4', '800', '790–810', 'default'],
    ['w8-d4', '1,235', '1,230–1,240', 'best'],
  ])
  expect(report.rates).toMatchObject({ knee: 8 })
  expect(report.facts).toContainEqual(['w6-d4 failed', 'no room'])
  const [baseline, usual, best] = report.runs
  expect(best.memory).toEqual({ bytes: 2e8, about: ', 1 CPU s for 1,000 samples' })
  expect([baseline.waits, usual.waits?.first, best.waits?.first]).toEqual([undefined, 300, 300])
  expect(best.waits!.steps).toHaveLength(6)
  // The best and the baseline have timelines: setup, steps, what each worker made, epochs.
  expect(usual.steps).toBeUndefined()
  expect(baseline.steps).toEqual(best.steps)
  expect(best).toMatchObject({ setup: [0, 100], steps: [{ start: 110, wait: 90, compute: 20 }, {}, {}] })
  expect(best.workers).toEqual([
    { name: 'worker 0', spans: [['make', 120, 70]] },
    { name: 'worker 1', spans: [['make', 150, 79]] },
  ])
  expect(best.epochs).toHaveLength(2)
})

test('a bench that was ended early has a report of what there is', () => {
  const report = reportOf(fileOf(BASELINE), new Map())
  expect(report.headline.what).toBe('The bench was ended before it was done:')
  expect([report.cards, report.runs, report.rates]).toEqual([[], [], undefined])
})
