/** `millrace bench`: which configuration of a feed is best on this machine, and is it slower than it was? */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { areTooFew, tooFew } from '../../bench/change-words.js'
import type { Compared } from '../../bench/compare/compare.js'
import { type Binding, NOTHING_GIVEN } from '../../bench/grid/configuration.js'
import type { Asked } from '../../bench/grid/grid.js'
import { figuresOf, marksOf } from '../../bench/report.js'
import type { Choice } from '../../bench/result/choose.js'
import type { BenchFile, Header } from '../../bench/result/file.js'
import type { Summary } from '../../bench/result/summary.js'
import { command, type Outcome, UsageError } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { notice, Progress } from '../progress.js'
import { say } from '../say.js'
import { right, table } from '../table.js'
import { counted, duration, parseBytes, percent } from '../units.js'
import { textOf } from './compare.js'

/** What says which configurations are measured, where no --baseline does. */
const GRID = ['workers', 'depth', 'affinity', 'cache'] as const
/** Programs beside a bench that use more cores than this make its figures rough. */
const BUSY = 0.3

export const bench = command({
  name: 'bench',
  summary: 'finds the best configuration of a feed on this machine',
  about:
    'Measures configurations of a feed, each run in a fresh process: without workers, the default, and variations of workers, depth, binding ' +
    'and cache, one after the other from the default on. Rounds are interleaved, the warm-up is left out. The trainer ' +
    'sleeps --step-ms a step; without that, it is measured what the feed itself can do. Writes bench.jsonl, ' +
    'steps/*.log and report.html to --out. With --baseline it compares with an earlier bench.jsonl, and exits with 2 where the two can’t be compared.',
  args: [{ name: 'FEED', about: 'a feed, as `millrace run` takes it' }],
  options: {
    'step-ms': { type: 'number', value: 'MS', about: 'length of a simulated training step', default: 0 },
    workers: { type: 'text', value: 'LIST', about: 'workers to try, such as 1,2,4,8' },
    depth: { type: 'text', value: 'LIST', about: 'batches made ahead to try, such as 2,4,8' },
    affinity: { type: 'text', value: 'LIST', about: 'binding to try: off,auto' },
    cache: { type: 'text', value: 'LIST', about: 'sizes of the block cache to try, such as 256MiB,1GiB' },
    rounds: { type: 'count', value: 'N', about: 'runs of each configuration', default: 3, least: 1 },
    seconds: {
      type: 'number',
      value: 'S',
      about: 'length of a run without its warm-up, and up to 2.5 times that until it has 100 steps',
      default: 3,
      least: 0.2,
    },
    steps: {
      type: 'count',
      value: 'N',
      about: 'steps of a run without its warm-up, in place of seconds',
      least: 1,
    },
    epochs: { type: 'count', value: 'N', about: 'epochs of a run, in place of seconds', least: 1 },
    'warm-up': {
      type: 'text',
      value: 'WHAT',
      about: 'what is left out: the first "steps", or the first "epoch"',
      default: 'steps',
    },
    out: { type: 'text', value: 'DIR', about: 'where results go', default: 'millrace-bench' },
    baseline: {
      type: 'text',
      value: 'FILE',
      about: 'an earlier bench.jsonl to compare with; its configurations are measured',
    },
    force: { type: 'flag', about: 'with --baseline: compare other machines, feeds or steps all the same' },
    ...flagsOf('bench'),
  },
  examples: [
    ['millrace bench cats.json --step-ms 50', 'what feeds a trainer with steps of 50 ms best, here?'],
    ['millrace bench cats.json --workers 1,2,4,8 --depth 4 --epochs 2', 'these workers, over two epochs'],
    ['millrace bench cats.json --step-ms 50 --baseline main/bench.jsonl', 'did a change make it slower?'],
  ],
  async run({ args: [feed], values, given }) {
    const { rounds, seconds, steps, epochs, out, baseline, force } = values
    const stepMs = values['step-ms']
    const warmUp = values['warm-up']
    if (warmUp !== 'steps' && warmUp !== 'epoch')
      throw new UsageError(`--warm-up wants "steps" or "epoch", not "${warmUp}"`)
    if (warmUp === 'epoch' && epochs === 1)
      throw new UsageError('--warm-up epoch leaves nothing of one epoch: give --epochs 2 or more')
    if (baseline === undefined && force) throw new UsageError('--force is for --baseline FILE')
    if (baseline !== undefined && areTooFew(rounds)) throw new UsageError(`--baseline: ${tooFew(rounds)}`)
    const [
      { benchFeed },
      { canBind },
      { loadFeed },
      { readBench, isWrittenTo },
      { compareBenches, reasonsAgainst },
    ] = await Promise.all([
      import('../../bench/bench.js'),
      import('../../../core/system/process/affinity.js'),
      import('../feed-argument.js'),
      import('../../bench/result/file.js'),
      import('../../bench/compare/compare.js'),
    ])
    const asked = askedOf(values)
    if (statSync(out, { throwIfNoEntry: false })?.isFile())
      throw new UsageError(`--out ${out} is a file: results go into a folder, give another --out DIR`)
    if (asked.affinity?.includes('auto') && !canBind)
      throw new UsageError('--affinity auto: workers can’t be bound to cores on this system')
    const before = baseline === undefined ? undefined : baselineOf(baseline, readBench)
    if (before) {
      // Results are written after every run: what they are compared with would be lost.
      if (isWrittenTo(out, baseline!))
        throw new UsageError(
          `--baseline ${baseline} is where results go: give another --out DIR, so that it stays`,
        )
      const unused = GRID.filter(name => given.has(name)).map(name => `--${name}`)
      if (unused.length > 0) notice(`${unused.join(', ')}: not used, --baseline says what is measured`)
    }
    const plugins = values.plugin
    const { json, root } = await loadFeed(feed, values['allow-code'], plugins)
    const progress = new Progress('measuring', { unit: 'runs' })
    let kill = () => {}
    const forget = onInterrupt(() => kill())
    try {
      const found = await benchFeed(
        json,
        { ...optionsOf('bench', values), root, plugins },
        {
          feed,
          stepMs,
          asked,
          rounds,
          out: resolve(out),
          notice,
          length: { seconds, steps, epochs, skipEpoch: warmUp === 'epoch' },
          ...(before && { only: onlyThese(before) }),
          begins: (header, about) => {
            if (before && !force) refuseOther(reasonsAgainst(before.header, header), baseline!)
            tellBeginning(header, about, rounds)
          },
          progress: (done, of) => progress.set(done, of),
          running: how => {
            kill = how
          },
        },
      )
      progress.end()
      return outcome(found, out, before && compareBenches(before, found, { a: baseline!, b: out }))
    } finally {
      forget()
      progress.end()
    }
  },
})

