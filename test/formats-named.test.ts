/** Formats are known by their descriptors: at most one other file written by hand names a format, or imports its folder. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const listed = execFileSync('git', ['ls-files', '-co', 'packages', 'python/millrace'], {
  cwd: root,
  encoding: 'utf8',
})
const files = listed
  .split('\n')
  .filter(file => /\.(tsx?|py)$/.test(file) && !/\/test\/|\/_generated\/|^packages\/all\//.test(file))
  .filter(file => existsSync(join(root, file)))
/** Without comments. */
const code = new Map(
  files.map(file => [
    file,
    readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)(\/\/|#).*/gm, ''),
  ]),
)
/** Words that mean other things too: kinds of fields, columns. Of these, imports count alone. */
const WORDS = ['text', 'files', 'folder', 'npy']

const registry = readFileSync(join(root, 'packages/all/registry.ts'), 'utf8')
const folders = new Map(
  [...registry.matchAll(/import \{ (.+) \} from '\.\.\/(formats\/\w+)\/format\.js'/g)].flatMap(
    ([, names, folder]) =>
      names.split(', ').map(name => [name.replace(/Format$/, ''), `packages/${folder}/`]),
  ),
)

test.each([...folders.keys()].map(name => [name]))('%s', name => {
  const folder = folders.get(name)!
  const named = WORDS.includes(name) ? /$.^/ : new RegExp(`(['"\`])${name}\\1|(?<=[{,(]\\s*)${name}\\??:`)
  const others = [...code].filter(([file, text]) => {
    if (file.startsWith(folder)) return false
    const imports = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)]
    return (
      named.test(text) ||
      imports.some(([, path]) => `${normalize(join(file, '..', path))}`.startsWith(folder))
    )
  })
  expect(others.length, others.map(([file]) => file).join(', ')).toBeLessThanOrEqual(1)
})
