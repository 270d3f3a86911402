/** `millrace trace show`: what a trace tells, in figures. */
import { printable } from '../../../basics/errors.js'
import type { TraceSummary } from '../../../observe/trace/read/summary.js'
import { command } from '../../command.js'
import { table } from '../../table.js'
import { bytes, count, counted, duration } from '../../units.js'

/** So many kinds of work are shown of a track, and of a long wait. */
const KINDS = 4

export const show = command({
  name: 'trace show',
  summary: 'says in figures what a trace shows',
  about:
    'Reads traces of Millrace, DFTracer (1 and 2), and other programs that write Chrome’s JSON, such as torch.profiler; compressed or not, ' +
    'also of runs that were killed. Says what each thread did for how long, how long the trainer waited, and what workers did meanwhile.',
  args: [{ name: 'FILE', about: 'a .json, .json.gz, .pfw or .pfw.gz file' }],
  options: {},
  examples: [['millrace trace show run.json.gz', 'who waited for whom']],
  async run({ args: [file] }) {
    const { summarise } = await import('../../../observe/trace/read/summary.js')
    const summary = await summarise(file)
    return { json: { file, ...summary }, text: textOf(file, summary) }
  },
})

function textOf(file: string, summary: TraceSummary): string {
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
    lines.push(
      '',
      `${counted(steps, 'step')}; the trainer waited ${counted(waits.count, 'time')}, ${duration(waits.totalMs / 1000)} in all: ` +
        `p50 ${ms(waits.p50)}, p95 ${ms(waits.p95)}, p99 ${ms(waits.p99)}, longest ${ms(waits.max)}`,
    )
  }
  for (const wait of longest) {
    const batch = wait.batch === null ? '' : ` for batch ${wait.batch}`
    lines.push(
      `  ${ms(wait.ms)}${batch}, after ${duration(wait.atMs / 1000)}; meanwhile: ${kinds(wait.meanwhile) || 'nothing'}`,
    )
  }
  return lines.join('\n')
}

/** What is missing. */
function notesOf({ cut, damage, bad, unfinished, other }: TraceSummary): string[] {
  const notes: string[] = []
  if (damage !== undefined) notes.push(`${damage}: what follows is missing`)
  else if (cut) notes.push('the file has no end: its writer was killed, or still writes')
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
