/** `millrace run`: feeds a simulated or null trainer, and says how it went. */
import { existsSync } from 'node:fs'
import { printable } from '../../../core/basics/errors.js'
import type { Loader } from '../../../core/deliver/node/loader.js'
import type { State } from '../../../core/order/state.js'
import { command, type Outcome, UsageError } from '../command.js'
import { endsItself, INTERRUPTED } from '../interrupt.js'
import { liveProgress } from '../live/progress.js'
import type { Tuned } from '../live/tuned.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { notice, Progress, progressShown } from '../progress.js'
import { say } from '../say.js'
import type { TrainerResult } from '../trainer.js'
import { bytes, count, counted, duration, percent } from '../units.js'
import { Watch, type Why } from '../why.js'
import { checkTracePlace, TRACE_LIMIT, tellFailure, traceLine } from './trace/file.js'
import type { EndedTrace } from './trace/recorded.js'

export const run = command({
  name: 'run',
  summary: 'feeds a simulated trainer and says whether it had to wait',
  about:
    'Feeds a trainer that computes nothing, or sleeps --step-ms a step. Goes through one epoch unless told otherwise. ' +
    'With --save the state is kept after every step; --resume goes on from there, on any number of ranks and workers. ' +
    'With --ids every step writes the ids of its samples: the exactly-once audit.',
  args: [
    { name: 'FEED', about: 'a .json file, a .ts or .mjs module, or inline JSON; #variant chooses a variant' },
  ],
  options: {
    ...flagsOf('run'),
    endless: { type: 'flag', about: 'go on, epoch after epoch, until Ctrl-C' },
    starter: { type: 'count', value: 'PID', about: 'end when this process ends', hidden: true },
    'step-ms': { type: 'number', value: 'MS', about: 'length of a simulated training step', default: 0 },
    resume: { type: 'text', value: 'FILE', about: 'go on from a saved state' },
    position: { type: 'count', value: 'N', about: 'go on after N samples of the first epoch' },
    save: { type: 'text', value: 'FILE', about: 'keep the state after the last finished step here' },
    ids: { type: 'text', value: 'FILE', about: 'write one JSON line a step with the ids of its samples' },
    trace: {
      type: 'text',
      value: 'FILE',
      about: 'write a trace that opens in Perfetto; .pfw: of DFTracer’s',
    },
    'trace-limit': { ...TRACE_LIMIT, about: 'end the trace before its file gets larger than this' },
  },
  examples: [
    ['millrace run cats.json --step-ms 50 --workers 4', 'would four workers keep a 50 ms step busy?'],
    ['millrace run cats.feed.ts#val --ids ids.jsonl --json', 'which samples come when'],
    ['millrace run cats.json --log logs', 'what happens each second'],
    ['millrace run cats.json --steps 1000 --save state.json', 'then: --resume state.json --world 4 --rank 0'],
  ],
  async run({ args: [feed], values }) {
    const [{ loadFeed }, { open }, audit] = await Promise.all([
      import('../feed-argument.js'),
      import('../../../core/deliver/node/open.js'),
      import('../audit.js'),
    ])
    if (values.endless && (values.epochs ?? values.steps ?? values.tokens) !== undefined)
      throw new UsageError('--endless goes on for ever: leave --epochs, --steps and --tokens out')
    const limited = values.endless || values.steps !== undefined || values.tokens !== undefined
    if (values.starter !== undefined)
      (await import('../../../core/system/process/with-starter.js')).endWith(values.starter)
    for (const name of ['save', 'ids'] as const) audit.checkPlace(`--${name}`, values[name], name === 'save')
    const { save, ids, resume } = values
    const file = existsSync(feed) ? feed : feed.replace(/#[^#]*$/, '') // as it stands, or without a variant
    const others = { 'the feed': file, '--save': save, '--ids': ids, '--resume': resume }
    await checkTracePlace('--trace', values.trace, others)
    if (values['trace-limit'] !== undefined && values.trace === undefined)
      throw new UsageError('--trace-limit is the size of a trace: give --trace FILE as well')
    const plugins = values.plugin
    const { json, root, name } = await loadFeed(feed, values['allow-code'], plugins)
    if (values.position !== undefined && values.resume !== undefined)
      throw new UsageError('--position and --resume both say where to begin: give one of them')
    const state = values.resume === undefined ? undefined : audit.loadState(values.resume)
    const opening = new Progress('opening', { unit: 'files' })
    const tuning = (await import('../live/tuned.js')).Tuned.listen()
    const given = optionsOf('run', values)
    const loader = open(json, {
      ...given,
      root,
      name: name === 'inline' ? undefined : name,
      plugins,
      allowCode: true, // loadFeed has refused what may not run
      state,
      epochs: given.epochs ?? (limited ? null : 1),
      progress: (...reported) => opening.set(...reported),
      notice,
    })
    try {
      await loader.ready
      opening.end()
      if (values.position !== undefined) loader.load({ ...loader.state(), position: values.position })
      if (loader.rankFrom !== 'alone' && loader.rankFrom !== 'given') {
        say(`rank ${loader.rank} of ${loader.world}, by ${loader.rankFrom}`)
      }
      const stepMs = values['step-ms']
      const watch = await Watch.start()
      const result = await feedTrainer(loader, state, { ...values, stepMs })
      tuning.end()
      const { json, text } = outcome(loader, result, stepMs, await watch.end(loader, stepMs), tuning.tuned)
      const { trace } = result
      return {
        json: { ...json, ...(trace && { trace }) },
        text: text + traceLine(trace),
        code: result.interrupted ? INTERRUPTED : tellFailure(trace),
      }
    } finally {
      tuning.end()
      await loader.close()
    }
  },
})

/** The files that a run keeps, and the length of a step. */
interface Keeping {
  stepMs: number
  endless: boolean
  save?: string
  ids?: string
  trace?: string
  'trace-limit'?: number
}

/** Feeds the trainer; keeps state, ids and trace where they are asked for. */
async function feedTrainer(
  loader: Loader,
  from: State | undefined,
  keep: Keeping,
): Promise<TrainerResult & { trace?: EndedTrace; interrupted: boolean }> {
  const [{ train }, audit, { recordTrace }] = await Promise.all([
    import('../trainer.js'),
    import('../audit.js'),
    import('./trace/recorded.js'),
  ])
  const { save, trace } = keep
  const ids = keep.ids === undefined ? undefined : new audit.IdLog(keep.ids, loader.rank, from)
  const saveState = () => {
    if (save !== undefined) audit.saveState(save, loader.state())
  }
  saveState() // a run that fails before its first step leaves a state as well
  const progress = new Progress('feeding', {
    unit: 'steps',
    ...(!keep.endless && { total: loader.loopSteps }),
  })
  const reported = progressShown() ? await liveProgress(loader, progress, keep.stepMs) : undefined
  const recorded = trace === undefined ? undefined : await recordTrace(trace, keep['trace-limit'])
  const interrupt = new AbortController()
  const forget = endsItself(() => interrupt.abort())
  const { signal } = interrupt
  const result = await train(loader, 1, {
    stepMs: keep.stepMs,
    endless: keep.endless,
    signal,
    onBatch: batch => ids?.add(batch),
    onStep: step => {
      saveState()
      progress.set(step + 1)
    },
  })
  forget()
  reported?.()
  progress.end()
  ids?.close()
  saveState() // a run of no steps still leaves a state to resume from
  return { ...result, interrupted: signal.aborted, ...(recorded && { trace: await recorded.end() }) }
}

function outcome(loader: Loader, result: TrainerResult, stepMs: number, why: Why, tuned: Tuned): Outcome {
  const stats = loader.stats()
  const workers = tuned.settled('workers', stats.workers)
  const depth = tuned.settled('depth', stats.depth)
  const { samples, seconds } = result
  const json = {
    hashes: loader.hashes,
    steps: result.count,
    samples,
    seconds,
    samplesPerSecond: samples / seconds,
    bytesPerSecond: stats.bytesRead / seconds,
    firstBatchMs: stats.firstBatchMs,
    waitFraction: result.waitFraction,
    au: result.au,
    workers,
    depth,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    slotBytes: stats.slotBytes,
    bad: stats.bad,
    decoders: stats.decoders,
    state: loader.state(),
    account: why.account,
    diagnosis: why.diagnosis,
    tuner: { decisions: tuned.decisions },
  }
  const lines = [
    `${counted(json.steps, 'step')}, ${counted(samples, 'sample')} in ${duration(seconds)}: ` +
      `${count(Math.round(json.samplesPerSecond))} samples/s, ${bytes(json.bytesPerSecond)}/s read`,
    `${waited(stepMs, result.waitFraction)}; first batch after ${duration(stats.firstBatchMs / 1000)}; ` +
      `${counted(workers, 'worker')}, depth ${depth}, ${bytes(stats.slotBytes)} a batch`,
    ...(tuned.line === undefined ? [] : [tuned.line]),
    ...(why.account.steps > 0 ? [why.parts, why.sentence] : []),
  ]
  for (const bad of stats.bad.samples.slice(0, 10)) lines.push(`bad: ${printable(bad.message)}`)
  if (stats.bad.count > 0) lines.push(`${counted(stats.bad.count, 'bad sample')}`)
  return { json, text: lines.join('\n') }
}

/** A trainer that computes nothing always waits: that is no bad news. */
function waited(stepMs: number, fraction: number): string {
  if (stepMs === 0) return 'the trainer computed nothing (--step-ms): this is as fast as the feed goes'
  return `the trainer waited ${percent(fraction)} of the time`
}
