/** `millrace plan`: what a training run takes, and what a slow feed adds to it. */

import type { Plan, PlanWay } from '../../prepare/plan.js'
import { command, UsageError } from '../command.js'
import type { MeasuredFeed } from '../measure-feed.js'
import { flagsOf, optionsOf } from '../option-flags.js'
import { notice } from '../progress.js'
import { pairs, right, table } from '../table.js'
import { amount, bytes, count, counted, longTime, money, percent } from '../units.js'

export const plan = command({
  name: 'plan',
  summary: 'says how long a training run takes, what it costs, and whether a feed keeps up',
  about:
    'Computes steps, days, bytes a second and the price of a run over samples, such as pictures, or over tokens. How fast the trainer is you say ' +
    'by --step-ms or in steps a second; with tokens also by its parameters and the operations a second that a GPU reaches (then 6 operations a ' +
    'parameter and token). Given a FEED, it is run for a few seconds here, and the plan says what it makes of the run.',
  args: [{ name: 'FEED', about: 'a feed, to be measured', optional: true }],
  options: {
    samples: { type: 'amount', about: 'samples of an epoch; those of FEED unless given', least: 1 },
    epochs: { type: 'count', about: 'how often they are seen', default: 1, least: 1 },
    batch: { type: 'count', about: 'samples of a step on one GPU; the batch of FEED unless given', least: 1 },
    'sample-bytes': { type: 'amount', about: 'bytes that are read for a sample; measured with FEED' },
    'feed-samples': { type: 'amount', about: 'samples a second that the feed gives, in place of FEED' },
    tokens: { type: 'amount', about: 'tokens to train on, such as 100B', least: 1 },
    'step-tokens': { type: 'amount', about: 'tokens of a step, all ranks together, such as 1M', least: 1 },
    'token-bytes': { type: 'count', about: 'bytes of a stored token: 2 or 4', default: 2, least: 1 },
    'feed-tokens': { type: 'amount', about: 'tokens a second that the feed gives, in place of FEED' },
    'step-ms': {
      type: 'number',
      value: 'MS',
      about: 'length of a step when the trainer never waits',
      least: 0.001,
    },
    'steps-per-second': { type: 'number', about: 'the same in steps a second' },
    parameters: { type: 'amount', about: 'parameters of the model, such as 7B' },
    flops: { type: 'amount', about: 'operations a second that one GPU reaches, such as 400T' },
    gpus: { type: 'count', about: 'how many GPUs train', default: 1, least: 1 },
    price: { type: 'number', value: '$', about: 'price of a GPU hour', default: 3 },
    machines: { type: 'count', about: 'machines that feed like this one', default: 1, least: 1 },
    seconds: { type: 'number', about: 'how long FEED is measured', default: 3 },
    ...flagsOf('plan'),
  },
  examples: [
    [
      'millrace plan --samples 1.28M --epochs 90 --batch 256 --gpus 8 --step-ms 100 --sample-bytes 110k --feed-samples 9k',
      'ImageNet, 90 times, and a loader that gives less than half of what it takes',
    ],
    ['millrace plan cats.json --step-ms 55 --epochs 90', 'a feed that is measured here'],
    [
      'millrace plan --tokens 100B --step-tokens 1M --steps-per-second 0.5 --gpus 64 --feed-tokens 250k',
      'a 7 B model, and a loader that gives half of what it needs',
    ],
    [
      'millrace plan corpus.json --tokens 100B --step-tokens 1M --parameters 7B --flops 400T --gpus 64',
      'the same from the model’s size, with a feed that is measured here',
    ],
  ],
  async run({ args: [feed], values }) {
    const { planRun } = await import('../../prepare/plan.js')
    const { parameters, flops, gpus, price, machines, epochs, tokens, batch } = values
    const ofTokens = TOKEN_OPTIONS.some(name => values[name] !== undefined)
    const what = ofTokens ? 'tokens' : 'samples'
    const missing = missingFor(values, ofTokens, feed !== undefined)
    if (missing.length > 0) throw new UsageError(`millrace plan over ${what} needs ${missing.join('; ')}`)
    const alien = ofTokens && SAMPLE_OPTIONS.find(name => values[name] !== undefined)
    if (alien) throw new UsageError(`--${alien} is for a run over samples, and this one is over tokens`)
    const speeds = [values['step-ms'], values['steps-per-second'], parameters ?? flops]
    if (speeds.filter(speed => speed !== undefined).length > 1)
      throw new UsageError(
        '--step-ms, --steps-per-second, and --parameters with --flops all say how fast the trainer is: give one of them',
      )
    const reported = values[`feed-${what}`]
    if (feed !== undefined && reported !== undefined)
      throw new UsageError(`FEED is measured, and --feed-${what} says what it gives: give one of them`)
    const measured = feed === undefined ? undefined : await measure(feed, values, ofTokens)
    const { epochRows = 0, batch: rows = 0, rowBytes = 0 } = measured ?? {}
    if (!ofTokens && values.samples === undefined && !Number.isFinite(epochRows))
      throw new UsageError('the feed has no end: millrace plan needs --samples N, the samples of an epoch')
    const wanted = ofTokens
      ? { all: tokens!, perStep: values['step-tokens']!, bytes: values['token-bytes'] }
      : {
          all: (values.samples ?? epochRows) * epochs,
          perStep: (batch ?? rows) * gpus,
          bytes: values['sample-bytes'] ?? rowBytes,
        }
    const one = (ofTokens ? measured?.tokensPerSecond : measured?.rowsPerSecond) ?? reported
    const stepMs = values['step-ms']
    const { trainer, fed, ...planned } = planRun({
      ...wanted,
      stepsPerSecond: stepMs === undefined ? values['steps-per-second'] : 1000 / stepMs,
      model: parameters !== undefined && flops !== undefined ? { parameters, flops } : undefined,
      gpus,
      price,
      feed: one === undefined ? undefined : one * machines,
    })
    const named = ({ perSecond, ...way }: PlanWay) => ({ ...way, [`${what}PerSecond`]: perSecond })
    return {
      json: {
        ...(ofTokens
          ? { tokens: wanted.all, tokensPerStep: wanted.perStep }
          : { samples: wanted.all, samplesPerStep: wanted.perStep, sampleBytes: wanted.bytes, epochs }),
        gpus,
        price,
        machines,
        ...(measured && { measured }),
        ...planned,
        trainer: named(trainer),
        ...(fed && { fed: named(fed) }),
      },
      text: describe(what, { ...wanted, gpus, price, epochs }, { trainer, fed, ...planned }, measured),
    }
  },
})

