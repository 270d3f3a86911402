/** Which configuration is best, and what of that is noise. */
import { percent } from '../../../observe/verdict/units.js'
import { areTooFew, changeText, tooFew } from '../change-words.js'
import { inWords, optionsOf } from '../grid/configuration.js'
import { differs, type Estimate, pairedRatio } from '../statistics.js'
import type { MeasuredRun, Summary } from './summary.js'

/** A trainer that loses less than this is not limited by its data. */
const LITTLE = 0.02

export interface Choice {
  /** The default, unless another is surely faster. */
  best: string
  /** Whether the best is surely faster than each of the others. */
  sure: boolean
  /** The best against the default and the baseline: how many times as fast. */
  bestOverDefault: Estimate
  bestOverBaseline: Estimate
  /** Configurations that can't be told from the best: their intervals of the ratio hold 1. The best is one. */
  alike: string[]
  conclusion: string
  /** The command line that uses the best. That of the default gives nothing: the tuner goes on from there. */
  command: string
}

/** What command lines need: how the feed was named, and the length of a step (ms). */
export interface Called {
  feed: string
  stepMs: number
}

/** What was compared. */
interface Compared {
  best: Summary
  usual: Summary
  fastest: Summary
  /** The fastest over the default. */
  lead: Estimate
  alike: readonly Summary[]
  all: readonly Summary[]
  overDefault: Estimate
  overBaseline: Estimate
}

export function choose(
  summaries: readonly Summary[],
  runs: readonly MeasuredRun[],
  called: Called,
): Choice | undefined {
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')
  const baseline = summaries.find(({ configuration }) => configuration.role === 'baseline')
  if (usual === undefined || baseline === undefined) return undefined
  const rates = ratesByRound(runs)
  const over = (a: Summary, b: Summary) =>
    pairedRatio(rates.get(a.configuration.name) ?? new Map(), rates.get(b.configuration.name) ?? new Map())
  const fastest = summaries.reduce((best, one) => (rateOf(one) > rateOf(best) ? one : best))
  // What can't be told from the default is no reason to leave it.
  const lead = over(fastest, usual)
  const best = differs(lead) ? fastest : usual
  const alike = summaries.filter(one => one === best || !differs(over(one, best)))
  const few = areTooFew(Math.min(...summaries.map(one => one.rounds)))
  const [overDefault, overBaseline] = [over(best, usual), over(best, baseline)]
  const compared = { best, usual, fastest, lead, alike, all: summaries, overDefault, overBaseline }
  return {
    best: best.configuration.name,
    sure: alike.length === 1,
    bestOverDefault: overDefault,
    bestOverBaseline: overBaseline,
    alike: alike.map(({ configuration }) => configuration.name),
    conclusion: few ? fewSentence(compared) : bestSentence(compared),
    command: commandOf(best === usual ? '' : ` ${optionsOf(best.configuration)}`, called),
  }
}

function commandOf(options: string, { feed, stepMs }: Called): string {
  const step = stepMs > 0 ? ` --step-ms ${Number(stepMs.toPrecision(4))}` : ''
  return `millrace run ${shellWord(feed)}${options}${step}`
}

function rateOf(one: Summary): number {
  return one.samplesPerSecond.mean
}

/** Samples/s of each configuration, by round. */
function ratesByRound(runs: readonly MeasuredRun[]): Map<string, Map<number, number>> {
  const rates = new Map<string, Map<number, number>>()
  for (const { configuration, round, figures } of runs) {
    const own = rates.get(configuration.name) ?? new Map<number, number>()
    rates.set(configuration.name, own.set(round, figures.samplesPerSecond))
  }
  return rates
}

/** What was seen in too few rounds: rates, and no claim. */
function fewSentence(compared: Compared): string {
  const { usual, fastest, all } = compared
  const first = fastest === usual ? '' : ` ${capital(aheadOf(compared))}.`
  const seen = `${capital(nameOf(compared))} gave ${figuresOf(compared)}.${first}`
  return `${tooFew(Math.min(...all.map(one => one.rounds)))}. ${seen}`
}

/** Which is best, where that can be told; what can't be told apart, where it can't. */
function bestSentence(compared: Compared): string {
  const { best, fastest, alike, all } = compared
  const [name, figures] = [capital(nameOf(compared)), figuresOf(compared)]
  if (alike.length === 1) return `${name} is best: ${figures}.`
  const stays =
    fastest === best ? '' : ` ${capital(aheadOf(compared))}: that may be noise, more --rounds would tell.`
  if (alike.length === all.length) return `No difference is beyond noise. ${name} gives ${figures}.${stays}`
  const how = fastest === best ? 'is fastest' : 'can’t be told from the fastest'
  const names = alike.map(({ configuration }) => configuration.name).join(', ')
  return `${name} ${how}: ${figures}.${stays} No difference beyond noise: ${names}.`
}

function nameOf({ best, usual }: Compared): string {
  const words = inWords(best.configuration)
  return best === usual ? `the default (${words})` : words
}

/** What was faster than the default. */
function aheadOf({ fastest, lead }: Compared): string {
  return `${inWords(fastest.configuration)} gave ${rateText(fastest)}, ${changeText(lead)}`
}

/** Rate, and what it is beside the others. */
function figuresOf({ best, usual, overDefault, overBaseline }: Compared): string {
  const { lost, au, configuration } = best
  const limit =
    lost.median < LITTLE ? ', and the trainer is the limit: it loses' : ', and the trainer still loses'
  const loses = au === null ? '' : `${limit} ${percent(lost.median)}`
  const times =
    configuration.role === 'baseline'
      ? ''
      : `, ${overBaseline.value.toFixed(overBaseline.value < 10 ? 1 : 0)} times the rate without workers`
  const more = best === usual ? '' : `, ${changeText(overDefault)} over the default`
  return `${rateText(best)}${times}${more}${loses}`
}

/** `1,368 samples/s (1,290–1,420)`. */
function rateText({ samplesPerSecond: { mean, min, max } }: Summary): string {
  return `${number(mean)} samples/s (${number(min)}–${number(max)})`
}

function number(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(3))) : Math.round(value).toLocaleString('en-US')
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1)
}

/** A word of a command line, as a shell reads it back: printed lines can be pasted. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./#-]+$/.test(text) && !text.startsWith('#') ? text : `'${text.replaceAll("'", "'\\''")}'`
}
