/** `millrace compare`: two results of bench or two run logs side by side. */

import { partName } from '../../../observe/account/parts.js'
import { intervalText, share } from '../../bench/change-words.js'
import type { Pair } from '../../bench/compare/blocks.js'
import type { Compared } from '../../bench/compare/compare.js'
import { command } from '../command.js'
import { right, table } from '../table.js'
import { count } from '../units.js'

export const compare = command({
  name: 'compare',
  summary: 'says what changed between two runs, and why',
  about:
    'Takes two results of `millrace bench` (bench.jsonl, or their folders), or two run logs (files, or folders of them). Aligns them by ' +
    'configuration or step, and says what got faster or slower: where the time of a step went in each, in ms, with 95 % intervals over rounds, ' +
    'seconds or blocks of steps. A change counts if its interval does not hold 0.',
  args: [
    { name: 'A', about: 'the earlier one' },
    { name: 'B', about: 'the later one' },
  ],
  options: {},
  examples: [
    ['millrace compare before/bench.jsonl after/bench.jsonl', 'which configurations got faster?'],
    ['millrace compare runs/monday runs/tuesday', 'two run logs: why was Tuesday slower?'],
  ],
  async run({ args: [a, b] }) {
    const { compare } = await import('../../bench/compare/compare.js')
    const found = compare(a, b)
    return { json: found, text: textOf(found) }
  },
})

export function textOf(found: Compared): string {
  const [first] = found.pairs
  const lines = [found.conclusion, ...found.notes.map(note => `note: ${note}`), '']
  if (found.pairs.length > 1) lines.push(pairsTable(found.pairs), '')
  lines.push(`${first.name}, ms of a step:`, partsTable(first), '', ...settings(first))
  if (found.stretches !== undefined) lines.push('', stretchesTable(found.stretches))
  return lines.join('\n').trimEnd()
}

function pairsTable(pairs: readonly Pair[]): string {
  const of = pairs[0].comparison.rate.of
  return table(
    ['configuration', ...[`A ${of}/s`, `B ${of}/s`, 'change', '95 % interval'].map(right), '', 'verdicts'],
    pairs.map(({ name, a, b, comparison: { rate } }) => [
      name,
      figure(rate.a),
      figure(rate.b),
      share(rate.ratio.value),
      intervalText(rate.ratio),
      rate.significant ? (rate.ratio.value > 1 ? 'faster' : 'slower') : unsure(rate.ratio),
      a.verdict === b.verdict ? String(a.verdict ?? '–') : `${a.verdict ?? '–'} → ${b.verdict ?? '–'}`,
    ]),
  )
}

function partsTable({ comparison }: Pair): string {
  return table(
    ['', ...['A', 'B', 'change', '95 % interval'].map(right), ''],
    [comparison.step, ...comparison.parts].map(({ part, a, b, change, interval, significant }) => [
      part === 'step' ? 'a step' : partName(part),
      a.toFixed(2),
      b.toFixed(2),
      signed(change),
      interval === null ? '–' : interval.map(signed).join(' … '),
      significant ? 'significant' : unsure({ interval }),
    ]),
  )
}

function settings({ a, b }: Pair): string[] {
  const change = (x: unknown, y: unknown) => (x === y ? String(x ?? '–') : `${x ?? '–'} → ${y ?? '–'}`)
  return [
    `workers ${change(a.workers, b.workers)}, depth ${change(a.depth, b.depth)}, verdict ${change(a.verdict, b.verdict)}`,
  ]
}

function stretchesTable(stretches: NonNullable<Compared['stretches']>): string {
  const ms = (value: number | null) => (value === null ? '–' : value.toFixed(2))
  return table(
    ['steps', ...['A, ms', 'B, ms', 'change'].map(right)],
    stretches.map(({ from, to, a, b }) => [
      `${count(from)}–${count(to)}`,
      ms(a),
      ms(b),
      a === null || b === null ? '–' : share(b / a),
    ]),
  )
}

function figure(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(3))) : count(value)
}

/** Without an interval it is not even known that it is noise. */
function unsure({ interval }: { interval: unknown }): string {
  return interval === null ? 'can’t be told' : 'noise'
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`
}
