/** What `millrace bench` says of its runs, as text and as JSON. */

import { bytes } from '../../../../observe/verdict/units.js'
import { intervalText, share } from '../../../bench/change-words.js'
import { NOTHING_GIVEN } from '../../../bench/grid/configuration.js'
import type { Comparison } from '../../../bench/result/baseline.js'
import type { Choice } from '../../../bench/result/choose.js'
import type { BenchFile } from '../../../bench/result/file.js'
import type { Summary } from '../../../bench/result/summary.js'
import type { Outcome } from '../../command.js'
import { table } from '../../table.js'
import { count, counted, duration, percent } from '../../units.js'

type Words = Pick<typeof import('../../../bench/result/summary.js'), 'verdictText'>

export function outcome(
  found: BenchFile & { report: string },
  out: string,
  change: Comparison | undefined,
  words: Words,
): Outcome {
  const { header, summary, failed, report } = found
  const { configurations = [], choice = null } = summary ?? {}
  const text = [
    choice?.conclusion ?? 'Nothing could be compared.',
    ...(change ? [change.conclusion] : []),
    '',
    tableOf(configurations, words, choice),
    ...(change ? ['', changeTable(change)] : []),
    ...badSamples(configurations),
    ...failed.map(({ configuration, message }) => `${configuration.name} could not run: ${message}`),
    '',
    ...commandLines(configurations, choice),
    `report    ${out}/report.html`,
    `results   ${out}/bench.jsonl, ${out}/steps/`,
  ].join('\n')
  return {
    json: { header, configurations, choice, failed, report, ...(change && { baseline: change }) },
    text,
  }
}

function commandLines(summaries: readonly Summary[], choice: Choice | null): string[] {
  if (choice === null) return []
  const { best, cheapest } = choice.commands
  const usual = summaries.find(({ configuration }) => configuration.role === 'default')
  const first =
    choice.best === usual?.configuration.name
      ? `default   ${best}      ${NOTHING_GIVEN}`
      : `${(choice.sure ? 'best' : 'fastest').padEnd(10)}${best}`
  return [first, ...(cheapest === best ? [] : [`cheapest  ${cheapest}`])]
}

function tableOf(summaries: readonly Summary[], words: Words, choice: Choice | null): string {
  const mark = (name: string, role: string) =>
    [
      ...(name === choice?.best && choice.sure ? ['best'] : []),
      ...(name === choice?.cheapest && name !== choice.best ? ['cheapest'] : []),
      ...(role === 'variation' ? [] : [role]),
    ].join(', ')
  return table(
    [
      'configuration',
      '',
      ...['samples/s', 'min–max', 'lost', 'wait p50', 'p95', 'p99', 'AU'].map(right),
      ...['CPU s/1,000', 'memory', 'first batch', 'epoch gap'].map(right),
      'why',
    ],
    summaries.map(one => {
      const { configuration, samplesPerSecond: rate, wait, au, cpuSecondsPer1000, epochGapMs } = one
      return [
        configuration.name,
        mark(configuration.name, configuration.role),
        count(rate.mean),
        `${count(rate.min)}–${count(rate.max)}`,
        au === null ? '–' : percent(one.lost.median),
        ...[wait.p50, wait.p95, wait.p99].map(ms => duration(ms / 1000)),
        au === null ? '–' : percent(au.dlio),
        cpuSecondsPer1000 === null ? '–' : cpuSecondsPer1000.median.toPrecision(3),
        bytes(one.peakBytes.median),
        duration(one.firstBatchMs.median / 1000),
        epochGapMs === null ? '–' : duration(epochGapMs.median / 1000),
        words.verdictText(one),
      ]
    }),
  )
}

/** Samples that were left out, or masked: rates are those of the others. */
function badSamples(summaries: readonly Summary[]): string[] {
  const bad = Math.max(0, ...summaries.map(one => one.bad))
  if (bad === 0) return []
  return [`${counted(bad, 'sample')} a run could not be used (\`millrace verify\` names them)`]
}

function changeTable({ changes, missing }: Comparison): string {
  const rows = changes.map(({ configuration, before, now, ratio, verdict }) => {
    const change = [share(ratio.value), intervalText(ratio)]
    return [configuration, count(before), count(now), ...change, verdict]
  })
  const heads = ['before, samples/s', 'now', 'change', '95 % interval'].map(right)
  const compared = table(['configuration', ...heads, ''], rows)
  return missing.length === 0 ? compared : `${compared}\nonly in one of the two: ${missing.join(', ')}`
}

function right(title: string): { title: string; align: 'right' } {
  return { title, align: 'right' }
}