/** An earlier file. One that can't be read is a mistake of the command line: 1 would mean "slower". */
function baselineOf(path: string, read: (path: string) => BenchFile): BenchFile {
  try {
    return read(path)
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? `there is no ${path}` : (error as Error).message
    throw new UsageError(`--baseline: ${why}`, { cause: error })
  }
}

/** The configurations of an earlier file, as they were measured there. */
function onlyThese({ runs }: BenchFile): BenchFile['runs'][0]['configuration'][] {
  return [...new Map(runs.map(({ configuration }) => [configuration.name, configuration])).values()]
}

function refuseOther(reasons: readonly string[], file: string): void {
  if (reasons.length === 0) return
  throw new UsageError(
    `${file} can't be compared with this:\n${reasons.join('\n')}\nMeasure it again here, or compare all the same with --force`,
  )
}

function tellBeginning(
  { machine, data }: Header,
  { configurations, seconds }: { configurations: number; seconds: number },
  rounds: number,
): void {
  const long = Number.isNaN(seconds) ? '' : `: about ${duration(seconds)}`
  say(`about ${counted(configurations, 'configuration')}, ${counted(rounds, 'round')}${long}`)
  if (machine.otherCores > BUSY)
    notice(
      `other programs use ${machine.otherCores.toFixed(1)} cores of ${machine.cores}: figures will be rough`,
    )
  if (data.absent !== null && data.absent > 0.05)
    notice(`${percent(data.absent)} of the data are not in memory: the first rounds read them from the disk`)
}

