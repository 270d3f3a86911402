/** `millrace bench`: which configuration of a feed is best on this machine, and is it slower than it was? */
import { resolve } from 'node:path'
import { MillraceError } from '../../basics/errors.js'
import type { Binding } from '../../bench/grid/configuration.js'
import type { Asked } from '../../bench/grid/grid.js'
import type { BenchFile, Header } from '../../bench/result/file.js'
import type { Gate } from '../../bench/result/gate.js'
import type { Summary } from '../../bench/result/summary.js'
import { WORKLOAD_OPTIONS, type WorkloadOptions } from '../../bench/workloads/options.js'
import { ALLOW_CODE, command, type Outcome, PLUGIN, UsageError, workersOf } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { notice, Progress } from '../progress.js'
import { table } from '../table.js'
import { bytes, count, counted, duration, parseBytes, percent } from '../units.js'

/** Programs beside a bench that use more cores than this make its figures rough. */
const BUSY = 0.3

export const bench = command({
  name: 'bench',
  summary: 'finds the best configuration of a feed on this machine',
  about:
    'Measures configurations of a feed, each run in a fresh process: without workers, the default, and variations of workers, depth, binding ' +
    'and cache, one after the other from the default on (--full: all combinations). Rounds are interleaved, the warm-up is left out. The trainer ' +
    'sleeps --step-ms a step, or as long as a recorded --profile says; without both, it is measured what the feed itself can do. Writes bench.jsonl, ' +
    'steps/*.log and report.html to --out. With --baseline it compares with an earlier bench.jsonl, and exits with 1 where that was faster. ' +
    'With --workload it writes the data of a DLIO-style workload once, feeds simulated accelerators with it, and says how busy they were.',
  args: [{ name: 'FEED', about: 'a feed, as `millrace run` takes it', optional: true }],
  options: {
    ...WORKLOAD_OPTIONS,
    'step-ms': { type: 'number', value: 'MS', about: 'length of a simulated training step', default: 0 },
    profile: {
      type: 'text',
      value: 'FILE',
      about: 'lengths of steps: ms a line, or JSON lines (a run log, steps/*.log)',
    },
    workers: { type: 'text', value: 'LIST', about: 'workers to try, such as 1,2,4,8' },
    depth: { type: 'text', value: 'LIST', about: 'batches made ahead to try, such as 2,4,8' },
    affinity: { type: 'text', value: 'LIST', about: 'binding to try: off,auto' },
    cache: { type: 'text', value: 'LIST', about: 'sizes of the block cache to try, such as 256MiB,1GiB' },
    full: { type: 'flag', about: 'all combinations of these, not one after the other' },
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
    'fail-if': {
      type: 'text',
      value: 'SHARE',
      about: 'with --baseline: exit with 1 if slower by more',
      default: '5%',
    },
    force: { type: 'flag', about: 'with --baseline: compare other machines, feeds or steps all the same' },
    rank: { type: 'count', value: 'R', about: 'data-parallel rank (by default the launcher’s)' },
    world: { type: 'count', value: 'W', about: 'number of ranks', least: 1 },
    timeout: { type: 'number', value: 'S', about: 'seconds that one sample may take', default: 60 },
    ...ALLOW_CODE,
    ...PLUGIN,
  },
  examples: [
    [
      'millrace bench --workload cosmoflow --accelerators max',
      'how many accelerators does this machine feed?',
    ],
    ['millrace bench cats.json --step-ms 50', 'what feeds a trainer with steps of 50 ms best, here?'],
    ['millrace bench cats.json --workers 1,2,4,8 --depth 4 --epochs 2', 'these workers, over two epochs'],
    [
      'millrace bench cats.json --step-ms 50 --baseline main/bench.jsonl --fail-if 5%',
      'in CI: did a change make it slower?',
    ],
  ],
  async run({ args: [feed], values }) {
    if (values.workload !== undefined) return workload(feed, values)
    if (feed === undefined) throw new UsageError('millrace bench takes a FEED, or --workload NAME')
    const { rounds, seconds, steps, epochs, out, baseline, force, full, timeout, rank, world } = values
    const stepMs = values['step-ms']
    if (values.profile !== undefined && stepMs > 0)
      throw new UsageError('--step-ms and --profile both say how long steps are: give one of them')
    const warmUp = values['warm-up']
    if (warmUp !== 'steps' && warmUp !== 'epoch')
      throw new UsageError(`--warm-up wants "steps" or "epoch", not "${warmUp}"`)
    if (warmUp === 'epoch' && epochs === 1)
      throw new UsageError('--warm-up epoch leaves nothing of one epoch: give --epochs 2 or more')
    if (baseline === undefined && force) throw new UsageError('--force is for --baseline FILE')
    const limit = shareOf(values['fail-if'])
    const [
      { benchFeed, canBind },
      { loadFeed },
      { givenPlugins },
      { readProfile },
      { readBench },
      gates,
      words,
    ] = await Promise.all([
      import('../../bench/bench.js'),
      import('../feed-argument.js'),
      import('../locate.js'),
      import('../../bench/profile.js'),
      import('../../bench/result/file.js'),
      import('../../bench/result/gate.js'),
      import('../../bench/result/summary.js'),
    ])
    const asked = askedOf(values)
    if (asked.affinity?.includes('auto') && !canBind())
      throw new UsageError('--affinity auto: this Millrace can’t bind workers to cores')
    const profile = values.profile === undefined ? undefined : readProfile(values.profile)
    const before = baseline === undefined ? undefined : readBench(baseline)
    const plugins = await givenPlugins(values.plugin)
    const { json, root } = await loadFeed(feed, values['allow-code'], plugins)
    const progress = new Progress('measuring', { unit: 'runs' })
    let kill = () => {}
    const forget = onInterrupt(() => kill())
    try {
      const found = await benchFeed(
        json,
        { root, plugins, timeout, rank, world },
        {
          ...{ feed, stepMs, profile, asked, full, rounds, out: resolve(out), notice },
          length: { seconds, steps, epochs, skipEpoch: warmUp === 'epoch' },
          ...(before && { only: onlyThese(before) }),
          begins: (header, about) => {
            if (before && !force) refuseOther(gates.reasonsAgainst(before.header, header), baseline!)
            tellBeginning(header, about, rounds)
          },
          progress: (done, of) => progress.set(done, of),
          running: how => {
            kill = how
          },
        },
      )
      progress.end()
      const gate = before && gates.gate(before, found, limit)
      return outcome(found, out, gate, words)
    } finally {
      forget()
      progress.end()
    }
  },
})

