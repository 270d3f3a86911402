/**
 * FEED arguments, also with real Node processes: our sources are stripped into a package of their own, so that
 * TypeScript modules load as they will from an installed Millrace, in the main thread and in workers.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadFeed } from '../../cli/feed-argument.js'

const repository = join(import.meta.dirname, '../../../..')
const folder = mkdtempSync(join(tmpdir(), 'millrace-feed-'))
const stripsTypes = Boolean((process as { features: { typescript?: unknown } }).features.typescript)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const plain = {
  source: { tar: 'a.tar' },
  fields: { n: { from: 'cls', as: 'int' } },
  batch: 4,
  variants: { val: { batch: 2 } },
}
const { variants: _, ...base } = plain

describe('JSON', () => {
  test('as a file, with and without variant', async () => {
    const file = write('plain/cats.json', JSON.stringify(plain))
    expect(await loadFeed(file)).toEqual({
      json: plain,
      root: dirname(file),
      name: 'cats.json',
      allowCode: false,
    })
    expect(await loadFeed(`${file}#val`)).toEqual({
      json: { ...base, batch: 2 },
      root: dirname(file),
      name: 'cats.json#val',
      allowCode: false,
    })
  })

  test('in a file with # in its name', async () => {
    const file = write('plain/cats#1.json', JSON.stringify(plain))
    expect((await loadFeed(file)).json).toEqual(plain)
    expect((await loadFeed(`${file}#val`)).json.batch).toBe(2)
  })

  test('as it is', async () => {
    const text = JSON.stringify(plain)
    expect(await loadFeed(` ${text}`)).toEqual({
      json: plain,
      root: process.cwd(),
      name: 'inline',
      allowCode: false,
    })
    expect(await loadFeed(`${text}#val`)).toMatchObject({ json: { batch: 2 }, name: 'inline#val' })
    const hash = JSON.stringify({ ...plain, source: { tar: 'a#{1..2}.tar' } })
    expect((await loadFeed(hash)).json.source).toEqual({ tar: 'a#{1..2}.tar' })
  })

  test('that is wrong is named', async () => {
    const typo = write('plain/typo.json', JSON.stringify({ ...plain, bacth: 3 }))
    await expect(loadFeed(typo)).rejects.toThrow(`${typo}: bacth: unknown key "bacth"; did you mean "batch"?`)
    const torn = write('plain/torn.json', '{"source": ')
    await expect(loadFeed(torn)).rejects.toThrow(/torn.json: not JSON: /)
    await expect(loadFeed('{"source" 3}')).rejects.toThrow(/not JSON: /)
    await expect(loadFeed(join(folder, 'plain/catz.json'))).rejects.toThrow(
      /no such file; did you mean "cats.json"\?/,
    )
    await expect(loadFeed(join(folder, 'gone/cats.json'))).rejects.toThrow(/nor its folder/)
    await expect(loadFeed(join(folder, 'plain'))).rejects.toThrow(/a \.json file or a module.*inspect/)
    await expect(loadFeed('train.py')).rejects.toThrow(/--attach PID/)
    await expect(loadFeed(`${join(folder, 'plain/cats.json')}#vla`)).rejects.toThrow(
      /unknown variant "vla"; did you mean "val"/,
    )
  })
})

/** What is built, as an installed package: one file a module. */
function install(name: string): void {
  cpSync(join(repository, 'build'), join(folder, name, 'dist'), { recursive: true })
  const core = ['sources', 'feed'].map(part => `core/define/build/${part}`)
  const pixels = ['fields', 'pictures'].map(part => `pixels/build/${part}`)
  const parts = [...core, 'formats/tar/format', ...pixels].map(part => `export * from './${part}.js'\n`)
  write(`${name}/dist/index.js`, `import './all/registry.js'\n${parts.join('')}`)
  write(`${name}/package.json`, '{"name":"millrace","type":"module","exports":{".":"./dist/index.js"}}')
}

/** The feed of a project: TypeScript that imports Millrace and its own files, in every spelling. */
const feedModule = `
import { feed, image, int, tar, type Feed } from 'millrace'
import { plus } from './arithmetic.js'
import { three } from './three.ts'
import { deep } from './deep/index'
import type { Missing } from './types-only.js'

const shift: number = three satisfies number
interface Named { name: Missing }

export default feed({
  source: tar('a.tar'),
  fields: {
    image: image('jpg').centerCrop(8),
    label: int('cls').map((value: number, random): number => plus(value, shift as number) + deep),
  },
  batch: 4,
  variants: { val: { batch: 2 } },
}) as Feed<never>
`

