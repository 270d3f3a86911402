/** An option is one row of a table: Node's type, the command line, Python and the docs have it from there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OPTIONS, type OptionRow, removedOf } from '../packages/core/deliver/option-table.js'
import { fillOptions } from '../packages/core/deliver/options.js'
import { parse } from '../packages/tools/cli/command.js'
import { optionsOf } from '../packages/tools/cli/option-flags.js'
import { VERBS } from '../packages/tools/cli/verbs.js'
import {
  engineNames,
  openOptions,
  optionTable,
  parameterList,
  parameters,
} from '../scripts/generate/options.mjs'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const rows = Object.entries(OPTIONS).flatMap(([name, row]) =>
  'removed' in row ? [] : [[name, row as OptionRow] as const],
)
const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

describe.each(rows)('%s', (name, row) => {
  test('is an option of Node, with its sentence', () => {
    const declared = read('packages/core/deliver/options.ts').includes(`  ${name}?: Given<'${name}'>`)
    expect(declared).toBe(row.shape !== undefined)
  })

  test('is a parameter of Python, with its sentence', () => {
    const feed = read('python/millrace/feed.py')
    expect(feed.includes(`\n        ${snake(name)}: ${row.python?.type} = `)).toBe(row.python !== undefined)
    expect(feed.includes(`* \`\`${snake(name)}\`\`: `)).toBe(row.python !== undefined)
  })

  test('stands in the docs', () => {
    const called = row.shape === undefined ? snake(name) : name
    const line = read('docs/start.md')
      .split('\n')
      .find(line => line.startsWith(`| \`${called}\` `))
    expect(line).toContain(row.sentence)
  })

  test('is a flag of its verbs', async () => {
    for (const verb of row.flag?.verbs ?? []) {
      const { verbs, options } = await VERBS[verb]()
      const last = verbs === undefined ? options : (await verbs.inspect()).options
      expect(Object.keys(last), verb).toContain(row.flag?.name ?? name)
    }
  })
})

test('a row is all that a new option takes', () => {
  const fixture = {
    warmth: {
      shape: OPTIONS.depth.shape,
      default: 3,
      sentence: 'degrees',
      page: 'measure.md#warmth',
      python: { type: 'int', engine: true },
    },
  }
  expect(openOptions(fixture).part).toContain(
    "  /** Degrees. Default: 3. See docs/measure.md#warmth. */\n  warmth?: Given<'warmth'>",
  )
  expect(parameters(fixture).part).toBe('        warmth: int = 3,')
  expect(parameterList(fixture)).toContain('* ``warmth``: degrees. Default: 3. See docs/measure.md#warmth.')
  expect(engineNames(fixture)).toEqual({ warmth: 'warmth' })
  expect(optionTable(fixture, false).part).toContain(
    '| `warmth` | 3       | degrees ([more](measure.md#warmth)) |',
  )
})

test('flags say what options do', async () => {
  const run = await VERBS.run()
  const { values } = parse(run, [
    ...['x.json', '--workers', '3', '--depth', '2', '--tokens', '1M', '--sequence', '1/2/contiguous'],
    ...['--scratch', '64MiB', '--tune', 'off', '--cache', '1GiB', '--timeout', '5', '--plugin', 'a.mjs'],
  ])
  const options = optionsOf('run', values)
  expect(options).toEqual({
    workers: 3,
    depth: 2,
    tokens: 1e6,
    sequence: { rank: 1, world: 2, layout: 'contiguous' },
    scratch: 2 ** 26,
    tune: 'off',
    cache: 2 ** 30,
    timeout: 5,
    plugins: ['a.mjs'],
    allowCode: false,
  })
  expect(fillOptions(options)).toMatchObject({ workers: 3, depth: 2, scratchBytes: 2 ** 26, timeout: 5 })
})

test('options that are gone are rows as well, for each that took them', () => {
  expect([...removedOf('open').keys()]).toEqual(['alerts', 'maxDepth', 'nvcomp', 'cpuShare'])
  expect(read('python/millrace/_generated/options.py')).toContain(
    '"open.max_depth": "the depth can be raised to 32',
  )
})
