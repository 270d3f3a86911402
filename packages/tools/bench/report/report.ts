/**
 * report.html of a bench: one file that holds everything it needs, without a script, so that it opens from a disk, an e-mail or a
 * CI artefact.
 */
import { bytes, count, ms, percent, rate } from '../../../observe/verdict/units.js'
import { inWords, NOTHING_GIVEN } from '../grid/configuration.js'
import type { RunTimes } from '../measure/task.js'
import type { Choice } from '../result/choose.js'
import type { BenchFile, Header } from '../result/file.js'
import { type Summary, verdictText } from '../result/summary.js'
import { type Marks, memoryChart, partsChart, partsLegend } from './bars.js'
import { type Waited, waitRange, waitsChart, workersChart, workersSeries } from './curves.js'
import { STYLE } from './style.js'
import { escaped } from './svg.js'
import { timeline } from './timeline.js'

/** A timeline shows so much of a run at most (ms). */
const SHOWN = 8000

/** `times`: of the last run of each configuration. */
export function renderReport(file: BenchFile, times: ReadonlyMap<string, RunTimes>): string {
  const { header, summary, runs } = file
  const summaries = summary?.configurations ?? []
  const choice = summary?.choice ?? null
  const marks = marksOf(file)
  const find = (name: string | undefined) =>
    summaries.find(({ configuration }) => configuration.name === name)
  const best = find(choice?.best) ?? summaries[0]
  const baseline = summaries.find(({ configuration }) => configuration.role === 'baseline')
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')
  const shown = [best, ...[usual, baseline].filter(one => one !== undefined && one !== best)] as Summary[]
  const waited = shown.slice(0, 2).map(({ configuration, firstBatchMs }): Waited => {
    const own = runs.filter(run => run.configuration.name === configuration.name)
    return {
      name: configuration.name,
      waits: own.flatMap(run => run.figures.waits),
      firstBatchMs: firstBatchMs.median,
    }
  })
  const range = waitRange(waited)
  const series = workersSeries(summaries)
  const lines = [best, baseline].filter(
    (one, i, all) => one !== undefined && all.indexOf(one) === i,
  ) as Summary[]
  return page(`Bench of ${header.feed}`, [
    `<header><h1>${escaped(header.feed)}: which configuration is best here?</h1>`,
    `<p class="lede">${escaped(choice?.conclusion ?? 'The bench was ended before it was done.')}</p>`,
    choice === null ? '' : `<pre class="panel">${escaped(commandsOf(choice, best === usual))}</pre>`,
    '</header>',
    cards(best, choice?.sure === true, find(choice?.cheapest), usual, baseline),
    section(
      'Where the time of a step went',
      'Medians of all rounds, warm-up left out. A shorter bar is better; with a simulated training step, all beside “training” is lost.',
      `<div class="panel">${partsLegend(summaries)}${partsChart(summaries, marks)}</div>`,
    ),
    section(
      'Throughput and waits',
      'Left: samples a second against workers (geometric means of the rounds), at the depth of the default; whiskers reach from the slowest to the fastest round, the knee is the ' +
        'fewest workers that give 95 % of the most. Right: how often steps waited how long (all rounds); the first batch stands apart.',
      `<div class="pair"><div class="panel"><h3>samples a second against workers</h3>${workersChart(series, demandOf(header, best))}</div>` +
        `<div class="panel">${waited
          .map(one => `<h3>${escaped(one.name)}${tag(marks.get(one.name))}</h3>${waitsChart(one, range)}`)
          .join('')}</div></div>`,
    ),
    section(
      'Memory and CPU time',
      'The process of a run at its largest, with the shared memory that it had reserved; medians of all rounds.',
      `<div class="panel">${memoryChart(summaries, marks)}</div>`,
    ),
    section(
      'Timeline',
      'The last run of the best and of the baseline, on one scale. Gaps in the row “train” are a trainer that waits for its data. ' +
        'The row “get-batch” has a lane for each worker.',
      lines.map(one => timelineOf(one, times, lines, marks)).join(''),
    ),
    section('In numbers', '', `<div class="panel">${numbers(summaries, marks)}</div>`),
    section(
      'Why',
      'The judge’s sentence for the round in the middle of each configuration.',
      `<div class="panel">${whys(summaries)}</div>`,
    ),
    section('Parameters', '', `<div class="panel">${parameters(header, file)}</div>`),
  ])
}

function page(title: string, parts: readonly string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${STYLE}</style></head>`,
    `<body><main>${parts.join('\n')}</main></body></html>`,
    '',
  ].join('\n')
}

function section(title: string, hint: string, body: string): string {
  const about = hint === '' ? '' : `<p class="quiet hint">${hint}</p>`
  return `<section><h2>${title}</h2>${about}${body}</section>`
}

/** Which configurations have a name of their own. */
function marksOf({ summary }: BenchFile): Marks {
  const marks = new Map<string, string>()
  for (const { configuration } of summary?.configurations ?? [])
    if (configuration.role !== 'variation') marks.set(configuration.name, configuration.role)
  const { choice } = summary ?? {}
  const add = (name: string | undefined, mark: string) => {
    if (name === undefined) return
    const was = marks.get(name)
    marks.set(name, was === undefined ? mark : `${mark}, ${was}`)
  }
  if (choice?.cheapest !== choice?.best) add(choice?.cheapest, 'cheapest')
  if (choice?.sure) add(choice.best, 'best')
  return marks
}

function tag(mark: string | undefined): string {
  return mark === undefined ? '' : `<span class="tag">${mark}</span>`
}

function commandsOf({ commands: { best, cheapest } }: Choice, isDefault: boolean): string {
  const first = isDefault ? `${best}      ${NOTHING_GIVEN}` : best
  return best === cheapest ? first : `${first}\n${cheapest}      # 95 % of it for least`
}

