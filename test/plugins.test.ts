/** Plugins: modules with sources of the user's own, in every thread, from Node, the command line, and an engine's clients. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { PROTOCOL } from '../packages/core/deliver/protocol-facts.js'
import type { FeedJson, OpenOptions } from './support/engine.js'
import { engine, open } from './support/engine.js'
import { temporaryFolder } from './support/folder.js'
import { Client, serve } from './support/protocol-client.js'
import { LONGEST_WAIT } from './support/until.js'

const repository = join(import.meta.dirname, '..')
const CLI = join(repository, 'dist/cli/main.js')
const folder = temporaryFolder()
const ROWS = 100
const BYTES = 16

/** The module of the guide, as it stands there. */
const guide = readFileSync(join(repository, 'docs/extend.md'), 'utf8')
const example = /```js\n([\s\S]*?)```/.exec(guide)![1]
const records = write('records.mjs', example)
const url = pathToFileURL(records).href

/** Record i is i, sixteen times. */
writeFileSync(
  join(folder, 'a.bin'),
  Uint8Array.from({ length: ROWS * BYTES }, (_, i) => Math.floor(i / BYTES)),
)
const source = { records: { path: 'a.bin', bytes: BYTES } } as unknown as FeedJson['source']
const fields: FeedJson['fields'] = {
  data: { from: 'data', as: 'bytes', ragged: { max: BYTES } },
  number: { from: 'number', as: 'int' },
}
const feed: FeedJson = {
  source,
  order: { shuffle: 'global', seed: 3 },
  fields,
  batch: { size: 8, last: 'keep' },
}