/** What both forms take: one number each, where a workload is measured. */
interface WorkloadValues extends Omit<WorkloadOptions, 'workload' | 'workers' | 'depth'> {
  workload?: string
  workers?: string
  depth?: string
}

async function workload(feed: string | undefined, values: WorkloadValues): Promise<Outcome> {
  if (feed !== undefined) throw new UsageError('--workload has a feed of its own: leave FEED out')
  const { workload = '', workers, depth, ...given } = values
  const { benchWorkload } = await import('../../bench/workloads/run.js')
  const progress = new Progress('opening', { unit: 'steps' })
  const only = depth === undefined ? [] : numbersOf('depth', depth, 1)
  if (only.length > 1) throw new UsageError('--workload measures one configuration: give one --depth')
  try {
    return await benchWorkload({
      ...{ ...given, workload, depth: only[0], workers: workersOf(workers ?? 'auto'), onNotice: notice },
      onProgress: (done, total, what, unit) => progress.set(done, total, what, unit),
    })
  } finally {
    progress.end()
  }
}

/** The configurations of an earlier file, as they were measured there. */
function onlyThese({ runs }: BenchFile): BenchFile['runs'][0]['configuration'][] {
  return [...new Map(runs.map(({ configuration }) => [configuration.name, configuration])).values()]
}

function refuseOther(reasons: readonly string[], file: string): void {
  if (reasons.length === 0) return
  throw new MillraceError(
    `${file} can't be compared with this:\n${reasons.join('\n')}\nMeasure it again here, or compare all the same with --force`,
  )
}

