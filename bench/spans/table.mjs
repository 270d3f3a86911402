// What bench/spans.mjs found: ratios of speed, verdicts, and the table.
import { compare, judged } from '../pairs/interval.mjs'
import { median } from '../support.mjs'

/** What is wanted of each level. The control is the same as the side that it is compared with: its interval must hold 1. */
export const BARS = { control: 1, counters: 0.99, spans: 0.98, full: 0.95 }
/** Without spans, twice: the control is compared with the other one, levels with the mean of both. */
export const OFF = ['off', 'control']

export function judge({ name, level, rounds }) {
  const by = clock => {
    const off = round =>
      level === 'control' ? round.off[clock] : (round.off[clock] + round.control[clock]) / 2
    const result = compare(rounds.map(round => off(round) / round[level][clock]))
    return {
      ...result,
      withoutMs: median(rounds.map(off)),
      withMs: median(rounds.map(round => round[level][clock])),
    }
  }
  const [wall, cpu] = [by('wall'), by('cpu')]
  const judge = judged(wall, cpu)
  const { low, high } = judge === 'wall' ? wall : cpu
  const bar = BARS[level]
  const good = level === 'control' ? low <= 1 && high >= 1 : low >= bar
  const verdict = good ? 'met' : level === 'control' || high < bar ? 'missed' : 'undecided'
  return { name, level, bar, judge, verdict, wall, cpu }
}

const three = x => (Number.isFinite(x) ? x.toFixed(3) : '–')
export const shown = ({ ratio, low, high }) => `${three(ratio)} (${three(low)} to ${three(high)})`
const percent = x => `${(100 * x).toFixed(1)} %`

export function table({ measures, date, machine, versions, command }) {
  const head = ['feed', 'level', 'rounds', 'wanted', 'speed, wall clock', 'noise', 'speed, CPU', 'noise']
  const rows = measures.map(({ name, level, bar, wall, cpu, judge, verdict }) => [
    ...[name, level === 'control' ? 'off against off' : level, wall.pairs, bar],
    ...[shown(wall), percent(wall.noise), shown(cpu), percent(cpu.noise), judge, verdict],
  ])
  const all = [...head, 'judged by', 'verdict']
  const lines = [all, all.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  return [
    '# What levels of spans cost',
    '',
    `${date.slice(0, 10)}, ${machine}, Node ${versions.node}, page cache warm. \`${command}\``,
    '',
    'Speed with a level / speed with MILLRACE_SPANS=0, with its 95 % interval (Hodges and Lehmann, Wilcoxon). A round is a fresh process,',
    'in which all sides take short turns on the same worker threads. "Off against off" compares two sides that are the same: it shows what the rest is worth.',
    '',
    ...lines,
    '',
  ].join('\n')
}
