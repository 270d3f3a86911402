/** Text tables with aligned columns, for people who read a terminal. */

import { printable } from '../../core/basics/errors.js'

export interface Column {
  title: string
  align?: 'left' | 'right'
}

const GAP = '  '

/** A column of figures. */
export function right(title: string): Column {
  return { title, align: 'right' }
}

/** Rows under their titles, each column as wide as its widest cell; the last column is not padded. */
export function table(columns: readonly (Column | string)[], rows: readonly (string | number)[][]): string {
  const heads = columns.map(column => (typeof column === 'string' ? { title: column } : column))
  const cells = [heads.map(head => head.title), ...rows.map(row => row.map(cell => printable(String(cell))))]
  const widths = heads.map((_, c) => Math.max(...cells.map(row => width(row[c] ?? ''))))
  const lines = cells.map(row =>
    row
      .map((cell, c) => pad(cell, widths[c], heads[c].align ?? 'left'))
      .join(GAP)
      .trimEnd(),
  )
  lines.splice(1, 0, widths.map(w => '─'.repeat(w)).join(GAP))
  return lines.join('\n')
}

/** Names and values, one pair a line, the values in one column. */
export function pairs(rows: readonly (readonly [name: string, value: string])[]): string {
  const wide = Math.max(0, ...rows.map(([name]) => width(name)))
  return rows
    .map(([name, value]) => `${pad(name, wide, 'left')}${GAP}${printable(value, true)}`.trimEnd())
    .join('\n')
}

/** A bar of `fraction` of `cells` characters, in eighths of a character. */
export function bar(fraction: number, cells: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, fraction)) * cells * 8)
  const part = eighths % 8 === 0 ? '' : '▏▎▍▌▋▊▉'[(eighths % 8) - 1]
  return '█'.repeat(Math.floor(eighths / 8)) + part
}

/** Breaks a paragraph into lines of at most `columns` characters. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && width(line) + 1 + width(word) > columns) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

function pad(text: string, to: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, to - width(text)))
  return align === 'left' ? text + space : space + text
}

/** Characters as seen, without the colour codes of a terminal. */
function width(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with ESC
  return [...text.replace(/\x1b\[[0-9;]*m/g, '')].length
}
