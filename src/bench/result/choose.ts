/** Which configuration is best, which gives nearly as much for least, and what of that is noise. */
import { percent } from '../../observe/verdict/units.js'
import { inWords, optionsOf } from '../grid/configuration.js'
import { differs, type Estimate, pairedRatio } from '../statistics.js'
import type { MeasuredRun, Summary } from './summary.js'

/** As good as the best, for those who have to pay for it. */
const NEARLY = 0.95
/** Costs that differ by less are equal: then fewer workers, then less depth. */
const SAME_COST = 0.03
/** A trainer that loses less than this is not limited by its data. */
const LITTLE = 0.02

export interface Choice {
  best: string
  /** Gives at least 95 % of the best for least CPU time and memory; the best itself where nothing is cheaper. */
  cheapest: string
  /** The best against the default and the baseline: how many times as fast. */
  bestOverDefault: Estimate
  bestOverBaseline: Estimate
  /** Configurations that can't be told from the best: their intervals of the ratio hold 1. The best is one. */
  alike: string[]
  conclusion: string
  /** Command lines that use the best, and the cheapest. */
  commands: { best: string; cheapest: string }
}

export function choose(
  summaries: readonly Summary[],
  runs: readonly MeasuredRun[],
  feed: string,
): Choice | undefined {
  const rate = (one: Summary) => one.samplesPerSecond.median
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')
  const baseline = summaries.find(({ configuration }) => configuration.role === 'baseline')
  if (usual === undefined || baseline === undefined) return undefined
  const rates = ratesOf(runs)
  const over = (a: Summary, b: Summary) =>
    pairedRatio(rates.get(a.configuration.name) ?? new Map(), rates.get(b.configuration.name) ?? new Map())
  const fastest = summaries.reduce((best, one) => (rate(one) > rate(best) ? one : best))
  // What can't be told from the default is no reason to leave it. One round alone has no noise to tell.
  const lead = over(fastest, usual)
  const better = lead.interval === null || differs(lead)
  const best = better ? fastest : usual
  const alike = summaries.filter(one => one === best || isAlike(over(one, best)))
  const enough = summaries.filter(one => rate(one) >= NEARLY * rate(best))
  const cheapest = enough.reduce((least, one) => (cheaper(one, least, best) ? one : least), best)
  const ratios = { bestOverDefault: over(best, usual), bestOverBaseline: over(best, baseline) }
  const command = (one: Summary) => `millrace run ${feed} ${optionsOf(one.configuration)}`
  return {
    best: best.configuration.name,
    cheapest: cheapest.configuration.name,
    ...ratios,
    alike: alike.map(({ configuration }) => configuration.name),
    conclusion: [
      bestSentence(best, usual, ratios),
      ...leadSentence(fastest, best, lead),
      ...noiseSentence(alike, summaries),
      ...cheapSentence(cheapest, best),
    ].join(' '),
    commands: { best: command(best), cheapest: command(cheapest) },
  }
}

/** Samples/s of each configuration, by round. */
export function ratesOf(runs: readonly MeasuredRun[]): Map<string, Map<number, number>> {
  const rates = new Map<string, Map<number, number>>()
  for (const { configuration, round, figures } of runs) {
    const own = rates.get(configuration.name) ?? new Map<number, number>()
    rates.set(configuration.name, own.set(round, figures.samplesPerSecond))
  }
  return rates
}

function isAlike({ interval }: Estimate): boolean {
  return interval === null || (interval[0] <= 1 && interval[1] >= 1)
}

/** CPU time and memory together, beside the best's: their product. */
function cost(one: Summary, best: Summary): number {
  const cpu = (one.cpuSecondsPer1000?.median ?? 1) / (best.cpuSecondsPer1000?.median ?? 1)
  return cpu * (one.peakBytes.median / best.peakBytes.median)
}

function cheaper(a: Summary, b: Summary, best: Summary): boolean {
  const [costA, costB] = [cost(a, best), cost(b, best)]
  if (Math.abs(costA - costB) > SAME_COST) return costA < costB
  const [x, y] = [a.configuration, b.configuration]
  return x.workers !== y.workers ? x.workers < y.workers : x.depth < y.depth
}

function bestSentence(
  best: Summary,
  usual: Summary,
  { bestOverDefault, bestOverBaseline }: Pick<Choice, 'bestOverDefault' | 'bestOverBaseline'>,
): string {
  const { samplesPerSecond, lost, au, configuration } = best
  const limited = au !== null
  const what = `${rateText(samplesPerSecond.median)} (${number(samplesPerSecond.min)}–${number(samplesPerSecond.max)})`
  const loses = limited
    ? lost.median < LITTLE
      ? `, and the trainer is the limit: it loses ${percent(lost.median)}`
      : `, and the trainer still loses ${percent(lost.median)}`
    : ''
  const times =
    configuration.role === 'baseline'
      ? ''
      : `, ${bestOverBaseline.value.toFixed(bestOverBaseline.value < 10 ? 1 : 0)} times the rate without workers`
  const more = best === usual ? '' : `, ${signed(bestOverDefault)} over the default`
  const name = best === usual ? `The default (${inWords(configuration)})` : inWords(configuration)
  return `${capital(name)} is best: ${what}${times}${more}${loses}.`
}

/** What was faster than the default, and may be so by chance. */
function leadSentence(fastest: Summary, best: Summary, lead: Estimate): string[] {
  if (fastest === best) return []
  const gain = signed({ ...lead, interval: null })
  return [
    `${capital(inWords(fastest.configuration))} gave ${gain}, which may be noise: more --rounds would tell.`,
  ]
}

function noiseSentence(alike: readonly Summary[], all: readonly Summary[]): string[] {
  if (alike.length < 2) return []
  const names = alike.map(({ configuration }) => configuration.name).join(', ')
  return alike.length === all.length
    ? [
        'No difference between the configurations is larger than the noise: more --rounds may tell them apart.',
      ]
    : [`${names} can't be told apart: they differ by less than the noise.`]
}

function cheapSentence(cheapest: Summary, best: Summary): string[] {
  if (cheapest === best) return ['None gives 95 % of it for less CPU time and memory.']
  const share = cheapest.samplesPerSecond.median / best.samplesPerSecond.median
  const [cpu, memory] = [
    cheapest.cpuSecondsPer1000 && best.cpuSecondsPer1000
      ? cheapest.cpuSecondsPer1000.median / best.cpuSecondsPer1000.median - 1
      : 0,
    cheapest.peakBytes.median / best.peakBytes.median - 1,
  ]
  const less = (change: number, what: string) =>
    Math.abs(change) < 0.01
      ? `as much ${what}`
      : `${percent(Math.abs(change))} ${change < 0 ? 'less' : 'more'} ${what}`
  const much = share > 0.995 ? 'as much' : `${percent(share)} of it`
  return [
    `${capital(inWords(cheapest.configuration))} gives ${much} for ${less(cpu, 'CPU time')} and ${less(memory, 'memory')}.`,
  ]
}

/** `+12 % (±3)`. */
function signed({ value, interval }: Estimate): string {
  const gain = Math.round(100 * (value - 1))
  const half = interval === null ? '' : ` (±${Math.max(1, Math.round(50 * (interval[1] - interval[0])))})`
  return `${gain < 0 ? '−' : '+'}${Math.abs(gain)} %${half}`
}

function rateText(value: number): string {
  return `${number(value)} samples/s`
}

function number(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(3))) : Math.round(value).toLocaleString('en-US')
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1)
}
