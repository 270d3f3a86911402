/** Metrics in Prometheus' text format (version 0.0.4), for an endpoint of the user's, or node_exporter's textfile collector. */
import { MillraceError } from '../../core/basics/errors.js'
import type { Accounting } from '../evidence.js'
import { FAMILIES, METRICS, type Metric } from './table.js'

/** One feed and rank, and its accounting. */
export interface Exposed {
  feed: string
  rank: number
  account: Accounting
}

/**
 * The accountings of one feed and rank or of several as one page.
 *
 *   prometheus({ feed: 'train', rank: loader.rank, account: loader.stats().account })
 */
export function prometheus(exposed: Exposed | readonly Exposed[]): string {
  const all = [exposed].flat()
  for (const one of all) check(one)
  return Object.entries(FAMILIES)
    .map(([family, { type, help }]) => {
      const lines = all.flatMap(one => linesOf(family, one))
      if (lines.length === 0) return ''
      return `# HELP millrace_${family} ${help}\n# TYPE millrace_${family} ${type}\n${lines.join('')}`
    })
    .join('')
}

/** Programs in JavaScript may give anything. */
function check(one: Exposed | undefined): void {
  const { feed, rank, account } = one ?? {}
  if (typeof feed === 'string' && typeof rank === 'number' && account?.parts !== undefined) return
  throw new MillraceError(
    'prometheus() takes { feed, rank, account }, or a list of these: the name of a feed, a rank, and stats().account of its loader',
  )
}

function linesOf(family: string, one: Exposed): string[] {
  return METRICS.filter(metric => metric.family === family).flatMap(metric => {
    const value = metric.of(one.account)
    if (value === null || !Number.isFinite(value)) return []
    const scaled = value * (metric.scale ?? 1)
    if (FAMILIES[family].type !== 'summary' || metric.label) return [line(family, one, metric, scaled)]
    // The mean of a summary is told by a sum and a count.
    const { steps } = one.account
    return [line(`${family}_sum`, one, metric, scaled * steps), line(`${family}_count`, one, metric, steps)]
  })
}

function line(name: string, { feed, rank }: Exposed, { label }: Metric, value: number): string {
  const labels = [['feed', feed], ['rank', String(rank)], ...(label ? [label] : [])]
  const text = labels.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')
  return `millrace_${name}{${text}} ${value}\n`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