function write(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

/** The numbers of an epoch, whose bytes are checked. */
async function epoch(json: FeedJson, options: OpenOptions): Promise<number[]> {
  const loader = open(json, { root: folder, ...options })
  const numbers: number[] = []
  try {
    for await (const batch of loader) {
      const { data, number } = batch as unknown as { data: { values: Uint8Array }; number: BigInt64Array }
      for (const [i, n] of number.entries()) {
        expect([...data.values.subarray(i * BYTES, (i + 1) * BYTES)]).toEqual(Array(BYTES).fill(Number(n)))
        numbers.push(Number(n))
      }
    }
  } finally {
    await loader.close()
  }
  return numbers
}

const all = Array.from({ length: ROWS }, (_, i) => i)
const sorted = (numbers: number[]): number[] => [...numbers].sort((a, b) => a - b)

describe('a plugin', () => {
  test.each([0, 1, 2, 5])('brings a source, which works in every thread (%i workers)', async workers => {
    expect(sorted(await epoch(feed, { plugins: [url], workers }))).toEqual(all)
  })

  test('is named by its path, by a URL, or by its text', async () => {
    for (const plugin of [records, url, new URL(url)])
      expect(await epoch({ ...feed, order: 'none' }, { plugins: [plugin], workers: 1 })).toEqual(all)
  })

  test('may be TypeScript', async () => {
    const typed = write(
      'typed.ts',
      example
        .replace('check(json)', 'check(json: { path: string })')
        .replace('sources: { records }', 'sources: { typed: records }'),
    )
    const json = { ...feed, source: { typed: { path: 'a.bin', bytes: BYTES } } } as unknown as FeedJson
    expect(sorted(await epoch(json, { plugins: [typed], workers: 1 }))).toEqual(all)
  })

  test('has its source inside combinators and variants, by the builder too', async () => {
    const { source: named, subset, concat, blend, shuffle, sequential, bytes, int } = engine
    const half = (from: number) =>
      subset(named('records', { path: 'a.bin', bytes: BYTES }), { range: [from, from + 50] })
    const made = engine.feed({
      source: concat(half(50), half(0)),
      order: sequential(),
      fields: { data: bytes('data').ragged({ max: BYTES }), number: int('number') },
      batch: { size: 8, last: 'keep' },
      variants: {
        mixed: { source: blend([{ source: half(0), weight: 1 }]), order: shuffle({ seed: 1 }) },
      },
    })
    const options = { plugins: [url], workers: 1 }
    expect(await epoch(made.json, options)).toEqual([...all.slice(50), ...all.slice(0, 50)])
    const mixed = await epoch(made.json, { ...options, variant: 'mixed' })
    expect(sorted(mixed)).toEqual(all.slice(0, 50))
  })

  test('has its fingerprint in the order hash', async () => {
    const hashOf = async (json: FeedJson): Promise<string> => {
      await using loader = open(json, { root: folder, plugins: [url], workers: 0 })
      await loader.ready
      return loader.hashes.order
    }
    const hash = await hashOf(feed)
    mkdirSync(join(folder, 'moved'))
    writeFileSync(join(folder, 'moved/a.bin'), readFileSync(join(folder, 'a.bin')))
    const at = (path: string, bytes = BYTES) =>
      ({ ...feed, source: { records: { path, bytes } } }) as unknown as FeedJson
    expect(await hashOf(at('moved/a.bin'))).toBe(hash)
    expect(await hashOf(at('a.bin', 8))).not.toBe(hash)
  })
})

describe("the guide's source with units", () => {
  const blocks = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code)
  const text = blocks.find(code => code.includes('sources: { groups }'))!
  const groups = write('groups.mjs', text)
  const make = write('make-groups.mjs', blocks.find(code => code.includes('make-groups.mjs'))!)
  const json = (order: FeedJson['order']): FeedJson => ({
    source: { groups: { path: 'a.groups' } } as unknown as FeedJson['source'],
    order,
    fields: {
      numbers: { from: 'numbers', as: 'npy', shape: [512], dtype: 'i32' },
      label: { from: 'label', as: 'int' },
    },
    batch: { size: 30, last: 'keep' },
  })
  const window: FeedJson['order'] = { shuffle: { window: 1000 }, seed: 7 }
  const rows = async (feed: FeedJson, options: OpenOptions = {}): Promise<number[]> => {
    await using loader = open(feed, { root: folder, plugins: [groups], workers: 1, ...options })
    const all: number[] = []
    for await (const batch of loader) {
      const { numbers, label } = batch as unknown as { numbers: Int32Array; label: BigInt64Array }
      for (let i = 0; i < batch.count; i++) {
        const row = numbers[512 * i]
        expect(numbers.subarray(512 * i, 512 * (i + 1)).every(n => n === row)).toBe(true)
        expect(label[i]).toBe(BigInt(row % 10))
        all.push(row)
      }
    }
    return all
  }
  beforeAll(() => {
    expect(spawnSync(process.execPath, [make], { cwd: folder }).status).toBe(0)
  })

  test.each([0, 2])('has every row once, in any order (%i workers)', async workers => {
    const every = Array.from({ length: 2000 }, (_, i) => i)
    expect(await rows(json('none'), { workers })).toEqual(every)
    expect(sorted(await rows(json({ shuffle: 'global', seed: 1 }), { workers }))).toEqual(every)
    const mixed = await rows(json(window), { workers })
    expect(mixed).not.toEqual(every)
    expect(sorted(mixed)).toEqual(every)
  })

  test('says what is wrong with what load returns', async () => {
    const bad = write(
      'no-list.mjs',
      text
        .replace('return [into', 'void [into')
        .replace('sources: { groups }', 'sources: { noList: groups }'),
    )
    const feed = { ...json('none'), source: { noList: { path: 'a.groups' } } } as unknown as FeedJson
    await expect(rows(feed, { plugins: [bad] })).rejects.toThrow(
      /load of unit 0 returned no list of Uint8Arrays/,
    )
  })

  test('names load where that fails', async () => {
    const bad = write(
      'no-luck.mjs',
      text
        .replace('into.set(inflateSync', 'throw new Error("no luck"); into.set(inflateSync')
        .replace('sources: { groups }', 'sources: { noLuck: groups }'),
    )
    const feed = { ...json('none'), source: { noLuck: { path: 'a.groups' } } } as unknown as FeedJson
    await expect(rows(feed, { plugins: [bad] })).rejects.toThrow(/load of unit 0 failed: no luck/)
  })
})

