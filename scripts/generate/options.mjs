// The table of options (packages/core/deliver/option-table.ts) as types of Node, parameters of Python's Feed, and rows of docs/start.md.
import { markdown } from './docs.mjs'
import { constantName, literal, wrapped } from './python.mjs'

const FROM = 'packages/core/deliver/option-table.ts'
const snake = name => constantName(name).toLowerCase()
const capital = text => text[0].toUpperCase() + text.slice(1)
const live = options => Object.entries(options).filter(([, row]) => row.removed === undefined)

/** The interface `OpenOptions`: what each option is for, and what its shape takes. */
export function openOptions(options) {
  const lines = live(options).flatMap(([name, row]) => {
    if (row.shape === undefined) return []
    const usual = row.default === undefined ? [] : [`Default: ${row.default}`]
    const page = row.page === undefined ? [] : [`See docs/${row.page}`]
    const says = [row.sentence, ...[row.more ?? []].flat(), ...usual, ...page].map(
      text => `${capital(text)}.`,
    )
    const text = wrapped(says.join(' '), 118)
    const comment =
      text.length === 1 ? [`  /** ${text[0]} */`] : ['  /**', ...text.map(line => `   * ${line}`), '   */']
    return [...comment, `  ${name}?: Given<'${name}'>`]
  })
  return { from: FROM, part: ['export interface OpenOptions {', ...lines, '}'].join('\n') }
}

/** Parameters of `Feed.__init__`. */
export function parameters(options) {
  const lines = live(options).flatMap(([name, { python, default: usual }]) => {
    if (python === undefined) return []
    const given = python.default ?? (/^"?Optional|None|^Any/.test(python.type) ? 'None' : literal(usual))
    return [`        ${snake(name)}: ${python.type} = ${given},`]
  })
  return { from: FROM, part: lines.join('\n') }
}

/** The parameters in words, as a list in a docstring. */
export function parameterList(options) {
  const items = live(options).flatMap(([name, row]) => {
    const { python, page, default: usual } = row
    if (python === undefined) return []
    const said = row.shape !== undefined && name === 'progress' ? python.sentence : row.sentence
    const more = python.sentence === undefined || said === python.sentence ? [] : [python.sentence]
    const values = usual === undefined || usual === false ? [] : [`Default: ${pythonic(String(usual))}`]
    const see = page === undefined ? [] : [`See docs/${page}`]
    const text = [said, ...more, ...values, ...see].map((part, i) => (i === 0 ? part : capital(part)))
    const [first, ...rest] = wrapped(`* \`\`${snake(name)}\`\`: ${pythonic(text.join('. '))}.`, 104)
    return [`    ${first}`, ...rest.map(line => `      ${line}`)]
  })
  return `${items.join('\n')}\n`
}

const pythonic = text =>
  text
    .replace(/\bnull\b/g, 'None')
    .replace(/\btrue\b/g, 'True')
    .replace(/\bfalse\b/g, 'False')

/** Options that the engine is given: their names there, by Python's. */
export function engineNames(options) {
  return Object.fromEntries(
    live(options).flatMap(([name, { python }]) =>
      python?.engine === undefined ? [] : [[snake(name), python.engine === true ? name : python.engine]],
    ),
  )
}

/** Options that are one of some words, by Python's names. */
export function choices(options) {
  return Object.fromEntries(
    live(options).flatMap(([name, { python, shape }]) =>
      python === undefined || shape?.words === undefined ? [] : [[snake(name), shape.words]],
    ),
  )
}

/** A table of Markdown: those of Node and Python, or those of Python alone. */
export function optionTable(options, alone) {
  const rows = live(options).flatMap(([name, row]) => {
    if ((row.shape === undefined) !== alone) return []
    const own = row.python === undefined ? 'Node: ' : ''
    const differs = row.python?.sentence === undefined ? '' : `. In Python ${row.python.sentence}`
    const more = row.more === undefined ? '' : `. ${row.more}`
    const link = row.page === undefined ? '' : ` ([more](${row.page.replace(/^start\.md/, '')}))`
    const usual =
      row.default === undefined ? '–' : alone ? pythonic(String(row.default)) : String(row.default)
    return [[`\`${alone ? snake(name) : name}\``, usual, `${own}${row.sentence}${more}${differs}${link}`]]
  })
  return { from: FROM, part: markdown([alone ? 'in Python alone' : 'option', 'default', ''], rows) }
}
