// What bench/pairs.mjs found, for the terminal while it runs and as a table in Markdown.
import { median } from '../support.mjs'

const three = x => (Number.isFinite(x) ? x.toFixed(3) : '–')
const percent = x => (Number.isFinite(x) ? `${(x * 100).toFixed(1)} %` : '–')
const interval = ({ ratio, low, high }) =>
  `${three(ratio)} (${low > 0 ? `${three(low)} to ${three(high)}` : 'too few pairs'})`
const time = ms => (ms >= 1 ? `${ms.toPrecision(4)} ms` : `${(ms * 1000).toPrecision(4)} µs`)

/** One measure in a few words. */
export const line = one =>
  `${one.name} ${interval(one[one.judge])} by ${one.judge === 'cpu' ? 'CPU' : 'wall'}`

const UNITS = { throughput: 'a picture', overhead: 'a batch', raw: 'a picture', ready: 'in all' }

function row(part, one) {
  const { wall, cpu } = one
  return [
    `${part}, ${one.name}`,
    wall.pairs,
    `${time(wall.beforeMs)}, ${time(wall.afterMs)} ${UNITS[part]}`,
    interval(wall),
    percent(wall.noise),
    `${time(cpu.beforeMs)}, ${time(cpu.afterMs)}`,
    interval(cpu),
    percent(cpu.noise),
    one.judge === 'cpu' ? 'CPU' : 'wall clock',
    one.verdict,
  ]
}

const HEAD = [
  'what',
  'pairs',
  'time before, after',
  'speed after/before, wall clock',
  'noise',
  'CPU time before, after',
  'speed after/before, CPU',
  'noise',
  'judged by',
  'verdict',
]

export function table(result) {
  const rows = result.parts.flatMap(({ part, measures }) => measures.map(one => row(part, one)))
  const lines = [HEAD, HEAD.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  const { before, after } = result.commits
  const text = [
    `# ${before} and ${after} in pairs`,
    '',
    `${result.date.slice(0, 10)}, ${result.machine}, Node ${result.versions.node}, ${result.cache}. \`${result.command}\``,
    '',
    'A ratio is speed after / speed before, with its 95 % interval: more than 1 is faster. It is the median of the averages of every two',
    'pairs (Hodges and Lehmann), the interval that of Wilcoxon’s signed-rank test, both of logarithms. Times are medians. Noise is the',
    'standard deviation of single pairs. CPU time is of the process with all its threads; it judges where the wall clock is noisier than',
    `3 % and CPU time is less noisy. Not slower: the lower end is at least ${result.wanted.low}. Undecided: it is lower, and the upper end is at least 1.`,
    '',
  ]
  if (rows.length > 0) text.push(...lines, '')
  const ready = result.parts.find(({ part }) => part === 'ready')
  if (ready) {
    const [b, a] = ['before', 'after'].map(side => median(ready.pairs.map(pair => pair[side].importMs)))
    text.push(`Importing the package, not judged: ${time(b)} before, ${time(a)} after.`, '')
  }
  if (result.flat) {
    const { steps, limit, verdict } = result.flat
    const told = slopes => `${median(slopes).toFixed(2)} (${slopes.map(x => x.toFixed(2)).join(', ')})`
    text.push(
      `Resident memory over steps ${steps} to ${2 * steps}, MB in 1,000 steps, median (each): before ${told(result.flat.before)}, after`,
      `${told(result.flat.after)}; at most ${limit} is wanted: ${verdict}.`,
      '',
    )
  }
  return text.join('\n')
}