test('open reads, looks at and lists objects of any store', async () => {
  const module = write(
    'far.mjs',
    `const bytes = Uint8Array.from({ length: 64 }, (_, i) => i)
const far = {
  attach: () => ({
    async stat(name) {
      if (!name.endsWith('/a')) throw Object.assign(new Error('none'), { code: 'ENOENT' })
      return { bytes: bytes.length, version: 'v1' }
    },
    async *list(prefix) { yield { name: prefix + 'a', bytes: bytes.length, version: 'v1' } },
    async read(name, offset, into) { into.set(bytes.subarray(offset, offset + into.length)) },
    merge: { gap: 0, most: 1024 },
    close() {},
  }),
}
const afar = {
  async open(json, { objects }) {
    const listed = []
    for await (const { name, bytes } of objects.list('afar://x/')) listed.push([name, bytes])
    const { bytes, version } = await objects.stat(listed[0][0])
    const head = await objects.read(listed[0][0], 4, 2)
    const count = json.missing ? (await objects.stat('afar://x/b')).bytes : head[0] + head[1]
    return { fingerprint: { count, digest: JSON.stringify([listed, bytes, version]) }, file: listed[0][0] }
  },
  attach: ({ file, fingerprint: { count } }) => ({
    count, columns: ['number'], runs: Float64Array.of(0), id: String, key: String, index: () => undefined,
    need: (row, epoch, columns, { ranges }) => void ranges.push({ file, offset: row, length: 1 }),
    sample: (row, epoch, columns, { ranges }) => ({ number: ranges[0][0] }),
  }),
}
export default { sources: { afar }, stores: { afar: far } }
`,
  )
  const json = (options: object): FeedJson => ({
    source: { afar: options } as unknown as FeedJson['source'],
    order: 'none',
    fields: { number: { from: 'number', as: 'int' } },
    batch: { size: 9, last: 'keep' },
  })
  await using loader = open(json({}), { root: folder, plugins: [module], workers: 1 })
  const numbers: bigint[] = []
  for await (const batch of loader) numbers.push(...(batch as unknown as { number: BigInt64Array }).number)
  expect(numbers).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n])
  await using missing = open(json({ missing: true }), { root: folder, plugins: [module], workers: 0 })
  await expect(missing.ready).rejects.toThrow(/afar:\/\/x\/b: can't look at it: there is no such object/)
})

