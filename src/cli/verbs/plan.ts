/** `millrace plan`: what a training run on tokens takes, and what a slow feed adds to it. */

import type { Plan, PlanWay } from '../../prepare/plan.js'
import { ALLOW_CODE, command, PLUGIN, UsageError, workersOf } from '../command.js'
import type { MeasuredTokens } from '../measure-tokens.js'
import { notice } from '../progress.js'
import { pairs, table } from '../table.js'
import { amount, bytes, count, counted, longTime, money, percent } from '../units.js'

export const plan = command({
  name: 'plan',
  summary: 'says how long a training run takes, what it costs, and whether a feed keeps up',
  about:
    'Computes steps, days, bytes a second and the price of a run on so many tokens. How fast the trainer is you say in steps a second, ' +
    'or by its parameters and the operations a second that a GPU reaches (then 6 operations a parameter and token). ' +
    'Given a FEED, it is run for a few seconds here, and the plan says what it makes of the run.',
  args: [{ name: 'FEED', about: 'a feed of tokens, to be measured', optional: true }],
  options: {
    tokens: { type: 'amount', about: 'tokens to train on, such as 100B', least: 1 },
    'step-tokens': { type: 'amount', about: 'tokens of a step, all ranks together, such as 1M', least: 1 },
    'steps-per-second': { type: 'number', about: 'steps a second when the trainer never waits' },
    parameters: { type: 'amount', about: 'parameters of the model, such as 7B' },
    flops: { type: 'amount', about: 'operations a second that one GPU reaches, such as 400T' },
    gpus: { type: 'count', about: 'how many GPUs train', default: 1, least: 1 },
    price: { type: 'number', value: '$', about: 'price of a GPU hour', default: 3 },
    'token-bytes': { type: 'count', about: 'bytes of a stored token: 2 or 4', default: 2, least: 1 },
    'feed-tokens': { type: 'amount', about: 'tokens a second that the feed gives, in place of FEED' },
    machines: { type: 'count', about: 'machines that feed like this one', default: 1, least: 1 },
    seconds: { type: 'number', about: 'how long FEED is measured', default: 3 },
    workers: { type: 'text', value: 'N', about: 'worker threads that measure FEED', default: 'auto' },
    ...ALLOW_CODE,
    ...PLUGIN,
  },
  examples: [
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
    const given = (name: 'tokens' | 'step-tokens'): number => {
      const value = values[name]
      if (value === undefined) throw new UsageError(`millrace plan needs --${name} N`)
      return value
    }
    const { parameters, flops, gpus, price, machines } = values
    if (values['steps-per-second'] === undefined && (parameters === undefined || flops === undefined))
      throw new UsageError(
        'millrace plan needs --steps-per-second N, or --parameters N and --flops N, to know how fast the trainer is',
      )
    if (feed !== undefined && values['feed-tokens'] !== undefined)
      throw new UsageError('FEED is measured, and --feed-tokens says what it gives: give one of them')
    const wanted = { tokens: given('tokens'), tokensPerStep: given('step-tokens') }
    const measured =
      feed === undefined
        ? undefined
        : await measure(feed, values['allow-code'], values.plugin, workersOf(values.workers), values.seconds)
    const one = measured?.tokensPerSecond ?? values['feed-tokens']
    const planned = planRun({
      ...wanted,
      stepsPerSecond: values['steps-per-second'],
      model: parameters !== undefined && flops !== undefined ? { parameters, flops } : undefined,
      gpus,
      price,
      tokenBytes: values['token-bytes'],
      feed: one === undefined ? undefined : one * machines,
    })
    return {
      json: { ...wanted, gpus, price, machines, ...(measured && { measured }), ...planned },
      text: describe(wanted, planned, gpus, price, measured),
    }
  },
})

/** Runs a feed with a trainer that computes nothing, and counts. */
async function measure(
  feed: string,
  allowCode: boolean,
  urls: string[],
  workers: number | 'auto',
  seconds: number,
): Promise<MeasuredTokens> {
  const [{ loadFeed }, { givenPlugins }, { measureTokens }] = await Promise.all([
    import('../feed-argument.js'),
    import('../locate.js'),
    import('../measure-tokens.js'),
  ])
  const plugins = await givenPlugins(urls)
  const { json, root } = await loadFeed(feed, allowCode, plugins)
  return measureTokens(json, { root, plugins, workers, seconds, notice })
}

function describe(
  { tokens, tokensPerStep }: { tokens: number; tokensPerStep: number },
  { steps, bytesPerSecond, trainer, fed }: Plan,
  gpus: number,
  price: number,
  measured: MeasuredTokens | undefined,
): string {
  const facts: [string, string][] = [
    ['tokens', `${amount(tokens)}, ${amount(tokensPerStep)} a step: ${count(steps)} steps`],
    ['needs', `${amount(trainer.tokensPerSecond)} tokens/s, ${bytes(bytesPerSecond)}/s read`],
  ]
  if (measured !== undefined)
    facts.push([
      'feed',
      `${amount(measured.tokensPerSecond)} tokens/s here with ${counted(measured.workers, 'worker')} (rows of ${count(measured.length)})`,
    ])
  const row = (name: string, way: PlanWay): string[] => [
    name,
    amount(way.tokensPerSecond),
    percent(way.busy),
    longTime(way.seconds),
    count(way.gpuHours),
    money(way.cost ?? 0),
  ]
  const right = (title: string) => ({ title, align: 'right' as const })
  const rows = [row('never waits', trainer), ...(fed === undefined ? [] : [row('with the feed', fed)])]
  const heads = ['tokens/s', 'GPU busy', 'time', 'GPU hours', `cost at ${money(price)}`].map(right)
  return [pairs(facts), table(['', ...heads], rows), verdict(trainer, fed, gpus)]
    .filter(text => text !== '')
    .join('\n\n')
}

function verdict(trainer: PlanWay, fed: PlanWay | undefined, gpus: number): string {
  if (fed === undefined) return ''
  if (fed.busy >= 1) return `The feed keeps up with ${gpus === 1 ? 'the GPU' : `${count(gpus)} GPUs`}.`
  const times = fed.seconds / trainer.seconds
  const more = (fed.cost ?? 0) - (trainer.cost ?? 0)
  return (
    `The feed is too slow: the run takes ${times.toFixed(1)} times as long, and ${money(more)} more. ` +
    `It should give ${(1 / fed.busy).toFixed(1)} times as many tokens: more workers, more machines, or data nearby.`
  )
}