function cards(
  best: Summary,
  sure: boolean,
  cheapest: Summary | undefined,
  usual: Summary | undefined,
  baseline: Summary | undefined,
): string {
  const card = (label: string, one: Summary, good = false) =>
    `<div class="panel card${good ? ' good' : ''}"><div class="label">${label}: ${escaped(inWords(one.configuration))}</div>` +
    `<div class="big">${rate(one.samplesPerSecond.mean)}</div><div class="label">${escaped(aboutOf(one))}</div></div>`
  return `<div class="cards">${[
    card(sure ? 'Best' : best === usual ? 'Default' : 'Fastest', best, true),
    ...(cheapest && cheapest !== best ? [card('95 % for least', cheapest)] : []),
    ...(usual && usual !== best && usual !== cheapest ? [card('Default', usual)] : []),
    ...(baseline && baseline !== best && baseline !== cheapest ? [card('Baseline', baseline)] : []),
  ].join('')}</div>`
}

function aboutOf({ au, lost, peakBytes, cpuSecondsPer1000, firstBatchMs }: Summary): string {
  return [
    ...(au === null ? [] : [`trainer loses ${percent(lost.median)}`]),
    `first batch ${ms(firstBatchMs.median)}`,
    bytes(peakBytes.median),
    ...(cpuSecondsPer1000 === null
      ? []
      : [`${Number(cpuSecondsPer1000.median.toPrecision(3))} CPU s per 1,000`]),
  ].join(' · ')
}

/** Samples a second that the trainer could take. */
function demandOf({ parameters }: Header, { samplesPerSecond, stepMs }: Summary): number | undefined {
  if (!(parameters.stepMs > 0)) return undefined
  const samplesAStep = (samplesPerSecond.median * stepMs.median) / 1000
  return (1000 * samplesAStep) / parameters.stepMs
}

function timelineOf(
  { configuration: { name } }: Summary,
  times: ReadonlyMap<string, RunTimes>,
  all: readonly Summary[],
  marks: Marks,
): string {
  const own = times.get(name)
  if (own === undefined) return ''
  const longest = Math.max(...all.map(one => times.get(one.configuration.name)?.end ?? 0))
  const until = Math.min(SHOWN, longest)
  return `<h3>${escaped(name)}${tag(marks.get(name))}</h3><div class="panel">${timeline(name, own, until)}</div>`
}

const COLUMNS = [
  ...['configuration', 'samples/s', 'min–max', 'bytes/s', 'lost', 'AU (DLIO)', 'AU (nominal)'],
  ...['wait p50', 'p95', 'p99', 'max', 'first batch', 'epoch gap', 'CPU s / 1,000', 'memory', 'verdict'],
]

function numbers(summaries: readonly Summary[], marks: Marks): string {
  const rows = summaries.map(one => {
    const { configuration, samplesPerSecond: r, au, wait, cpuSecondsPer1000, epochGapMs } = one
    const mark = marks.get(configuration.name)
    const cells = [
      `${escaped(configuration.name)}${tag(mark)}`,
      count(r.mean),
      `${count(r.min)}–${count(r.max)}`,
      one.bytesPerSecond.median > 0 ? `${bytes(one.bytesPerSecond.median)}/s` : '–',
      au === null ? '–' : percent(one.lost.median),
      au === null ? '–' : percent(au.dlio),
      au === null ? '–' : percent(au.nominal),
      ...[wait.p50, wait.p95, wait.p99, wait.max].map(ms),
      ms(one.firstBatchMs.median),
      epochGapMs === null ? '–' : ms(epochGapMs.median),
      cpuSecondsPer1000 === null ? '–' : String(Number(cpuSecondsPer1000.median.toPrecision(3))),
      bytes(one.peakBytes.median),
      verdictText(one),
    ]
    return `<tr${mark?.includes('best') ? ' class="best"' : ''}>${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`
  })
  return `<table><thead><tr>${COLUMNS.map(name => `<th>${name}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function whys(summaries: readonly Summary[]): string {
  const rows = summaries.map(
    ({ configuration, sentence }) =>
      `<div><dt>${escaped(configuration.name)}</dt><dd>${escaped(sentence)}</dd></div>`,
  )
  return `<dl class="why">${rows.join('')}</dl>`
}

/** Samples that could not be used, where there were some. */
function badRows({ summary }: BenchFile): [string, string][] {
  const bad = Math.max(0, ...(summary?.configurations ?? []).map(one => one.bad))
  return bad === 0 ? [] : [['bad samples', `up to ${bad} a run`]]
}

function parameters(
  { machine, data, versions, git, parameters: p, time, grid }: Header,
  file: BenchFile,
): string {
  const rows: [string, string][] = [
    ['measured', new Date(time).toISOString()],
    ['Millrace', versions.millrace],
    ['Node', versions.node],
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
    [
      'training step',
      p.stepMs === 0
        ? 'none: the feed alone'
        : `${ms(p.stepMs)}${p.profile === null ? '' : `, profile ${p.profile}`}`,
    ],
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
  return `<dl>${rows.map(([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`).join('')}</dl>`
}