describe('what is wrong with a plugin is said', () => {
  const refused = async (json: FeedJson, options: OpenOptions): Promise<string> => {
    try {
      await using loader = open(json, { root: folder, workers: 0, ...options })
      await loader.ready
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`
    }
    return 'nothing'
  }
  const plugin = (name: string, text: string): Promise<string> =>
    refused(feed, { plugins: [write(name, text)] })
  const two = '{ open() {}, attach() {} }'

  test.each([
    [
      'no-default.mjs',
      'export const sources = {}',
      'no-default.mjs, a plugin: its default export is no plugin',
    ],
    ['member.mjs', 'export default { source: {} }', 'has no member "source"; did you mean "sources"?'],
    ['throws.mjs', 'throw new Error("no luck")', "throws.mjs, a plugin, can't be imported: no luck"],
    ['name.mjs', `export default { sources: { 'a b': ${two} } }`, 'the name of a source is a letter'],
    ['tar.mjs', `export default { sources: { tar: ${two} } }`, '"tar" is there already, as Millrace\'s own'],
    ['twice.mjs', example, `its source "records" is there already, from ${url}`],
    [
      'file.mjs',
      'export default { stores: { file: { attach() {} } } }',
      '"file" can\'t be the scheme of a store',
    ],
    ['store.mjs', 'export default { stores: { far: {} } }', 'its store "far" needs a function attach'],
    [
      'half.mjs',
      'export default { sources: { half: { open() {} } } }',
      '"half" needs two functions, open and attach',
    ],
  ])('%s', async (name, text, message) => {
    await refused(feed, { plugins: [url] })
    expect(await plugin(name, text)).toContain(message)
  })

  test('of one that is refused nothing is kept: another may have its scheme', async () => {
    const stores = (more: string) => `export default { stores: { kept: { attach() {} }${more} } }`
    expect(await plugin('refused.mjs', stores(", 'No Scheme': { attach() {} }"))).toContain('"No Scheme"')
    const plugins = [url, write('other.mjs', stores(''))]
    expect(await refused(feed, { plugins })).toBe('nothing')
  })

  test('one that is not there, or on another machine', async () => {
    expect(await refused(feed, { plugins: ['nowhere/x.mjs'] })).toMatch(
      /nowhere\/x\.mjs.*can't be imported: Cannot find/,
    )
    expect(() => open(feed, { plugins: ['https://example.org/x.mjs'] })).toThrow(
      /options\.plugins\[0\]: a plugin is a module on this machine/,
    )
    expect(() => open(feed, { plugins: ['file://%%'] })).toThrow(
      'options.plugins[0]: file://%% is no URL of a file',
    )
    expect(() => open(feed, { plugins: 'x.mjs' as never })).toThrow(/options\.plugins: expected a list/)
  })

  test('a source whose plugin is not named, although it is loaded', async () => {
    await refused(feed, { plugins: [url] })
    expect(() => open(feed, { root: folder })).toThrow(
      /source\.records: "records" is no source of Millrace's own/,
    )
  })

  test('a source that no plugin has, with the nearest name', async () => {
    const json = { ...feed, source: { recods: {} } } as unknown as FeedJson
    expect(await refused(json, { plugins: [url] })).toContain(
      'unknown source "recods"; did you mean "records"?',
    )
    expect(() => open(json)).toThrow(/unknown source "recods"/)
    const far = { ...feed, source: { somethingElse: {} } } as unknown as FeedJson
    expect(() => open(far)).toThrow(
      /known: .*\btar, .*\. If a plugin has it: load that plugin, by plugins: \[url\]/,
    )
  })

  test('JSON that its check refuses, with the place', async () => {
    const json = { ...feed, source: { subset: { source: { records: { path: 'a.bin' } }, range: [0, 5] } } }
    expect(await refused(json as unknown as FeedJson, { plugins: [url] })).toContain(
      'source.subset.source.records: needs the bytes of a record',
    )
  })

  const broken = (name: string, open: string, attach: string): Promise<string> =>
    refused({ ...feed, source: { [name]: {} } } as unknown as FeedJson, {
      plugins: [
        write(
          `${name}.mjs`,
          `export default { sources: { ${name}: { open() { return ${open} }, attach(manifest) { return ${attach} } } } }`,
        ),
      ],
    })
  const print = 'fingerprint: { count: 2, digest: "d" }'
  const whole =
    'count: 2, columns: [], runs: Float64Array.of(0), id() {}, key() {}, index() {}, need() {}, sample() {}'
  const units = 'planUnit() {}, unitBytes() {}'
  const one = 'unitStarts: Float64Array.of(0)'
  const asks = (leaf: string, unit: number): string =>
    `need(row, epoch, columns, out) { out.units.push({ leaf: ${leaf}, unit: ${unit}, columns }) }`
  test.each([
    ['noPrint', '{}', '{}', 'its manifest has no fingerprint'],
    ['noDigest', '{ fingerprint: { count: 1 } }', '{}', 'its manifest has no fingerprint.digest'],
    ['notPlain', `{ ${print}, f() {} }`, '{}', "its manifest can't be posted to threads"],
    ['otherCount', `{ ${print} }`, '{ count: 3 }', 'has a count of 3, and the fingerprint 2'],
    ['noColumns', `{ ${print} }`, '{ count: 2 }', 'has no columns, a list of names'],
    ['noRuns', `{ ${print} }`, '{ count: 2, columns: [] }', 'has no runs'],
    ['noId', `{ ${print} }`, '{ count: 2, columns: [], runs: Float64Array.of(0) }', 'has no function id'],
    ['noPlan', `{ ${print} }`, `{ ${whole}, unitStarts: Float64Array.of(0) }`, 'has no function planUnit'],
    [
      'badUnits',
      `{ ${print} }`,
      `{ ${whole}, ${units}, unitStarts: Float64Array.of(0, 5) }`,
      'has a unit 1 that begins at row 5, after 0, of 2 rows',
    ],
    [
      'crossing',
      `{ ${print} }`,
      `{ ${whole}, ${units}, runs: Float64Array.of(0, 1), unitStarts: Float64Array.of(0) }`,
      'but a run begins at row 1: no unit may reach over that',
    ],
    ['noStarts', `{ ${print} }`, `{ ${whole}, ${units}, ${asks('this', 0)} }`, 'but has no unitStarts'],
    ['noLeaf', `{ ${print} }`, `{ ${whole}, ${units}, ${one}, ${asks('undefined', 0)} }`, 'leaf: this'],
    [
      'noUnit',
      `{ ${print} }`,
      `{ ${whole}, ${units}, ${one}, ${asks('this', 3)} }`,
      'unit 3 of row 0, and has 1',
    ],
    ['noRanges', `{ ${print} }`, `{ ${whole}, ${units}, ${one}, ${asks('this', 0)} }`, 'planUnit(0)'],
    [
      'noBytes',
      `{ ${print} }`,
      `{ ${whole}, ${units}, ${one}, ${asks('this', 0)}, planUnit: () => [] }`,
      'no number of bytes in unitBytes(0), but undefined',
    ],
    [
      'throwsInNeed',
      `{ ${print} }`,
      `{ ${whole}, need() { throw new Error('no row') } }`,
      'asking what row 0 needs failed: no row',
    ],
    ['loadIsNone', `{ ${print} }`, `{ ${whole}, load: 5 }`, 'has a member "load" that is no function'],
    ['fails', '(() => { throw new Error("no disk") })()', '{}', 'open failed: no disk'],
  ])('a source that is none: %s', async (name, open, attach, message) => {
    const said = await broken(name, open, attach)
    expect(said).toContain(`the source "${name}" of file://`)
    expect(said).toContain(message)
  })
})

