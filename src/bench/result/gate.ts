/** Is it slower than it was? The same configurations of an earlier bench.jsonl are compared, and a limit decides. */
import { percent } from '../../observe/verdict/units.js'
import { differs, type Estimate, ratio } from '../statistics.js'
import { ratesOf } from './choose.js'
import type { BenchFile, Header } from './file.js'
import { summarize } from './summary.js'

export interface Change {
  configuration: string
  before: number
  now: number
  /** Now / before. */
  ratio: Estimate
  verdict: 'slower' | 'faster' | 'same'
  /** Whether the limit is about it: the default, and the best of the earlier file. */
  decides: boolean
}

export interface Gate {
  limit: number
  changes: Change[]
  failed: boolean
  conclusion: string
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

export function gate(before: BenchFile, now: BenchFile, limit: number): Gate {
  const [then, today] = [before, now].map(file => ratesOf(file.runs))
  const summaries = summarize(before.runs)
  const best = summaries.reduce((best, one) =>
    one.samplesPerSecond.median > best.samplesPerSecond.median ? one : best,
  )
  const chosen = before.summary?.choice?.best ?? best.configuration.name
  const changes = summaries.flatMap(({ configuration: { name, role }, samplesPerSecond }): Change[] => {
    const rates = today.get(name)
    if (rates === undefined) return []
    const change = ratio([...rates.values()], [...then.get(name)!.values()])
    const verdict = !differs(change) ? 'same' : change.value < 1 ? 'slower' : 'faster'
    const [{ samplesPerSecond: after }] = summarize(now.runs.filter(run => run.configuration.name === name))
    return [
      {
        configuration: name,
        ...{ before: samplesPerSecond.median, now: after.median, ratio: change, verdict },
        decides: role === 'default' || name === chosen,
      },
    ]
  })
  const names = new Set(changes.map(({ configuration }) => configuration))
  const missing = [...new Set([...then.keys(), ...today.keys()])].filter(name => !names.has(name))
  const deciding = changes.filter(({ decides }) => decides)
  const worse = deciding.filter(({ ratio, verdict }) => verdict === 'slower' && 1 - ratio.value > limit)
  const failed = worse.length > 0 || deciding.length === 0
  return { limit, changes, failed, missing, conclusion: conclude(changes, worse, limit) }
}

function conclude(changes: readonly Change[], worse: readonly Change[], limit: number): string {
  const deciding = changes.filter(({ decides }) => decides)
  if (deciding.length === 0)
    return 'Neither the default nor the best of the earlier file was measured now: nothing can be said.'
  if (worse.length > 0) {
    const { configuration, ratio } = worse.reduce((most, one) =>
      one.ratio.value < most.ratio.value ? one : most,
    )
    return `Slower: ${configuration} gives ${percent(1 - ratio.value)} less than before, beyond the noise and the limit of ${percent(limit)}.`
  }
  const widest = Math.max(...deciding.map(noiseOf))
  const noisy =
    widest > limit
      ? ` The noise (±${percent(widest)}) is larger than the limit: more --rounds would see smaller changes.`
      : ''
  const slower = deciding.filter(({ verdict }) => verdict === 'slower')
  if (slower.length > 0) {
    const { configuration, ratio } = slower[0]
    return `Within the limit of ${percent(limit)}: ${configuration} gives ${percent(1 - ratio.value)} less than before.${noisy}`
  }
  return `No slower than before, as far as the noise lets one see; the limit is ${percent(limit)}.${noisy}`
}

function noiseOf({ ratio: { interval } }: Change): number {
  return interval === null ? Infinity : (interval[1] - interval[0]) / 2
}
