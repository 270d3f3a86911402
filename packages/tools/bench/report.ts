/** report.html of a bench: what its page shows (observe/page/), out of the measured runs. */
import type { Card, Rates, ReportData, ReportRun } from '../../observe/dashboard/view.js'
import { bytes, count, ms, percent } from '../../observe/verdict/units.js'
import { inWords, NOTHING_GIVEN } from './grid/configuration.js'
import type { RunTimes } from './measure/task.js'
import type { Choice } from './result/choose.js'
import type { BenchFile, Header } from './result/file.js'
import { type Summary, verdictText } from './result/summary.js'

/** A timeline shows so much of a run at most (ms). */
const SHOWN_MS = 8000
/** The knee is where so much of the most is reached. */
const KNEE = 0.95

/** `times`: of the last run of each configuration. */
export function reportOf(file: BenchFile, times: ReadonlyMap<string, RunTimes>): ReportData {
  const { header, summary, runs } = file
  const summaries = summary?.configurations ?? []
  const choice = summary?.choice ?? null
  const marks = marksOf(file)
  const named = (name: string | undefined) =>
    summaries.find(({ configuration }) => configuration.name === name)
  const withRole = (role: string) => summaries.find(({ configuration }) => configuration.role === role)
  const [best, usual, baseline] = [
    named(choice?.best) ?? summaries[0],
    withRole('default'),
    withRole('baseline'),
  ]
  const waited = [...new Set([best, usual, baseline])].filter(one => one !== undefined).slice(0, 2)
  const timed = [best, baseline]
  return {
    title: header.feed,
    machine: `${header.machine.cores} cores (${header.machine.cpu}), ${bytes(header.machine.memoryBytes)}, ${header.machine.system}`,
    versions: header.versions,
    date: new Date(header.time).toISOString(),
    headline: headlineOf(choice),
    commands:
      choice === null ? [] : [{ text: choice.command, about: best === usual ? NOTHING_GIVEN.slice(2) : '' }],
    cards: cardsOf(best, choice?.sure === true, usual, baseline),
    runs: summaries.map(one => ({
      ...runOf(one, marks),
      ...(waited.includes(one) && {
        waits: {
          steps: runs
            .filter(run => run.configuration.name === one.configuration.name)
            .flatMap(run => run.figures.waits),
          first: one.firstBatchMs.median,
        },
      }),
      ...(timed.includes(one) && timelineOf(times.get(one.configuration.name))),
    })),
    ...(best !== undefined && { rates: ratesOf(summaries, header, best) }),
    table: tableOf(summaries, marks),
    facts: factsOf(header, file),
  }
}

/** The conclusion, cut where its first words end. */
function headlineOf(choice: Choice | null): ReportData['headline'] {
  if (choice === null)
    return {
      tone: 'unknown',
      what: 'The bench was ended before it was done:',
      why: 'what follows was measured until then.',
    }
  const [, what, why] = /^(.*?[:.]) (.*)$/s.exec(choice.conclusion) ?? ['', choice.conclusion, '']
  return { tone: choice.sure ? 'good' : 'hint', what, why }
}

function runOf(one: Summary, marks: ReadonlyMap<string, string>): ReportRun {
  const { configuration, stepMs, parts, au, lost, peakBytes, sentence } = one
  const mark = marks.get(configuration.name)
  const cpu = cpuText(one)
  return {
    name: configuration.name,
    what: inWords(configuration),
    ...(mark !== undefined && { mark }),
    stepMs: stepMs.median,
    parts,
    ...(au !== null && { lost: lost.median }),
    why: sentence,
    memory: { bytes: peakBytes.median, about: cpu === undefined ? '' : `, ${cpu} for 1,000 samples` },
  }
}

/** Rows of the timeline: setup and steps, what each worker made, epochs. */
function timelineOf(times: RunTimes | undefined): Partial<ReportRun> {
  if (times === undefined) return {}
  const { setup, steps, batches, epochs } = times
  const shown = <T>(all: T[], begin: (one: T) => number) => all.filter(one => begin(one) < SHOWN_MS)
  const workers = [...new Set(batches.map(({ worker }) => worker))].sort((a, b) => a - b)
  return {
    setup,
    steps: shown(steps, ([asked]) => asked).map(([asked, got, done]) => ({
      start: asked,
      wait: got - asked,
      compute: done - got,
    })),
    workers: workers.map(number => ({
      name: `worker ${number}`,
      spans: shown(batches, ({ start }) => start)
        .filter(({ worker }) => worker === number)
        .map(({ start, end }) => ['make', start, end - start]),
    })),
    epochs: shown(epochs, ({ start }) => start),
  }
}

/** Which configurations have a name of their own. */
export function marksOf({ summary }: Pick<BenchFile, 'summary'>): ReadonlyMap<string, string> {
  const marks = new Map<string, string>()
  for (const { configuration } of summary?.configurations ?? [])
    if (configuration.role !== 'variation') marks.set(configuration.name, configuration.role)
  const { choice } = summary ?? {}
  if (choice?.sure) {
    const was = marks.get(choice.best)
    marks.set(choice.best, was === undefined ? 'best' : `best, ${was}`)
  }
  return marks
}