describe('on the command line', () => {
  test('a module with functions names its source, in the workers too', () => {
    const index = JSON.stringify(pathToFileURL(join(repository, 'dist/index.js')).href)
    write(
      'call.feed.mjs',
      `import { feed, int } from ${index}
       const source = { records: { path: 'a.bin', bytes: ${BYTES} } }
       export default feed({ source, fields: { number: int('number').map(n => n + 1) }, batch: 8 })`,
    )
    const args = ['run', 'call.feed.mjs', '--plugin', records, '--workers', '2', '--epochs', '1', '--json']
    const { stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { cwd: folder, encoding: 'utf8' })
    expect(JSON.parse(stdout || '{}').samples, stderr).toBe(ROWS)
  })

  const file = write('feed.json', JSON.stringify(feed))
  const millrace = (...words: string[]) =>
    spawnSync(process.execPath, [CLI, ...words], { cwd: folder, encoding: 'utf8', timeout: LONGEST_WAIT })

  test.each([
    ['run', file],
    ['inspect', file],
    ['verify', file, '--workers', '0'],
    ['verify', file, '--workers', '2'],
    ['verify', JSON.stringify(source), '--workers', '1'],
    ['inspect', JSON.stringify(source)],
    ['index', JSON.stringify(source)],
    ['pack', JSON.stringify(source), '--out', 'packed', '--workers', '2', '--shards', '2'],
  ])('%s takes --plugin', (verb, ...words) => {
    const { status, stdout, stderr } = millrace(verb, ...words, '--plugin', 'records.mjs', '--json')
    expect(stderr).not.toContain('rror')
    expect(status).toBe(0)
    expect(JSON.parse(stdout).samples).toBe(ROWS)
    const without = millrace(verb, ...words)
    expect(without.status).not.toBe(0)
    expect(without.stderr).toContain('unknown source "records"')
  })
})

describe('an engine', () => {
  const brought = { ...feed, source: { records: { path: join(folder, 'a.bin'), bytes: BYTES } } }
  const asked = async (flags: string[], plugins?: string[]): Promise<string> => {
    const { socket } = serve(...flags)
    const client = await Client.connect(socket)
    const { error, opened } = await client.ask({
      open: {
        version: PROTOCOL,
        pid: process.pid,
        feed: brought,
        options: { workers: 1 },
        ...(plugins && { plugins }),
      },
    })
    client.end()
    return error?.message ?? `${opened.length} rows`
  }

  test('has the plugins that it was started with, for all clients', async () => {
    expect(await asked(['--plugin', records])).toBe('100 rows')
    expect(await asked(['--plugin', records], [records])).toBe('100 rows')
  })

  test('loads none for a client, unless it may run code', async () => {
    expect(await asked([], [records])).toMatch(
      /to load it is to run it\. This engine was started without --allow-code/,
    )
    expect(await asked([])).toContain('unknown source "records"')
    expect(await asked(['--allow-code'], [records])).toBe('100 rows')
  })
})
