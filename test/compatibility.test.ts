/**
 * What an older Millrace hashed, delivered and wrote: the same definitions have the same hashes and give the same bytes, its
 * states and indexes are taken up, and what is written now has the form that it had. The golden files, and how they were
 * made: test/golden/before/README.md.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from './support/folder.js'

const repository = join(import.meta.dirname, '..')
const golden = join(import.meta.dirname, 'golden/before')
const folder = temporaryFolder()
const read = (name: string): string => readFileSync(join(golden, name), 'utf8')

interface Delivered {
  hashes: { order: string; content: string }
  steps: number
  samples: number
  bad: number
  ids: string
  rows: string
  fields: Record<string, string>
}
type Resumed = Record<string, string[][]>
interface Observed {
  feeds: Record<string, Delivered>
  index: Record<'before' | 'anew', { labels: number[]; notices: string[] }>
  states: Record<string, object>
  resumed: Record<string, Resumed>
  resumedByCli: Record<string, string[]>
  cli: { printed: object; report: string }
  python: {
    without?: string
    feeds: Record<string, Partial<Delivered>>
    states: Record<string, object>
    resumed: Record<string, string[]>
  }
  protocol: Record<string, object>
}
type Said = Record<string, { definition?: Definition; fields?: Definition['fields']; needs?: string }>
interface Definition {
  fields: Record<string, { as: string }>
}
interface Forms {
  reportForm(page: string): object
}

const load = (name: string) => import(join(golden, name))
const { feeds: definitions } = (await load('feeds.mjs')) as { feeds: Said }
const { states: saved } = (await load('states.mjs')) as { states: Record<string, { by: string }> }
const { reportForm } = (await load('forms.mjs')) as Forms
const feeds = JSON.parse(read('feeds.json')) as Record<string, Delivered>
const resumed = JSON.parse(read('resumed.json')) as Record<string, Resumed>
const protocol = JSON.parse(read('protocol.json')) as Record<string, object>
const stateFiles = readdirSync(join(golden, 'states'))
const states = Object.fromEntries(
  stateFiles.map(file => [file.slice(0, -'.json'.length), JSON.parse(read(`states/${file}`)) as object]),
)

/** Names of a feed's fields that hold decoded pictures. */
function pictures(name: string): string[] {
  const { definition, fields = definition?.fields ?? {} } = definitions[name]
  return Object.keys(fields).filter(field => fields[field].as === 'image')
}
const samePictures = process.platform === 'linux' && process.arch === 'x64'
if (!samePictures) {
  const here = `${process.platform}-${process.arch}`
  console.warn(
    `Digests of decoded pictures are not compared: the golden ones are of linux-x64, this is ${here}`,
  )
}

let now: Observed
beforeAll(async () => {
  now = JSON.parse(
    await output(process.execPath, join(golden, 'observe.mjs'), repository, folder),
  ) as Observed
  if (now.python.without) console.warn(`Python is not compared: ${now.python.without}`)
})

function output(program: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (text: Buffer) => (out += text))
    child.stderr.on('data', (text: Buffer) => (err += text))
    child.on('close', (code, signal) =>
      code === 0 ? resolve(out) : reject(new Error(`${args[0]} ended with ${code ?? signal}\n${err}`)),
    )
  })
}

const without = (fields: Record<string, string>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

test('the golden files are of all definitions and states', () => {
  expect(Object.keys(feeds).sort()).toEqual(Object.keys(definitions).sort())
  expect(Object.keys(states).sort()).toEqual(Object.keys(saved).sort())
  expect(Object.keys(resumed).sort()).toEqual(Object.keys(saved).sort())
})

describe('hashes, order and values of a definition are as before', () => {
  test.for(Object.keys(feeds))('%s', (name, { skip }) => {
    if (now.python.without && definitions[name].needs === 'python') skip(now.python.without)
    const { fields, ...rest } = feeds[name]
    const { fields: given, ...more } = now.feeds[name]
    expect(more).toEqual(rest)
    expect(without(given, pictures(name))).toEqual(without(fields, pictures(name)))
  })
})

describe.skipIf(!samePictures)('decoded pictures are as before', () => {
  test.each(Object.keys(feeds).filter(name => pictures(name).length > 0))('%s', name => {
    for (const field of pictures(name)) expect(now.feeds[name].fields[field]).toBe(feeds[name].fields[field])
  })
})

describe('a state that was saved before', () => {
  test.each(Object.keys(states))('%s goes on with the same ids', name => {
    expect(now.resumed[name]).toEqual(resumed[name])
  })

  test.for(Object.keys(states))('%s is saved today as it was', (name, { skip }) => {
    const byPython = saved[name].by === 'python'
    if (byPython && now.python.without) skip(now.python.without)
    expect((byPython ? now.python : now).states[name]).toEqual(states[name])
  })

  test('goes on with the same ids by the command line', () => {
    expect(Object.keys(now.resumedByCli)).toHaveLength(2)
    for (const [name, steps] of Object.entries(now.resumedByCli))
      expect(steps).toEqual(resumed[name]['world 1'][0])
  })
})

describe('Python', () => {
  test('delivers the bytes that it did', ({ skip }) => {
    if (now.python.without) skip(now.python.without)
    expect(Object.keys(now.python.feeds).length).toBeGreaterThan(5)
    for (const [name, { fields = {}, ...rest }] of Object.entries(now.python.feeds)) {
      const left = samePictures ? [] : pictures(name)
      expect(feeds[name], name).toMatchObject(rest)
      expect(without(fields, left), name).toEqual(without(feeds[name].fields, left))
    }
  })

  test('goes on with the same ids from states that were saved before', ({ skip }) => {
    if (now.python.without) skip(now.python.without)
    expect(Object.keys(now.python.resumed)).toHaveLength(3)
    for (const [name, steps] of Object.entries(now.python.resumed))
      expect(steps, name).toEqual(resumed[name]['world 1'][0])
  })
})

test('an index that was built before is used as it is', () => {
  const labels = Array.from({ length: 12 }, (_, i) => (i * 7) % 10)
  expect(now.index.before).toEqual({ labels, notices: [] })
  // Built anew, it would have shown that the shard says something else by now.
  expect(now.index.anew).toEqual({ labels: labels.with(3, 8), notices: [] })
})

describe('over the protocol the engine says what it said, and leaves the same rows to a GPU', () => {
  test.each(Object.keys(protocol))('%s', name => {
    expect(reported(now.protocol[name])).toEqual(reported(protocol[name]))
  })

  /** Without how many slots are laid out and how rows are claimed: clients read that from the message itself. */
  function reported(message: unknown): unknown {
    return JSON.parse(
      JSON.stringify(message, (key, value) => (key === 'slots' || key === 'chunks' ? 0 : value)),
    )
  }
})

describe('what is written has the form that it had', () => {
  test('run --json', () => {
    // The account and the diagnosis came later; all that was there still is.
    expect(now.cli.printed).toMatchObject(JSON.parse(read('printed.json')))
  })

  test('the report of demo', () => {
    expect(reportForm(now.cli.report)).toMatchObject(reportForm(read('report.html')))
  })
})
