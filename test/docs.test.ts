/** The guides say what is there: every operator with its parameters, every option of a verb, and links that lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allFormats } from '../packages/core/define/format.js'
import { allDecoders } from '../packages/core/define/kind.js'
import { OPERATORS } from '../packages/pixels/operators/registry.js'
import { VERBS } from '../packages/tools/cli/verbs.js'

const repository = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(repository, path), 'utf8')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'examples/README.md',
  'bench/README.md',
].concat(
  readdirSync(join(repository, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
)

/** Rows of tables that begin with a name, as one text. */
function rowsOf(name: string, text: string): string {
  return text
    .split('\n')
    .filter(line => line.startsWith('|') && line.split('|')[1].trim() === `\`${name}\``)
    .join('\n')
}

/** The anchor of a heading, as code hosts make it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .trim()
    .replaceAll(' ', '-')

/** Files of code that a page names. */
const namedIn = (text: string): string[] =>
  [...text.matchAll(/`([\w/.-]+\.(?:ts|py|cu|cuh|mjs))`/g)].map(([, path]) => path)

const files = ['packages', 'python/millrace', 'python/tests', 'test', 'bench', 'scripts'].flatMap(folder => {
  const names = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
  return names.map(name => `${folder}/${name}`)
})

/** A file by its path, or by the end of it. */
const find = (path: string): string | undefined =>
  files.find(file => file === path || file.endsWith(`/${path}`))

describe('the guides', () => {
  test('have a row for every operator, with all its parameters', () => {
    const text = read('docs/define.md')
    const missing = Object.entries(OPERATORS).flatMap(([name, { keys }]) => {
      const row = rowsOf(name, text)
      if (row === '') return [name]
      return Object.keys(keys).flatMap(key => (row.includes(`\`${key}\``) ? [] : [`${name}.${key}`]))
    })
    expect(missing).toEqual([])
  })

  test('have a row for every kind of field, with all its keys', () => {
    const text = read('docs/define.md')
    const missing = allDecoders().flatMap(({ name, rules: { keys, dtypes } }) => {
      const row = rowsOf(name, text)
      // A dtype that can only be one is no choice to write about.
      const reported = keys.filter(key => !(key === 'dtype' && dtypes.length === 1))
      return reported.filter(key => !row.includes(`\`${key}\``)).map(key => `${name}.${key}`)
    })
    expect(missing).toEqual([])
  })

  test('name every source', () => {
    const text = read('docs/define.md')
    expect(allFormats().filter(({ name }) => !text.includes(`{"${name}":`))).toEqual([])
  })

  test('have a section for every verb, and no verb that is not there', async () => {
    const text = read('docs/command-line.md')
    const sections = text.split(/^## /m).slice(1)
    expect(sections.map(section => section.slice(0, section.indexOf('\n'))).sort()).toEqual(
      Object.keys(VERBS).sort(),
    )
    const verbs = await Promise.all(Object.values(VERBS).map(load => load()))
    const below = await Promise.all(
      verbs.flatMap(verb => Object.values(verb.verbs ?? {}).map(load => load())),
    )
    expect(below.filter(({ name }) => !text.includes(`millrace ${name} `)).map(({ name }) => name)).toEqual(
      [],
    )
  })

  test.each(pages)('%s: links lead to files and headings that are there', page => {
    const text = read(page).replace(/```[\s\S]*?```/g, '')
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link)
      .filter(link => !/^https?:/.test(link))
      .filter(link => {
        const [path, heading] = link.split('#')
        const file = path === '' ? page : relative(repository, join(repository, dirname(page), path))
        if (!existsSync(join(repository, file))) return true
        if (heading === undefined) return false
        return ![...read(file).matchAll(/^#+ (.*)$/gm)].some(([, title]) => anchor(title) === heading)
      })
    expect(broken).toEqual([])
  })

  test('every guide says how to install from a checkout, by the names that there are', () => {
    const about = ['inside', 'concurrency', 'protocol', 'start'].map(name => `docs/${name}.md`)
    const guides = pages.filter(page => page.startsWith('docs/') && !about.includes(page))
    expect(guides.filter(page => !read(page).includes('(start.md'))).toEqual([])
    const install = read('docs/start.md')
    for (const words of [
      'npm run wheel',
      'pip install python/dist/millrace_feed-',
      'npm pack',
      '/millrace-*.tgz',
    ])
      expect(install).toContain(words)
    const scripts = readdirSync(join(repository, 'examples'), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.py'))
      .map(name => `examples/${name}`)
    const all = [...pages, 'python/README.md', 'python/millrace/_client/node.py', ...scripts]
    // That name is another package on PyPI.
    expect(all.filter(page => /pip install "?millrace\b(?!-feed)/.test(read(page)))).toEqual([])
  })

  test('call a worker a worker; maker is a word of the code', async () => {
    const reported = pages.filter(
      page => !['docs/inside.md', 'docs/concurrency.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].includes(page),
    )
    expect(reported.filter(page => /\bmakers?\b/i.test(read(page)))).toEqual([])
    const verbs = await Promise.all(Object.values(VERBS).map(load => load()))
    expect(verbs.filter(verb => /\bmakers?\b/i.test(JSON.stringify(verb)))).toEqual([])
  })

  test('inside.md and the pages of packages name every package and folder, and only files that are there', () => {
    const folders = (path: string) =>
      readdirSync(join(repository, path), { withFileTypes: true }).filter(entry => entry.isDirectory())
    const inside = read('docs/inside.md')
    const packages = folders('packages').map(({ name }) => `packages/${name}/`)
    expect(packages.filter(name => !inside.includes(`\`${name}\``))).toEqual([])
    const pages = [inside, ...packages.map(name => read(`${name}README.md`))]
    const named = pages.flatMap(namedIn)
    expect(named.length).toBeGreaterThan(100)
    expect(named.filter(path => !path.includes('NAME') && find(path) === undefined)).toEqual([])
    const python = folders('python/millrace').map(({ name }) => `${name}/`)
    const missing = python.filter(
      name => name !== '_engine/' && name !== '__pycache__/' && !inside.includes(`\`${name}\``),
    )
    expect(missing).toEqual([])
    const rooms = packages.flatMap(name =>
      folders(name).flatMap(room => (room.name === 'test' ? [] : [[`${name}README.md`, `${room.name}/`]])),
    )
    expect(rooms.filter(([page, room]) => !read(page).includes(`\`${room}\``))).toEqual([])
  })

  test('the rules of concurrency name only files and tests that are there', () => {
    const text = read('docs/concurrency.md')
    const named = namedIn(text)
    expect(named.length).toBeGreaterThan(80)
    expect(named.filter(path => find(path) === undefined)).toEqual([])
    // `file` "part of a test's name", "of another one"
    const cited = [...text.matchAll(/`([\w/.-]+)`((?:,? "[^"]+")+)/g)].flatMap(([, path, names]) =>
      [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => [path, name]),
    )
    expect(cited.length).toBeGreaterThan(20)
    expect(cited.filter(([path, name]) => !read(find(path) ?? '').includes(name))).toEqual([])
  })
})