describe('modules in Node itself', () => {
  beforeAll(() => {
    install('millrace')
    install('bare')
    mkdirSync(join(folder, 'millrace/node_modules'))
    for (const name of ['koffi', 'sucrase'])
      symlinkSync(join(repository, 'node_modules', name), join(folder, 'millrace/node_modules', name))
    mkdirSync(join(folder, 'project/node_modules'), { recursive: true })
    symlinkSync(join(folder, 'millrace'), join(folder, 'project/node_modules/millrace'))
    write('project/package.json', '{"type":"module"}')
    write('project/cats.feed.ts', feedModule)
    write('project/arithmetic.ts', 'export const plus = (a: number, b: number): number => a + b\n')
    write('project/three.ts', 'export const three: number = 3\n')
    write('project/deep/index.ts', 'export const deep = 100 as const\n')
    write(
      'project/dogs.feed.mjs',
      "import { feed, int, tar } from 'millrace'\nexport default feed({ source: tar('b'), fields: { n: int('cls') }, batch: 1 })\n",
    )
    write('project/object.js', `export default ${JSON.stringify(plain)}\n`)
    write('project/none.ts', 'export const feed: number = 3\n')
    write('project/broken.ts', 'const x: = 3\n')
  })

  /** Runs code in a Node process, where `loadFeed` and `importModule` are those of an installed package. */
  async function node(code: string, { from = 'millrace', main = 'project/main.mjs' } = {}): Promise<string> {
    const dist = join(folder, from, 'dist')
    const file = write(
      main,
      `${from === 'bare' ? '' : `import '${dist}/all/registry.js'\n`}` +
        `import { loadFeed } from '${dist}/tools/cli/feed-argument.js'\n` +
        `import { importModule } from '${dist}/core/system/node/typescript.js'\n` +
        `import { resolveCall } from '${dist}/core/define/build/call.js'\n` +
        `import { Worker, isMainThread } from 'node:worker_threads'\n${code}`,
    )
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: dirname(file) })
    return stdout.trim()
  }

  const print = (argument: string) =>
    `console.log(JSON.stringify(await loadFeed(${JSON.stringify(argument)})))`
  const complain = (argument: string) =>
    `await loadFeed(${JSON.stringify(argument)}).then(console.log, error => console.log(error.name + ': ' + error.message))`

  // What `./x.js` and `./x` mean when only x.ts is there is ours to say only where Node leaves TypeScript to us.
  test.skipIf(stripsTypes)('TypeScript, with relative imports in every spelling', async () => {
    const loaded = JSON.parse(await node(print('cats.feed.ts#val')))
    expect(loaded).toMatchObject({
      root: join(folder, 'project'),
      name: 'cats.feed.ts#val',
      json: { batch: 2 },
    })
    expect(loaded.json.fields.label.map.call).toMatchObject({
      module: `file://${join(folder, 'project/cats.feed.ts')}`,
      path: 'fields.label.map',
    })
  })

  test.skipIf(stripsTypes)('functions of a TypeScript feed, in workers', async () => {
    const worker = `
      import { parentPort, workerData } from 'node:worker_threads'
      const { importModule } = await import(workerData.dist + '/core/system/node/typescript.js')
      const { resolveCall } = await import(workerData.dist + '/core/define/build/call.js')
      const fn = await resolveCall(workerData.map, importModule)
      parentPort.postMessage(await fn(20))`
    const file = write('project/worker.mjs', worker)
    const answer = await node(`
      const { json } = await loadFeed('cats.feed.ts')
      const workerData = { dist: 'file://${join(folder, 'millrace/dist')}', map: json.fields.label.map }
      const answers = [1, 2].map(() => new Promise((done, failed) =>
        new Worker(${JSON.stringify(file)}, { workerData }).on('message', done).on('error', failed)))
      console.log(JSON.stringify(await Promise.all(answers)))`)
    expect(JSON.parse(answer)).toEqual([123, 123])
  })

  test('plain modules, and plain objects', async () => {
    expect(JSON.parse(await node(print('dogs.feed.mjs'))).json.source).toEqual({ tar: 'b' })
    expect(JSON.parse(await node(print('object.js#val'))).json.batch).toBe(2)
  })

  test('a package that refers to itself, and the example of this repository', async () => {
    const example = readFileSync(join(repository, 'examples/cats.feed.ts'), 'utf8')
    write('millrace/examples/cats.feed.ts', example)
    const { json } = JSON.parse(await node(print('examples/cats.feed.ts#val'), { main: 'millrace/main.mjs' }))
    expect(json).toMatchObject({ source: { tar: 'shards/val-{0000..0003}.tar' }, order: 'none', batch: 256 })
    expect(json.fields.image.apply[0]).toEqual({ resize: { size: 256 } })
  })

  test.skipIf(stripsTypes)('a feed outside any project finds the Millrace that reads it', async () => {
    const file = write(
      'alone/cats.feed.ts',
      feedModule.replaceAll(/import \{ (plus|three|deep).*/g, 'const $1: any = 1'),
    )
    const { root } = JSON.parse(await node(print(file)))
    expect(root).toBe(join(folder, 'alone'))
  })

  test('what is wrong is named', async () => {
    expect(await node(complain('none.ts'))).toMatch(
      /^DefinitionError: none.ts: its default export is no feed: write `export default feed/,
    )
    expect(await node(complain('broken.ts'))).toMatch(/^MillraceError: .*broken.ts can't be imported: /)
  })

  test.skipIf(stripsTypes)(
    'without a package that strips types, the message is the install command',
    async () => {
      // Packages that can't be loaded hide those that a folder above may hold.
      for (const name of ['sucrase', 'esbuild', 'typescript']) {
        write(`bare/node_modules/${name}/package.json`, '{"exports":{}}')
      }
      write('bare/alone.ts', 'export default 3\n')
      expect(await node(complain('./alone.ts'), { from: 'bare', main: 'bare/main.mjs' })).toMatch(
        /^MissingError: Node .* npm install sucrase$/,
      )
    },
  )

  test('a program with its own feed is not run again by its workers', async () => {
    const answer = await node(
      `
      import { feed, int, tar } from 'millrace'
      const own = feed({ source: tar('a'), fields: { n: int('cls').map(v => v) }, batch: 1 })
      if (isMainThread) {
        new Worker(${JSON.stringify(`
          const { workerData } = require('node:worker_threads')
          import(workerData.dist + '/core/define/build/call.js').then(({ resolveCall }) => resolveCall(workerData.map)).catch(error => console.log(error.message))
        `)}, { eval: true, workerData: { dist: 'file://${join(folder, 'millrace/dist')}', map: own.json.fields.n.map } })
      } else console.log('run again')`,
      { main: `project/train.mjs` },
    )
    expect(answer).toMatch(
      /train.mjs is the program itself, and every worker would run it again: put the feed into a module of its own/,
    )
    expect(answer).not.toMatch(/^run again/m)
  })
})
