/** `millrace trace show`: what a trace tells, in figures. */
import { printable } from '../../../basics/errors.js'
import type { TraceAccount } from '../../../observe/trace/read/accounts.js'
import type { TraceSummary } from '../../../observe/trace/read/summary.js'
import type { WaitFigures } from '../../../observe/trace/read/waits.js'
import { command } from '../../command.js'
import { table } from '../../table.js'
import { bytes, count, counted, duration } from '../../units.js'

/** So many kinds of work are shown of a track, and of a long wait. */
const KINDS = 4
/** So many loops of trainers. */
const LOOPS = 4
/** Where lines of an account begin, behind their names. */
const NAMES = 10

type Words = Pick<typeof import('../../../observe/verdict/words.js'), 'bars'>

export const show = command({
  name: 'trace show',
  summary: 'says in figures what a trace shows',
  about:
    'Reads traces of Millrace, DFTracer (1 and 2), and other programs that write Chrome’s JSON, such as torch.profiler; compressed or not, ' +
    'also of runs that were killed. Says what each thread did for how long, how long the trainer waited, what workers did meanwhile, and where the time ' +
    'of a step went: training, hand-over, copying, and waiting while workers ran, queued for a core, were blocked, or had no slot.',
  args: [{ name: 'FILE', about: 'a .json, .json.gz, .pfw or .pfw.gz file' }],
  options: {},
  examples: [['millrace trace show run.json.gz', 'who waited for whom']],
  async run({ args: [file] }) {
    const [{ summarise }, words] = await Promise.all([
      import('../../../observe/trace/read/summary.js'),
      import('../../../observe/verdict/words.js'),
    ])
    const summary = await summarise(file)
    return { json: { file, ...summary }, text: textOf(file, summary, words) }
  },
})

function textOf(file: string, summary: TraceSummary, words: Words): string {
  const { tracks, waits, longest, steps, seconds } = summary
  const processes = new Set(tracks.map(({ pid }) => pid)).size
  const lines = [
    `${file}: ${duration(seconds)}, ${counted(processes, 'process', 'processes')}, ${counted(tracks.length, 'track')}, ` +
      `${counted(summary.events, 'event')}, ${counted(summary.flows, 'arrow')}, ${bytes(summary.bytesRead)} read`,
    ...notesOf(summary),
    '',
    table(
      ['process', 'thread', { title: 'slices', align: 'right' }, 'ms by kind'],
      tracks.map(({ process, thread, slices, ms }) => [process, thread, count(slices), kinds(ms)]),
    ),
  ]
  if (waits !== null) {
    lines.push('', `${counted(steps, 'step')}; ${waitsText(waits)}`)
  }
  for (const wait of waits?.from === 'sums' ? [] : longest) {
    const batch = wait.batch === null ? '' : ` for batch ${wait.batch}`
    const joined = wait.joined === 1 ? '' : ` and ${wait.joined - 1} more, on average`
    lines.push(
      `  ${ms(wait.ms)}${batch}${joined}, after ${duration(wait.atMs / 1000)}; meanwhile: ${kinds(wait.meanwhile) || 'nothing'}`,
    )
  }
  for (const one of summary.accounts.slice(0, LOOPS)) lines.push('', ...accountLines(one, summary, words))
  const more = summary.accounts.length - LOOPS
  if (more > 0) lines.push('', `${counted(more, 'loop')} more: --json has all`)
  return lines.join('\n')
}

function waitsText({ count, totalMs, p50, p95, p99, max, from }: WaitFigures): string {
  const total = duration(totalMs / 1000)
  if (from === 'sums')
    return `the trainer waited ${total} in all. Single waits are not known: the trace has sums alone (level "counters")`
  const all = `the trainer waited ${counted(count, 'time')}, ${total} in all`
  const figures = `p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)}, longest ${ms(max)}`
  return from === 'each'
    ? `${all}: ${figures}`
    : `${all}: about ${figures} (short waits are joined, and count by their mean; --observe full has each)`
}

/** Where the time of a loop's steps went, and why. */
function accountLines(one: TraceAccount, { tracks, accounts }: TraceSummary, words: Words): string[] {
  const whose = tracks.find(
    ({ pid, tid, thread }) => pid === one.pid && (tid === one.tid || thread === one.thread),
  )
  const loop = `${whose?.thread ?? 'a trainer'} of ${whose?.process ?? `process ${one.pid}`}`
  const named = accounts.filter(other => other.feed === one.feed).length
  const ring = one.ring !== null && named > 1 ? ` (ring ${one.ring})` : ''
  const feed = one.feed === null ? '' : `, fed by ${one.feed}${ring}`
  return [
    printable(`${loop}${feed}: ${counted(one.steps, 'step')} of ${ms(one.stepMs)}. ${one.why}`),
    ...words.bars(one.parts),
    `${'not known'.padEnd(NAMES)}${one.unknown.join(`\n${' '.repeat(NAMES)}`)}`,
  ]
}

/** What is missing. */
function notesOf({ cut, damage, bad, unfinished, other, lost, full }: TraceSummary): string[] {
  const notes: string[] = []
  if (damage !== undefined) notes.push(`${damage}: what follows is missing`)
  else if (cut) notes.push('the file has no end: its writer was killed, or still writes')
  if (full) notes.push('it ended at its limit, before the run did')
  if (lost > 0) notes.push(`${counted(lost, 'record')} came too fast for the recorder and are missing`)
  if (bad > 0) notes.push(`${counted(bad, 'event')} can't be read`)
  if (unfinished > 0) notes.push(`${counted(unfinished, 'slice')} never ended`)
  if (other > 0) notes.push(`${counted(other, 'event')} of kinds that are not shown`)
  return notes
}

function kinds(sums: Record<string, number>): string {
  return Object.entries(sums)
    .slice(0, KINDS)
    .map(([kind, sum]) => `${printable(kind)} ${count(Math.round(sum))}`)
    .join(', ')
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(2) : count(Math.round(value))} ms`
}