/** Options that only a run over samples has. */
const SAMPLE_OPTIONS = ['samples', 'batch', 'sample-bytes', 'feed-samples'] as const
/** Options that only a run over tokens has. */
const TOKEN_OPTIONS = ['tokens', 'step-tokens', 'feed-tokens', 'parameters', 'flops'] as const

interface Given extends Partial<Record<(typeof TOKEN_OPTIONS)[number], number>> {
  samples?: number
  batch?: number
  'step-ms'?: number
  'steps-per-second'?: number
}

/** All that is missing, at once. */
function missingFor(given: Given, ofTokens: boolean, measured: boolean): string[] {
  const { parameters, flops } = given
  const fast = given['step-ms'] ?? given['steps-per-second']
  const model = parameters !== undefined && flops !== undefined
  const missing: [boolean, string][] = ofTokens
    ? [
        [given.tokens === undefined, '--tokens N (to train on)'],
        [given['step-tokens'] === undefined, '--step-tokens N (of a step, all ranks together)'],
        [
          fast === undefined && !model,
          '--steps-per-second N or --step-ms MS, or --parameters N and --flops N, to know how fast the trainer is',
        ],
      ]
    : [
        [given.samples === undefined && !measured, '--samples N (of an epoch)'],
        [given.batch === undefined && !measured, '--batch N (of one GPU)'],
        [fast === undefined, '--step-ms MS or --steps-per-second N, to know how fast the trainer is'],
      ]
  const found = missing.flatMap(([is, words]) => (is ? [words] : []))
  const any = ofTokens || measured || given.samples !== undefined || given.batch !== undefined
  return found.length === 0 || any
    ? found
    : [
        ...found,
        'a FEED has the first two. For a run over tokens: --tokens N, --step-tokens N and how fast the trainer is',
      ]
}

