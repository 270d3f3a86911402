// What compare.mjs found, for people: a table in Markdown, and a plot as SVG, both from bench/results/formats.json.
//
//   node bench/formats/report.mjs
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../support.mjs'

const number = value => Math.round(value).toLocaleString('en-US')
const times = value => (value >= 10 ? value.toFixed(0) : value.toFixed(2))

export function writeReport(result) {
  writeFileSync(join(root, 'bench/results/formats.md'), table(result))
  writeFileSync(join(root, 'bench/results/formats.svg'), plot(result))
}

/** CPU time of a unit, a row or a MB. */
const cost = perCpu => `${times(1e6 / perCpu)} µs`

/** One line for each rival of a case. */
function table({ date, machine, versions, what, results, failures }) {
  const lines = [
    `Made by \`bench/formats/compare.mjs\` on ${date.slice(0, 10)}, ${machine}: ${what}. CPU time is that of a row, or of a MB. "Without" is`,
    'Millrace without libraries of the system (`MILLRACE_CODECS=node`), which has no bar.',
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    '',
    '| case | Millrace | CPU | without | CPU | beside | does | CPU | times as fast | by CPU time | bar |',
    '| ---- | -------: | --: | ------: | --: | ------ | ---: | --: | ------------: | ----------: | --- |',
  ]
  for (const { case: name, unit, against, figures } of results) {
    const { Millrace: ours, 'without libraries': without } = figures
    const bare = without === undefined ? '– | –' : `${number(without.rate)} | ${cost(without.perCpu)}`
    const own = `| ${name} | ${number(ours.rate)} ${unit} | ${cost(ours.perCpu)} | ${bare} |`
    if (against.length === 0) lines.push(`${own} – | | | | | |`)
    for (const { rival, bar, ratio, ratioOfCpu, reached } of against) {
      const judged = bar === undefined ? 'none' : `${bar}: ${reached ? 'reached' : 'missed'}`
      const theirs = `${number(ours.rate / ratio)} | ${cost(ours.perCpu / ratioOfCpu)}`
      lines.push(`${own} ${rival} | ${theirs} | ${times(ratio)} | ${times(ratioOfCpu)} | ${judged} |`)
    }
  }
  for (const [name, why] of Object.entries(failures)) lines.push('', `${name} failed: ${why}`)
  return `${lines.join('\n')}\n`
}

const LEFT = 250
const WIDE = 860
const ROW = 26

/** How many times as fast as each rival, on a logarithmic scale from a quarter to 32 times. */
function plot({ date, machine, results }) {
  const bars = results.flatMap(({ case: name, against }) =>
    against.map(({ rival, ratio, bar }) => ({ name, rival, ratio, bar })),
  )
  const x = ratio => LEFT + (Math.log2(Math.min(32, Math.max(0.25, ratio)) / 0.25) / 7) * (WIDE - LEFT - 230)
  const height = 70 + bars.length * ROW
  const text = value => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDE} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="#222">`,
    `<rect width="100%" height="${height}" fill="#fff"/>`,
    `<text x="12" y="20" font-weight="600">Times as fast as the usual loader · ${text(machine.split(',')[0])} · ${date.slice(0, 10)}</text>`,
    '<text x="12" y="38" font-size="11" fill="#666">Millrace ÷ rival, two workers each, logarithmic; the mark is the bar</text>',
  ]
  for (const ratio of [0.25, 0.5, 1, 2, 4, 8, 16, 32]) {
    parts.push(
      `<path d="M${x(ratio)} 58V${height - 8}" stroke="${ratio === 1 ? '#222' : '#ddd'}"/>`,
      `<text x="${x(ratio)}" y="54" text-anchor="middle" font-size="11" fill="#666">${ratio}×</text>`,
    )
  }
  bars.forEach(({ name, rival, ratio, bar }, i) => {
    const top = 64 + i * ROW
    const [from, to] = ratio < 1 ? [x(ratio), x(1)] : [x(1), x(ratio)]
    const fill = ratio < 1 ? '#c0562f' : '#0a7d6c'
    parts.push(
      `<text x="${LEFT - 8}" y="${top + 14}" text-anchor="end">${text(name)}</text>`,
      `<rect x="${from.toFixed(1)}" y="${top}" width="${Math.max(1, to - from).toFixed(1)}" height="19" rx="2" fill="${fill}"/>`,
      `<text x="${(Math.max(to, x(1)) + 8).toFixed(1)}" y="${top + 14}">${times(ratio)} <tspan fill="#666" font-size="11">${text(rival)}</tspan></text>`,
    )
    if (bar !== undefined)
      parts.push(`<path d="M${x(bar)} ${top - 2}V${top + 21}" stroke="#222" stroke-width="2"/>`)
  })
  return `${[...parts, '</svg>'].join('\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeReport(JSON.parse(readFileSync(join(root, 'bench/results/formats.json'), 'utf8')))
