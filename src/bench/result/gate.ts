/**
 * Is it slower than it was? The configurations of an earlier bench.jsonl are compared with what they do now. The default and the best of
 * the earlier file decide. The gate passes only where all of these were measured in every round: what failed, or is missing, fails it.
 */
import { percent } from '../../observe/verdict/units.js'
import { areTooFew, changeText, intervalText, tooFew } from '../change-words.js'
import { differs, type Estimate, geometricMean, ratio } from '../statistics.js'
import { ratesByRound } from './choose.js'
import type { BenchFile, Header } from './file.js'

export interface Change {
  configuration: string
  /** Samples/s: geometric means of the rounds. */
  before: number
  now: number
  /** Now / before. */
  ratio: Estimate
  verdict: 'slower' | 'faster' | 'same' | 'not known'
  /** Whether the limit is about it: the default, and the best of the earlier file. */
  decides: boolean
}

export interface Gate {
  limit: number
  changes: Change[]
  failed: boolean
  conclusion: string
  /** Why nothing can be said of a configuration that decides. */
  problems: string[]
  /** Configurations that only one of the two has. */
  missing: string[]
}

/** What of two files is not the same: reasons not to compare them. */
export function reasonsAgainst(before: Header, now: Header): string[] {
  const reasons: string[] = []
  const say = (what: string, a: unknown, b: unknown) => {
    if (a !== b) reasons.push(`${what}: ${a} then, ${b} now`)
  }
  say('another CPU', before.machine.cpu, now.machine.cpu)
  say('other cores', before.machine.cores, now.machine.cores)
  say('another feed (order hash)', before.data.order, now.data.order)
  say('another feed (content hash)', before.data.content, now.data.content)
  say('another batch', before.data.batch, now.data.batch)
  say('another step', before.parameters.stepMs, now.parameters.stepMs)
  say('another profile of steps', before.parameters.profile, now.parameters.profile)
  return reasons
}

/** Why an earlier file can decide nothing, whatever is measured now; undefined: it can. */
export function cannotDecide(before: BenchFile): string | undefined {
  if (!before.runs.some(({ configuration }) => configuration.role === 'default'))
    return 'it has no run of the default: its bench was ended before it was done'
  const rates = ratesByRound(before.runs)
  const short = [...decidersOf(before)].find(name => areTooFew(rates.get(name)!.size))
  return short === undefined ? undefined : `of ${short}, ${tooFew(rates.get(short)!.size)}`
}

export function gate(before: BenchFile, now: BenchFile, limit: number): Gate {
  const [then, today] = [before, now].map(({ runs }) => ratesByRound(runs))
  const deciders = decidersOf(before)
  const names = [...then.keys()].filter(name => today.has(name))
  const changes = names.map((name): Change => {
    const [a, b] = [then, today].map(rates => [...rates.get(name)!.values()])
    const change = ratio(b, a)
    return {
      configuration: name,
      ...{ before: geometricMean(a), now: geometricMean(b), ratio: change },
      ...{ verdict: verdictOf(change), decides: deciders.has(name) },
    }
  })
  const problems = [...deciders].flatMap(name => problemOf(name, before, now))
  const missing = [...new Set([...then.keys(), ...today.keys()])].filter(name => !names.includes(name))
  const deciding = changes.filter(({ decides }) => decides)
  const worse = deciding.filter(({ ratio, verdict }) => verdict === 'slower' && 1 - ratio.value > limit)
  return {
    ...{ limit, changes, problems, missing, failed: worse.length > 0 || problems.length > 0 },
    conclusion: [
      ...(worse.length > 0 ? [slower(worse, limit)] : []),
      ...(problems.length > 0 ? [`The gate fails: ${problems.join('; ')}.`] : []),
      ...(worse.length + problems.length === 0 ? [passed(deciding, limit)] : []),
    ].join(' '),
  }
}

/** The default, and the best of the file: as its summary says, or by its runs where it was ended before it had one. */
function decidersOf({ runs, summary }: BenchFile): Set<string> {
  const rates = [...ratesByRound(runs)].map(
    ([name, own]) => [name, geometricMean([...own.values()])] as const,
  )
  const [fastest] = rates.reduce((best, one) => (one[1] > best[1] ? one : best))
  const chosen = summary?.choice?.best
  const best = rates.some(([name]) => name === chosen) ? chosen! : fastest
  const usual = runs.filter(({ configuration }) => configuration.role === 'default')
  return new Set([...usual.map(({ configuration }) => configuration.name), best])
}

/** What keeps a configuration from being compared. */
function problemOf(name: string, before: BenchFile, now: BenchFile): string[] {
  const failed = now.failed.filter(({ configuration }) => configuration.name === name)
  const [a, b] = [before, now].map(({ runs }) => ratesByRound(runs).get(name)?.size ?? 0)
  if (failed.length > 0)
    return [`${name} could not run in ${failed.length} of ${failed.length + b} rounds (${failed[0].message})`]
  if (b === 0) return [`${name} was not measured now`]
  const least = Math.min(a, b)
  return areTooFew(least) ? [`of ${name}, ${tooFew(least)}`] : []
}

function verdictOf(change: Estimate): Change['verdict'] {
  if (change.interval === null) return 'not known'
  return !differs(change) ? 'same' : change.value < 1 ? 'slower' : 'faster'
}

function slower(worse: readonly Change[], limit: number): string {
  const { configuration, ratio } = worse.reduce((most, one) =>
    one.ratio.value < most.ratio.value ? one : most,
  )
  return `Slower: ${configuration} ${changeText(ratio)}, beyond the noise and the limit of ${percent(limit)}.`
}

function passed(deciding: readonly Change[], limit: number): string {
  const widest = deciding.reduce((most, one) => (lowest(one) < lowest(most) ? one : most))
  const noisy =
    1 - lowest(widest) > limit
      ? ` It may still be slower by more than the limit: the 95 % interval of ${widest.configuration} is ` +
        `${intervalText(widest.ratio)}. More --rounds would see smaller changes.`
      : ''
  const [found] = deciding.filter(({ verdict }) => verdict === 'slower')
  if (found !== undefined)
    return `Within the limit of ${percent(limit)}: ${found.configuration} ${changeText(found.ratio)}.${noisy}`
  return `No slower than before, as far as the noise lets one see; the limit is ${percent(limit)}.${noisy}`
}

/** The least that its interval says it may be now, as a share of what it was. */
function lowest({ ratio: { value, interval } }: Change): number {
  return interval?.[0] ?? value
}
