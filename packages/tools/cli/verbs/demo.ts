/** `millrace demo`: a small dataset, a simulated GPU, and three ways to feed it. */

import { cpus, release, totalmem, type } from 'node:os'
import { join, resolve } from 'node:path'
import { version } from '../../../core/basics/version.js'
import type { FeedJson, SourceJson } from '../../../core/define/types.js'
import type { SpanRecord } from '../../../core/spans/reader.js'
import { FIRST_OTHER_LANE } from '../../../core/spans/span-words.js'
import type { ReportData, ReportRun } from '../../../observe/dashboard/view.js'
import { ms } from '../../../observe/verdict/units.js'
import { command } from '../command.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { Progress } from '../progress.js'
import { right, table } from '../table.js'
import { bytes, count, money, percent } from '../units.js'
import { Watch } from '../why.js'
import { checkTracePlace, tellFailure } from './trace/file.js'

const BATCH = 32
const SEED = 7
/** Each way is fed for two epochs, or so long (ms): on crowded cores as well the demo takes under a minute. */
const LONGEST = 6000
/** Longer (ms) than a worker that has nothing to do holds spans back. */
const HELD_MS = 30
/** A GPU that is busy for such a share of the time has nothing to gain from its data. */
const WELL_FED = 0.95

export const demo = command({
  name: 'demo',
  summary: 'makes a small dataset and feeds a simulated GPU in three ways',
  about:
    'Makes pictures, packs them into tar shards, and feeds a simulated GPU three times: naively, with batches made ' +
    'ahead, and from shards. Prints a table, and writes report.html with the timelines and feed.json, which `run` can go on with. Takes under a minute.',
  args: [],
  options: {
    out: { type: 'text', value: 'DIR', about: 'where the data and the report go', default: 'millrace-demo' },
    samples: { type: 'count', value: 'N', about: 'how many pictures', default: 2000, least: BATCH },
    'step-ms': { type: 'number', value: 'MS', about: 'length of a training step', default: 20 },
    price: { type: 'number', value: '$', about: 'price of a GPU hour', default: 3 },
    ...flagsOf('demo'),
    trace: { type: 'text', value: 'FILE', about: 'write a trace of the three runs that opens in Perfetto' },
    text: { type: 'flag', about: 'text in place of pictures: it is tokenised, blended and packed' },
  },
  examples: [
    ['millrace demo', 'then open millrace-demo/report.html'],
    ['millrace demo --text', 'what a language model is fed'],
  ],
  async run({ values }) {
    const { workers: given = 'auto' } = optionsOf('demo', values)
    const [{ writeReport }, { writeWhole }, limits, { recordTrace }] = await Promise.all([
      import('../../../observe/report.js'),
      import('../../../core/system/files/draft.js'),
      import('../../../core/system/process/limits.js'),
      import('./trace/recorded.js'),
    ])
    const workers = given === 'auto' ? limits.autoWorkers() : given
    await checkTracePlace('--trace', values.trace)
    const trace = values.trace === undefined ? undefined : await recordTrace(values.trace)
    if (values.text) {
      const { demoText } = await import('../demo-text.js')
      const outcome = await demoText(values.out, { stepMs: values['step-ms'], workers, program: program() })
      return { ...outcome, code: tellFailure(await trace?.end()) }
    }
    const out = resolve(values.out)
    const cores = limits.usableCores()
    await makeData(out, values.samples, cores)
    const runs: DemoRun[] = []
    const { shardsAt } = await import('../../prepare/pack/tar-writer.js')
    for (const way of waysToFeed(out, shardsAt(join(out, 'shards', 'demo-*.tar')), workers)) {
      runs.push(await feedTrainer(way, values['step-ms'], values.price))
    }
    const code = tellFailure(await trace?.end())

    const feed = join(out, 'feed.json')
    const relative = feedOf(shardsAt('shards/demo-*.tar'), 'jpg', 'cls')
    writeWhole(feed, `${JSON.stringify(relative, null, 2)}\n`)
    const report = join(out, 'report.html')
    writeReport(report, {
      title: 'Millrace demo',
      machine: `${cores} cores (${cpus()[0]?.model.trim()}), ${bytes(totalmem())}, ${type()} ${release()}`,
      versions: { millrace: version(), node: process.versions.node },
      date: new Date().toISOString(),
      ...shownOf(runs, values.price),
      price: { perHour: values.price },
    })
    const text = [
      `${count(values.samples)} JPEGs, batches of ${BATCH}, a GPU that computes ${values['step-ms']} ms a step, ${cores} cores:`,
      '',
      tableOf(runs),
      '',
      'Busy is all that is not waiting; lost also counts what a step takes longer than its time, and taking batches.',
      '',
      ...runs.map(run => `${run.name}: ${run.why}`),
      '',
      `Timelines: ${report}`,
      `Next: ${program()} inspect ${join(values.out, 'shards')}`,
      `      ${program()} diagnose ${join(values.out, 'feed.json')} --step-ms ${values['step-ms']}`,
    ].join('\n')
    return {
      json: {
        runs: runs.map(({ steps, workers: _, ...run }) => ({ ...run, steps: steps.length })),
        report,
        feed,
      },
      text,
      code,
    }
  },
})