function tellBeginning(
  { machine, data }: Header,
  { configurations, seconds }: { configurations: number; seconds: number },
  rounds: number,
): void {
  const long = Number.isNaN(seconds) ? '' : `: about ${duration(seconds)}`
  process.stderr.write(
    `${counted(configurations, 'configuration')}, more or less, ${counted(rounds, 'round')}${long}\n`,
  )
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

function numbersOf(name: string, list: string, least: number): number[] {
  return list.split(',').map(text => {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    if (Number.isSafeInteger(number) && number >= least) return number
    throw new UsageError(
      `--${name} wants whole numbers from ${least} with commas between them, not "${list}"`,
    )
  })
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

/** `5%`, `5 %` or `0.05`. */
function shareOf(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(text)
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1)
  if (share >= 0 && share < 1) return share
  throw new UsageError(`--fail-if wants a share such as 5%, not "${text}"`)
}

type Words = Pick<typeof import('../../bench/result/summary.js'), 'verdictText'>

function outcome(
  found: BenchFile & { report: string },
  out: string,
  gate: Gate | undefined,
  words: Words,
): Outcome {
  const { header, summary, failed, report } = found
  const { configurations = [], choice = null } = summary ?? {}
  const text = [
    choice?.conclusion ?? 'Nothing could be compared.',
    ...(gate ? [gate.conclusion] : []),
    '',
    tableOf(configurations, words, choice?.best, choice?.cheapest),
    ...(gate ? ['', gateTable(gate)] : []),
    ...failed.map(({ configuration, message }) => `${configuration.name} could not run: ${message}`),
    '',
    ...commandLines(choice),
    `report    ${report}`,
    `results   ${out}/bench.jsonl, ${out}/steps/`,
  ].join('\n')
  return {
    json: { header, configurations, choice, failed, report, ...(gate && { gate }) },
    text,
    code: gate?.failed ? 1 : 0,
  }
}

function commandLines(choice: NonNullable<BenchFile['summary']>['choice']): string[] {
  if (choice === null) return []
  const { best, cheapest } = choice.commands
  return [`best      ${best}`, ...(cheapest === best ? [] : [`cheapest  ${cheapest}`])]
}

function tableOf(summaries: readonly Summary[], words: Words, best?: string, cheapest?: string): string {
  const mark = (name: string, role: string) =>
    [
      ...(name === best ? ['best'] : []),
      ...(name === cheapest && cheapest !== best ? ['cheapest'] : []),
      ...(role === 'variation' ? [] : [role]),
    ].join(', ')
  return table(
    [
      'configuration',
      '',
      ...['samples/s', 'min–max', 'lost', 'wait p50', 'p95', 'p99', 'AU'].map(right),
      ...['CPU s/1,000', 'memory', 'first batch', 'epoch gap'].map(right),
      'why',
    ],
    summaries.map(one => {
      const { configuration, samplesPerSecond: rate, wait, au, cpuSecondsPer1000, epochGapMs } = one
      return [
        configuration.name,
        mark(configuration.name, configuration.role),
        count(rate.median),
        `${count(rate.min)}–${count(rate.max)}`,
        au === null ? '–' : percent(one.lost.median),
        ...[wait.p50, wait.p95, wait.p99].map(ms => duration(ms / 1000)),
        au === null ? '–' : percent(au.dlio),
        cpuSecondsPer1000 === null ? '–' : cpuSecondsPer1000.median.toPrecision(3),
        bytes(one.peakBytes.median),
        duration(one.firstBatchMs.median / 1000),
        epochGapMs === null ? '–' : duration(epochGapMs.median / 1000),
        words.verdictText(one),
      ]
    }),
  )
}

function gateTable({ changes, missing }: Gate): string {
  const rows = changes.map(({ configuration, before, now, ratio, verdict, decides }) => {
    const interval = ratio.interval === null ? '–' : ratio.interval.map(one => percent(one - 1)).join(' … ')
    return [
      configuration,
      count(before),
      count(now),
      percent(ratio.value - 1),
      interval,
      verdict,
      decides ? 'yes' : '',
    ]
  })
  const heads = ['before', 'now', 'change', '95 % interval'].map(right)
  const compared = table(['configuration', ...heads, '', 'decides'], rows)
  return missing.length === 0 ? compared : `${compared}\nonly in one of the two: ${missing.join(', ')}`
}

function right(title: string): { title: string; align: 'right' } {
  return { title, align: 'right' }
}
