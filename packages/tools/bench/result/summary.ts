/**
 * What the rounds of a configuration have shown together: medians, with the least and the most. Samples/s also have their geometric
 * mean: that is what is shown and compared, so that a change is the ratio of the two rates beside it.
 */
import { PART_NAMES } from '../../../observe/account/parts.js'
import type { Parts, VerdictName } from '../../../observe/evidence.js'
import type { Configuration } from '../grid/configuration.js'
import type { RunFigures } from '../measure/task.js'
import { median, type Rates, ratesOf, type Spread, spread } from '../statistics.js'

/** One run, as it stands in bench.jsonl. */
export interface MeasuredRun {
  configuration: Configuration
  /** From 1 on. Runs of one round follow each other. */
  round: number
  figures: RunFigures
}

export interface Summary {
  configuration: Configuration
  rounds: number
  samplesPerSecond: Rates
  bytesPerSecond: Spread
  lost: Spread
  stepMs: Spread
  /** ms of a step, by part: medians. */
  partsMs: Parts
  parts: Parts
  wait: { p50: number; p95: number; p99: number; max: number }
  au: { dlio: number; nominal: number } | null
  cpuSecondsPer1000: Spread | null
  peakBytes: Spread
  firstBatchMs: Spread
  epochGapMs: Spread | null
  /** Samples that could not be used in a run: the most of any round. */
  bad: number
  /** Of the round in the middle. */
  verdict: VerdictName
  second: VerdictName | null
  sentence: string
}

/** Of each configuration, in the order in which they were first measured. */
export function summarize(runs: readonly MeasuredRun[]): Summary[] {
  const groups = new Map<string, MeasuredRun[]>()
  for (const run of runs) {
    const { name } = run.configuration
    groups.set(name, [...(groups.get(name) ?? []), run])
  }
  return [...groups.values()].map(summaryOf)
}

function summaryOf(runs: readonly MeasuredRun[]): Summary {
  const figures = runs.map(run => run.figures)
  const of = (get: (figures: RunFigures) => number) => spread(figures.map(get))
  const known = (get: (figures: RunFigures) => number | null) => {
    const values = figures.map(get).filter(value => value !== null)
    return values.length === 0 ? null : spread(values)
  }
  const mid = (get: (figures: RunFigures) => number) => median(figures.map(get))
  const parts = {} as Parts
  for (const part of PART_NAMES) parts[part] = mid(one => one.parts[part])
  // Medians of shares need not add up to 1, by a little.
  const sum = PART_NAMES.reduce((total, part) => total + parts[part], 0)
  const stepMs = of(one => one.stepMs)
  const partsMs = {} as Parts
  for (const part of PART_NAMES) {
    parts[part] /= sum
    partsMs[part] = parts[part] * stepMs.median
  }
  const sorted = [...figures].sort((a, b) => a.samplesPerSecond - b.samplesPerSecond)
  const { verdict, second, sentence } = sorted[(sorted.length - 1) >> 1]
  return {
    configuration: runs[0].configuration,
    rounds: runs.length,
    samplesPerSecond: ratesOf(figures.map(one => one.samplesPerSecond)),
    bytesPerSecond: of(one => one.bytesPerSecond),
    lost: of(one => one.lost),
    stepMs,
    parts,
    partsMs,
    wait: {
      p50: mid(one => one.wait.p50),
      p95: mid(one => one.wait.p95),
      p99: mid(one => one.wait.p99),
      max: Math.max(...figures.map(one => one.wait.max)),
    },
    au: figures.every(one => one.au !== null)
      ? { dlio: mid(one => one.au!.dlio), nominal: mid(one => one.au!.nominal) }
      : null,
    cpuSecondsPer1000: known(one => one.cpuSecondsPer1000),
    peakBytes: of(one => one.memory.peakBytes),
    firstBatchMs: of(one => one.firstBatchMs),
    epochGapMs: known(one => one.epochGapMs),
    bad: Math.max(...figures.map(one => one.bad)),
    verdict,
    second,
    sentence,
  }
}

/** The verdict in a word or two. */
export function verdictText({ verdict, second }: Pick<Summary, 'verdict' | 'second'>): string {
  return verdict === 'inconclusive' && second !== null ? `perhaps ${second}` : verdict
}