/** Makes the pictures in `out`/pictures, and packs them into `out`/shards. */
async function makeData(out: string, samples: number, cores: number): Promise<void> {
  const [{ makeDemo }, { pack }] = await Promise.all([
    import('../../prepare/demo/make-demo.js'),
    import('../../prepare/pack/pack.js'),
  ])
  const making = new Progress('making pictures', { unit: 'pictures' })
  await makeDemo(join(out, 'pictures'), {
    count: samples,
    workers: cores,
    onProgress: (done, total) => making.set(done, total),
  })
  making.end()
  const packing = new Progress('packing shards', { unit: 'samples' })
  await pack(
    { folder: join(out, 'pictures') },
    {
      out: join(out, 'shards'),
      prefix: 'demo',
      division: { shards: 4 },
      workers: cores,
      force: true, // replaces the shards of a demo with another number of pictures
      onProgress: (...reported) => packing.set(...reported),
    },
  )
  packing.end()
}

/** One way to feed the trainer. */
interface Way {
  name: string
  what: string
  feed: FeedJson
  workers: number
  depth: number
}

function waysToFeed(out: string, packed: SourceJson, workers: number): Way[] {
  const files = feedOf({ folder: join(out, 'pictures') }, 'image', 'label')
  const shards = feedOf(packed, 'jpg', 'cls')
  const ahead = `made ahead by ${workers === 1 ? 'one worker' : `${workers} workers`}`
  return [
    { name: 'naive', what: 'files, read and decoded between the steps', feed: files, workers: 0, depth: 1 },
    { name: 'prefetched', what: `files, ${ahead}`, feed: files, workers, depth: 4 },
    { name: 'shards', what: `tar shards, ${ahead}`, feed: shards, workers, depth: 4 },
  ]
}

/** What the report shows of one way, with its figures as numbers. */
interface DemoRun extends ReportRun {
  samplesPerSecond: number
  /** Share of the time in which the trainer computed, 0…1. */
  gpuBusy: number
  waitMsPerStep: number
  idleCostPerHour: number
  steps: NonNullable<ReportRun['steps']>
  workers: NonNullable<ReportRun['workers']>
}

/** Feeds the simulated trainer, and returns what the report shows of it. */
async function feedTrainer(way: Way, stepMs: number, price: number): Promise<DemoRun> {
  const [{ open }, { train }, { GatheredSpans }, { isWork }, { monotonicMs }] = await Promise.all([
    import('../../../core/deliver/node/open.js'),
    import('../trainer.js'),
    import('../../../observe/gather.js'),
    import('../../../observe/account/slices.js'),
    import('../../../core/spans/clock.js'),
  ])
  const loader = open(way.feed, { workers: way.workers, depth: way.depth, epochs: 2 })
  await loader.ready
  const progress = new Progress(way.name, { unit: 'steps', total: loader.loopSteps })
  const spans = new GatheredSpans({
    readSince: cursor => loader.spans(cursor),
    rings: () => [],
    counters: () => [],
  })
  const watch = await Watch.start()
  const begun = monotonicMs()
  const { samples, seconds, waitFraction, steps } = await train(loader, 1, {
    stepMs,
    signal: AbortSignal.timeout(LONGEST),
    onStep: step => {
      progress.set(step + 1)
      spans.lookNow()
    },
  })
  progress.end()
  const why = await watch.end(loader, stepMs)
  const later = steps.slice(1) // the first step waits for the start of the workers
  const waitMs = later.reduce((sum, step) => sum + step.wait, 0)
  await new Promise(resolve => setTimeout(resolve, HELD_MS))
  const workers = byWorker(spans.readSince().records, way.workers).map((spans, i) => ({
    name: way.workers === 0 ? 'its own work' : `worker ${i}`,
    spans: spans
      .filter(span => span.start >= begun && isWork(span.kind))
      .map((span): DemoRun['workers'][0]['spans'][0] => [span.kind, span.start - begun, span.duration]),
  }))
  await loader.close()
  return {
    name: way.name,
    what: way.what,
    samplesPerSecond: samples / seconds,
    gpuBusy: 1 - waitFraction,
    waitMsPerStep: waitMs / Math.max(1, later.length),
    idleCostPerHour: price * waitFraction,
    steps,
    workers,
    lost: why.account.lost,
    stepMs: why.account.stepMs,
    parts: why.account.parts,
    why: why.sentence,
  }
}

