/** Is it slower than it was? The configurations of an earlier bench.jsonl are compared with what they do now. */
import { changeText } from '../change-words.js'
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
}

export interface Comparison {
  changes: Change[]
  conclusion: string
  /** Configurations that only one of the two has, such as those that failed now. */
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

export function compareWith(before: BenchFile, now: BenchFile): Comparison {
  const [then, today] = [before, now].map(({ runs }) => ratesByRound(runs))
  const names = [...then.keys()].filter(name => today.has(name))
  const changes = names.map((name): Change => {
    const [a, b] = [then, today].map(rates => [...rates.get(name)!.values()])
    const change = ratio(b, a)
    const means = { before: geometricMean(a), now: geometricMean(b) }
    return { configuration: name, ...means, ratio: change, verdict: verdictOf(change) }
  })
  const missing = [...new Set([...then.keys(), ...today.keys()])].filter(name => !names.includes(name))
  return { changes, missing, conclusion: conclusionOf(changes) }
}

function verdictOf(change: Estimate): Change['verdict'] {
  if (change.interval === null) return 'not known'
  return !differs(change) ? 'same' : change.value < 1 ? 'slower' : 'faster'
}

function conclusionOf(changes: readonly Change[]): string {
  if (changes.length === 0) return 'Nothing of the baseline was measured now.'
  const worse = changes.filter(({ verdict }) => verdict === 'slower')
  if (worse.length === 0) return 'No slower than before, as far as the noise lets one see.'
  const least = worse.reduce((most, one) => (one.ratio.value < most.ratio.value ? one : most))
  return `Slower: ${least.configuration} ${changeText(least.ratio)}, beyond the noise.`
}
