// Parts of files that are written by hand otherwise, each between two comments that name it: tables of docs/protocol.md,
// and what a module of Python must have that imports nothing of the package.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Comments around a generated part of a file, by how the file's name ends. */
const MARKS = { md: ['<!-- ', ' -->', '\n\n'], py: ['# ', '', '\n'], ts: ['// ', '', '\n'] }

/** A file that is written by hand but for some parts: `parts` are texts by name. */
export function partlyGenerated(root, file, parts) {
  let text = readFileSync(join(root, file), 'utf8')
  const [open, close, gap] = MARKS[file.split('.').at(-1)]
  for (const [name, { from, part }] of Object.entries(parts)) {
    const region = new RegExp(`( *)${open}generated: ${name},[^]*?\n *${open}end${close}\n`)
    if (!region.test(text)) throw new Error(`${file} has no part ${open}generated: ${name}, …${close}`)
    const first = `${open}generated: ${name}, by npm run generate from ${from}${close}`
    text = text.replace(
      region,
      (_, indent) => `${indent}${first}${gap}${part}${gap}${indent}${open}end${close}\n`,
    )
  }
  return text
}

/** A table of Markdown, its columns as wide as what is in them. */
export function markdown(head, rows) {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map(row => [...row[i]].length)))
  const line = cells => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** What a comment says, as a cell: without its last full stop, and beginning small unless it is a name. */
const cell = says => says.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, letter => letter.toLowerCase())

/** The control page: what a client may look at. */
export function controlTable(table, { heartbeat }) {
  const word = table('Word')
  const at = table('At')
  const { value: depth } = table('MAX_DEPTH')
  const { value: makers } = table('MAX_MAKERS')
  const { value: bits } = table('CLAIM_BITS')
  const column = (offset, size, index) => `${offset} + ${size}·${index}`
  const batch = `(k mod ${depth})`
  return markdown(
    ['offset', 'type', 'what'],
    [
      [`${4 * word.value.Completed}`, 'i32', 'batches completed so far (wraps)'],
      [`${4 * word.value.Generation}`, 'i32', 'generation: counts moves of the ring'],
      [column(4 * word.value.TableSlot, 4, batch), 'i32', 'slot of batch k'],
      [column(4 * word.value.TableBatch, 4, batch), 'i32', 'low 32 bits of k + 1 once batch k has a slot'],
      [
        `${at.value.Beat}`,
        'f64',
        `heartbeat: the engine's CLOCK_MONOTONIC in seconds, renewed every ${heartbeat} ms`,
      ],
      [
        column(at.value.Claims, 8, 'm'),
        'i64',
        `what worker m holds: 1 + batch · \`layout.chunks\` + chunk, in the low ${bits} bits; 0 or less: nothing. Of use when the engine is dead`,
      ],
      [
        column(at.value.Since, 8, 'm'),
        'f64',
        'since when it is at its present row (ms since 1970); 0: at none',
      ],
      [column(at.value.Row, 4, 'm'), 'i32', `which row of the batch that is; m < ${makers}`],
    ],
  )
}

/** The header of a slot: what a client may look at. */
export function slotTable(table) {
  const { value: header, entries: words } = table('Header')
  const { value: stamp, entries: stamps } = table('Stamp')
  const of = name => [`${4 * header[name]}`, 'i32', cell(words[name])]
  return markdown(
    ['offset', 'type', 'what'],
    [
      ...['Count', 'Bad', 'Ready'].map(of),
      [`${4 * header.Cursor} + 4·f`, 'i32', cell(words.Cursor)],
      ...Object.keys(stamp).map(name => [`${8 * stamp[name]}`, 'f64', cell(stamps[name])]),
    ],
  )
}