function cardsOf(
  best: Summary | undefined,
  sure: boolean,
  usual: Summary | undefined,
  baseline: Summary | undefined,
): Card[] {
  const titles = new Map<Summary, string>()
  const add = (one: Summary | undefined, title: string) => {
    if (one !== undefined && !titles.has(one)) titles.set(one, title)
  }
  add(best, sure ? 'Best' : best === usual ? 'Default' : 'Fastest')
  add(usual, 'Default')
  add(baseline, 'Baseline')
  return [...titles].map(([one, title]) => {
    const { configuration, samplesPerSecond, au, lost, peakBytes, firstBatchMs } = one
    const cpu = cpuText(one)
    return {
      title,
      what: inWords(configuration),
      value: count(samplesPerSecond.mean),
      unit: 'samples/s',
      ...(au !== null && { busy: 1 - lost.median }),
      figures: [
        ...(au === null ? [] : [['trainer loses', percent(lost.median)] as [string, string]]),
        ['first batch', ms(firstBatchMs.median)],
        ['memory', bytes(peakBytes.median)],
        ...(cpu === undefined ? [] : [['CPU for 1,000 samples', cpu] as [string, string]]),
      ],
    }
  })
}

function cpuText({ cpuSecondsPer1000 }: Summary): string | undefined {
  return cpuSecondsPer1000 === null ? undefined : `${Number(cpuSecondsPer1000.median.toPrecision(3))} CPU s`
}

/** Samples/s against workers; all else is as it is by default. */
function ratesOf(summaries: readonly Summary[], { parameters }: Header, best: Summary): Rates {
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')?.configuration
  const points = summaries
    .filter(({ configuration: { workers, depth, affinity, cache } }) => {
      if (workers === 0) return cache === null
      return depth === usual?.depth && affinity === usual.affinity && cache === usual.cache
    })
    .map(({ configuration: { name, workers }, samplesPerSecond: { mean, min, max } }) => ({
      name,
      workers,
      mean,
      min,
      max,
    }))
    .sort((a, b) => a.workers - b.workers)
  const most = Math.max(...points.map(({ mean }) => mean))
  const samplesAStep = (best.samplesPerSecond.median * best.stepMs.median) / 1000
  return {
    points,
    knee: points.find(({ mean }) => mean >= KNEE * most)?.workers ?? null,
    demand: parameters.stepMs > 0 ? (1000 * samplesAStep) / parameters.stepMs : null,
  }
}

/** What is shown of a configuration: figures by the titles of their columns, in the report and on the terminal. */
export function figuresOf(one: Summary): [column: string, text: string][] {
  const { configuration, samplesPerSecond: rate, au, wait, cpuSecondsPer1000, epochGapMs } = one
  return [
    ['configuration', configuration.name],
    ['samples/s', count(rate.mean)],
    ['min–max', `${count(rate.min)}–${count(rate.max)}`],
    ['bytes/s', one.bytesPerSecond.median > 0 ? `${bytes(one.bytesPerSecond.median)}/s` : '–'],
    ['lost', au === null ? '–' : percent(one.lost.median)],
    ['AU (DLIO)', au === null ? '–' : percent(au.dlio)],
    ['AU (nominal)', au === null ? '–' : percent(au.nominal)],
    ['wait p50', ms(wait.p50)],
    ['p95', ms(wait.p95)],
    ['p99', ms(wait.p99)],
    ['max', ms(wait.max)],
    ['first batch', ms(one.firstBatchMs.median)],
    ['epoch gap', epochGapMs === null ? '–' : ms(epochGapMs.median)],
    [
      'CPU s / 1,000',
      cpuSecondsPer1000 === null ? '–' : String(Number(cpuSecondsPer1000.median.toPrecision(3))),
    ],
    ['memory', bytes(one.peakBytes.median)],
    ['verdict', verdictText(one)],
  ]
}

function tableOf(summaries: readonly Summary[], marks: ReadonlyMap<string, string>): ReportData['table'] {
  const rows = summaries.map(one => ({ figures: figuresOf(one), mark: marks.get(one.configuration.name) }))
  return {
    columns: rows[0]?.figures.map(([column]) => column) ?? [],
    rows: rows.map(({ figures, mark }) => ({
      cells: figures.map(([, text]) => text),
      ...(mark !== undefined && { mark }),
    })),
  }
}

/** Samples that could not be used, where there were some. */
function badRows({ summary }: BenchFile): [string, string][] {
  const bad = Math.max(0, ...(summary?.configurations ?? []).map(one => one.bad))
  return bad === 0 ? [] : [['bad samples', `up to ${bad} a run`]]
}

function factsOf({ machine, data, git, parameters: p, grid }: Header, file: BenchFile): [string, string][] {
  return [
    ['commit', git === null ? '–' : `${git.commit.slice(0, 12)}${git.changed ? ', changed' : ''}`],
    ['host', machine.host],
    ['system', machine.system],
    ['CPU', machine.cpu],
    [
      'cores',
      `${machine.cores} of ${machine.coresPresent}${machine.quota === null ? '' : `, quota ${machine.quota}`}`,
    ],
    ['other programs before', `${machine.otherCores.toFixed(1)} cores`],
    ['memory', `${bytes(machine.memoryBytes)}, ${bytes(machine.freeBytes)} free`],
    ['file system', data.fileSystem ?? '–'],
    ['absent from page cache before', data.absent === null ? '–' : percent(data.absent)],
    ['bytes of the source', data.sourceBytes === null ? '–' : bytes(data.sourceBytes)],
    ['feed: order, content', `${data.order}, ${data.content}`],
    ['batch', data.batch],
    ['training step', p.stepMs === 0 ? 'none: the feed alone' : ms(p.stepMs)],
    ['rounds', String(p.rounds)],
    [
      'length of a run',
      p.epochs !== null ? `${p.epochs} epochs` : p.steps !== null ? `${p.steps} steps` : `${p.seconds} s`,
    ],
    ['warm-up', p.warmUp === 'epoch' ? 'the first epoch' : 'the first steps'],
    ...badRows(file),
    ['grid', `${file.summary?.configurations.length ?? 0} configurations, ${grid}`],
    ...file.failed.map(({ configuration, message }): [string, string] => [
      `${configuration.name} failed`,
      message,
    ]),
  ]
}