/** The records of each worker, of at least so many. The calling thread counts as worker 0. */
function byWorker(records: readonly SpanRecord[], workers: number): SpanRecord[][] {
  const lists: SpanRecord[][] = Array.from({ length: Math.max(1, workers) }, () => [])
  for (const record of records) {
    const { kind, lane, number } = record.lane
    if (kind !== 'worker') continue
    const worker = lane < FIRST_OTHER_LANE ? number : 0
    while (lists.length <= worker) lists.push([])
    lists[worker].push(record)
  }
  return lists
}

/** The runs in words: the best against the first. */
function shownOf(runs: DemoRun[], price: number): Pick<ReportData, 'headline' | 'cards' | 'runs' | 'table'> {
  const [first] = runs
  const best = runs.reduce((most, run) => (run.gpuBusy > most.gpuBusy ? run : most))
  const saved = money(first.idleCostPerHour - best.idleCostPerHour)
  const figuresOf = (run: DemoRun): [string, string][] => [
    ['GPU busy', percent(run.gpuBusy)],
    ['wait per step', ms(run.waitMsPerStep)],
    ['idling costs per hour', money(run.idleCostPerHour)],
  ]
  return {
    headline: {
      tone: best.gpuBusy >= WELL_FED ? 'good' : 'loss',
      what: `Fed “${best.name}”, the GPU is busy ${percent(best.gpuBusy)} of the time:`,
      why:
        best === first
          ? `at ${money(price)} an hour, standing still costs ${money(best.idleCostPerHour)}.`
          : `fed “${first.name}”, it is ${percent(first.gpuBusy)}. At ${money(price)} an hour, that is ${saved} less for standing still, every hour.`,
    },
    cards: runs.map(run => ({
      title: run.name,
      what: run.what,
      value: count(run.samplesPerSecond),
      busy: run.gpuBusy,
      unit: `samples/s${run === first ? '' : `, ${(run.samplesPerSecond / first.samplesPerSecond).toFixed(1)}×`}`,
      figures: figuresOf(run),
    })),
    runs,
    table: {
      columns: ['', 'samples/s', ...figuresOf(first).map(([name]) => name), 'steps', 'longest wait'],
      rows: runs.map(run => ({
        cells: [
          ...[run.name, count(run.samplesPerSecond), ...figuresOf(run).map(([, figure]) => figure)],
          count(run.steps.length),
          ms(run.steps.reduce((most, { wait }) => Math.max(most, wait), 0)),
        ],
      })),
    },
  }
}

function tableOf(runs: readonly DemoRun[]): string {
  return table(
    ['', ...['samples/s', 'GPU busy', 'lost', 'wait per step', 'idle cost per hour'].map(right)],
    runs.map(run => [
      run.name,
      count(Math.round(run.samplesPerSecond)),
      percent(run.gpuBusy),
      percent(run.lost ?? 0),
      `${run.waitMsPerStep.toFixed(1)} ms`,
      money(run.idleCostPerHour),
    ]),
  )
}

/** How this command line is called: by `npm start` and `npx` it is not on the PATH. */
function program(): string {
  return process.env.npm_command === undefined ? 'millrace' : 'npx millrace'
}

/** What ResNets are fed: random crops, flipped and normalised. */
function feedOf(source: FeedJson['source'], image: string, label: string): FeedJson {
  return {
    source,
    order: { shuffle: 'global', seed: SEED },
    fields: {
      image: {
        from: image,
        as: 'image',
        apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
      },
      label: { from: label, as: 'int' },
    },
    batch: BATCH,
  }
}