function askedOf(values: { workers?: string; depth?: string; affinity?: string; cache?: string }): Asked {
  const { workers, depth, affinity, cache } = values
  return {
    ...(workers !== undefined && { workers: numbersOf('workers', workers, 0) }),
    ...(depth !== undefined && { depth: numbersOf('depth', depth, 1) }),
    ...(affinity !== undefined && { affinity: affinity.split(',').map(bindingOf) }),
    ...(cache !== undefined && { cache: cache.split(',').map(sizeOf) }),
  }
}

function bindingOf(text: string): Binding {
  const word = text.trim()
  if (word === 'off' || word === 'auto') return word
  throw new UsageError(`--affinity wants off, auto or both with a comma, not "${text}"`)
}

function sizeOf(text: string): number {
  const size = parseBytes(text)
  if (size !== undefined) return size
  throw new UsageError(`--cache wants amounts such as 256MiB with commas between them, not "${text}"`)
}

/** A list of whole numbers, as an option gives it: `1,2,4`. */
function numbersOf(name: string, list: string, least: number): number[] {
  return list.split(',').map(text => {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    if (Number.isSafeInteger(number) && number >= least) return number
    throw new UsageError(
      `--${name} wants whole numbers from ${least} with commas between them, not "${list}"`,
    )
  })
}

/** What is said of the runs, as text and as JSON. */
export function outcome(
  found: BenchFile & { report: string },
  out: string,
  change: Compared | undefined,
): Outcome {
  const { header, summary, failed, report } = found
  const { configurations = [], choice = null } = summary ?? {}
  const text = [
    choice?.conclusion ?? 'Nothing could be compared.',
    '',
    tableOf(found),
    ...(change ? ['', 'The baseline (A), and now (B):', textOf(change)] : []),
    ...badSamples(configurations),
    ...failed.map(({ configuration, message }) => `${configuration.name} could not run: ${message}`),
    '',
    ...commandLine(configurations, choice),
    `report    ${out}/report.html`,
    `results   ${out}/bench.jsonl, ${out}/steps/`,
  ].join('\n')
  return {
    json: { header, configurations, choice, failed, report, ...(change && { baseline: change }) },
    text,
  }
}

function commandLine(summaries: readonly Summary[], choice: Choice | null): string[] {
  if (choice === null) return []
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')
  if (choice.best === usual?.configuration.name) return [`default   ${choice.command}      ${NOTHING_GIVEN}`]
  return [`${(choice.sure ? 'best' : 'fastest').padEnd(10)}${choice.command}`]
}

/** Figures of the report that a terminal has no room for. */
const LEFT_OUT = ['bytes/s', 'AU (nominal)', 'max']

function tableOf(found: BenchFile): string {
  const marks = marksOf(found)
  const rows = (found.summary?.configurations ?? []).map(one => {
    const [[, name], ...figures] = figuresOf(one).filter(([column]) => !LEFT_OUT.includes(column))
    return { name, figures, mark: marks.get(name) ?? '' }
  })
  const columns = (rows[0]?.figures ?? []).map(([column]) => (column === 'verdict' ? column : right(column)))
  return table(
    ['configuration', '', ...columns],
    rows.map(({ name, mark, figures }) => [name, mark, ...figures.map(([, text]) => text)]),
  )
}

/** Samples that were left out, or masked: rates are those of the others. */
function badSamples(summaries: readonly Summary[]): string[] {
  const bad = Math.max(0, ...summaries.map(one => one.bad))
  if (bad === 0) return []
  return [`${counted(bad, 'sample')} a run could not be used (\`millrace verify\` names them)`]
}