/** Runs a feed with a trainer that computes nothing, and counts. */
async function measure(
  feed: string,
  values: { 'allow-code': boolean; plugin: string[]; workers?: string; seconds: number },
  ofTokens: boolean,
): Promise<MeasuredFeed & { tokensPerSecond?: number; length?: number }> {
  const [{ loadFeed }, { measureFeed, measureTokens }] = await Promise.all([
    import('../feed-argument.js'),
    import('../measure-feed.js'),
  ])
  const plugins = values.plugin
  const { json, root } = await loadFeed(feed, values['allow-code'], plugins)
  const options = {
    root,
    plugins,
    workers: optionsOf('plan', values).workers ?? 'auto',
    seconds: values.seconds,
    notice,
  }
  return ofTokens ? measureTokens(json, options) : measureFeed(json, options)
}

interface Run {
  all: number
  perStep: number
  bytes: number
  gpus: number
  price: number
  epochs: number
}

function describe(
  what: 'samples' | 'tokens',
  { all, perStep, bytes: each, gpus, price, epochs }: Run,
  { steps, bytesPerSecond, trainer, fed }: Plan,
  measured: (MeasuredFeed & { tokensPerSecond?: number; length?: number }) | undefined,
): string {
  const read = each > 0 ? `, ${bytes(bytesPerSecond)}/s read` : ''
  const often = epochs > 1 ? ` (${count(epochs)} epochs of ${longTime(trainer.seconds / epochs)})` : ''
  const facts: [string, string][] = [
    [what, `${amount(all)}, ${amount(perStep)} a step: ${count(steps)} steps${often}`],
    ['needs', `${amount(trainer.perSecond)} ${what}/s${read}`],
  ]
  if (measured !== undefined) {
    const { tokensPerSecond, rowsPerSecond, length } = measured
    const rows = length === undefined ? '' : ` (rows of ${count(length)})`
    facts.push([
      'feed',
      `${amount(tokensPerSecond ?? rowsPerSecond)} ${what}/s here with ${counted(measured.workers, 'worker')}${rows}`,
    ])
  }
  const row = (name: string, way: PlanWay): string[] => [
    name,
    amount(way.perSecond),
    percent(way.busy),
    longTime(way.seconds),
    way.gpuHours < 100 ? amount(way.gpuHours) : count(way.gpuHours),
    money(way.cost ?? 0),
  ]
  const rows = [row('never waits', trainer), ...(fed === undefined ? [] : [row('with the feed', fed)])]
  const heads = [`${what}/s`, 'GPU busy', 'time', 'GPU hours', `cost at ${money(price)}`].map(right)
  return [pairs(facts), table(['', ...heads], rows), verdict(what, trainer, fed, gpus)]
    .filter(text => text !== '')
    .join('\n\n')
}

function verdict(what: string, trainer: PlanWay, fed: PlanWay | undefined, gpus: number): string {
  if (fed === undefined) return ''
  if (fed.busy >= 1) return `The feed keeps up with ${gpus === 1 ? 'the GPU' : `${count(gpus)} GPUs`}.`
  const times = fed.seconds / trainer.seconds
  const more = (fed.cost ?? 0) - (trainer.cost ?? 0)
  return (
    `The feed is too slow: the run takes ${times.toFixed(1)} times as long, and ${money(more)} more, for GPUs that idle. ` +
    `It should give ${(1 / fed.busy).toFixed(1)} times as many ${what}: more workers, more machines, or data nearby.`
  )
}
