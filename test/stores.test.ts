/** A feed over a store that is far away: the same batches as over local files, in every thread, and what may go wrong. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnyLoader, type FeedJson, type OpenOptions, open, type State } from './support/engine.js'
import { temporaryFolder, writeFiles } from './support/folder.js'
import { writeSlowPlugin } from './support/slow-store.mjs'
import { tarFile } from './support/tar.js'
import { LONGEST_WAIT } from './support/until.js'

const CLI = join(import.meta.dirname, '../dist/cli/main.js')
const folder = temporaryFolder()
/** The same answers as a store of 30 ms, sooner. */
const SLOW = writeSlowPlugin(join(folder, 'slow.mjs'), { folder, latency: 3, errors: 0.01 })

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(folder, 'cache')
  const sample = (i: number) => [
    { name: `k${i}.cls`, data: String(i % 7) },
    { name: `k${i}.bin`, data: Buffer.alloc(100 + 37 * (i % 50), i) },
  ]
  const rows = (from: number) => Array.from({ length: 60 }, (_, i) => sample(from + i)).flat()
  writeFiles(folder, {
    'a-0.tar': tarFile(rows(0)),
    'a-1.tar': tarFile(rows(60)),
    'list.csv': `path,label\n${Array.from({ length: 40 }, (_, i) => `files/${i}.bin,${i}`).join('\n')}\n`,
    ...Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`files/${i}.bin`, Buffer.alloc(50 + i * 11, i)]),
    ),
    'files/empty.bin': '',
  })
})

const bin = { data: { from: 'bin', as: 'bytes', ragged: { max: 4096 } } } as const
const feed = (source: unknown, rest: Partial<FeedJson> = {}): FeedJson => ({
  source: source as FeedJson['source'],
  order: { shuffle: 'global', seed: 3 },
  fields: bin,
  batch: { size: 8, last: 'keep' },
  ...rest,
})

interface Epoch {
  digest: string
  ids: string[]
  order: string
}

/** One epoch, or what is left of it: a digest of all bytes, the ids, and the order hash. */
async function epoch(json: FeedJson, options: OpenOptions): Promise<Epoch> {
  const loader = open(json, { root: folder, plugins: [SLOW], ...options }) as AnyLoader
  const hash = createHash('sha256')
  const ids: string[] = []
  try {
    await loader.ready
    for await (const batch of loader) {
      const { values } = batch.data as { values: Uint8Array }
      hash.update(values)
      ids.push(...batch.ids)
    }
    return { digest: hash.digest('hex'), ids, order: loader.hashes.order }
  } finally {
    await loader.close()
  }
}

/** Names in a definition, near and far. */
type Place = (name: string) => string
const near: Place = name => name
const far: Place = name => `slow://${name}`

const sources: [string, (at: Place) => unknown][] = [
  ['tar shards', at => ({ tar: at('a-{0..1}.tar') })],
  ['files', at => ({ files: at('files/*.bin') })],
  ['a list', at => ({ files: { list: at('list.csv') } })],
  [
    'sources in sources',
    at => ({
      concat: [
        { split: { source: { tar: at('a-0.tar') }, parts: { a: 0.5, b: 0.5 }, take: 'a' } },
        { subset: { source: { files: at('files/*.bin') }, range: [3, 20] } },
      ],
    }),
  ],
  [
    'a blend of near and far',
    at => ({
      blend: {
        entries: [
          { source: { tar: at('a-*.tar') }, weight: 2 },
          { source: { files: 'files/*.bin' }, weight: 1 },
        ],
      },
    }),
  ],
]

describe('batches are those of local files', () => {
  test.each(sources)('%s, with any number of workers', async (_, source) => {
    const local = await epoch(feed(source(near)), { workers: 1 })
    for (const workers of [0, 1, 2, 5]) {
      expect(await epoch(feed(source(far)), { workers }), `${workers} workers`).toEqual(local)
    }
  })

  test.each([
    ['in the order of the data', 'none'],
    ['in a window', { shuffle: { window: 40 }, seed: 5 }],
  ] as const)('%s', async (_, order) => {
    for (const [, source] of sources.slice(0, 3)) {
      const local = await epoch(feed(source(near), { order }), { workers: 1 })
      for (const workers of [0, 2])
        expect(await epoch(feed(source(far), { order }), { workers })).toEqual(local)
    }
  })

  test('a run goes on from a state that was saved over local files', async () => {
    const json = (at: Place) => feed({ tar: at('a-{0..1}.tar') })
    const whole = await epoch(json(near), { workers: 1 })
    const loader = open(json(near), { root: folder, workers: 1 }) as AnyLoader
    let state: State | undefined
    for await (const batch of loader) {
      if (batch.step === 4) break
      state = loader.state()
    }
    await loader.close()
    const rest = await epoch(json(far), { workers: 2, state })
    expect(rest.ids.length).toBeGreaterThan(0)
    expect(whole.ids.slice(-rest.ids.length)).toEqual(rest.ids)
  })
})

/** The store of the guide, as it stands there, and a web server that has the files of the folder. */
describe("the guide's store", () => {
  const guide = readFileSync(join(import.meta.dirname, '../docs/extend.md'), 'utf8')
  const text = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].find(([, code]) => code.includes('stores:'))![1]
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(new URL(request.url!, 'http://x').pathname))
    if (!existsSync(path)) return void response.writeHead(404).end()
    const bytes = readFileSync(path)
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
    const part = from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1)
    const etag = createHash('sha256').update(bytes).digest('hex')
    response.writeHead(from === undefined ? 200 : 206, { etag, 'content-length': part.length })
    response.end(request.method === 'HEAD' ? undefined : part)
  })
  let base: string
  beforeAll(async () => {
    writeFileSync(join(folder, 'web.mjs'), text)
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => server.close())

  test.each([0, 2])('reads shards and lists from a web server (%i workers)', async workers => {
    const plugins = [SLOW, join(folder, 'web.mjs')]
    for (const [, source] of sources.filter(([name]) => ['tar shards', 'a list'].includes(name))) {
      const local = await epoch(feed(source(near)), { workers: 1 })
      expect(await epoch(feed(source(name => `${base}/${name}`)), { workers, plugins })).toEqual(local)
    }
  })

  test('names what is missing, and what it can not list', async () => {
    const plugins = [join(folder, 'web.mjs')]
    await expect(epoch(feed({ tar: `${base}/none.tar` }), { workers: 0, plugins })).rejects.toThrow(
      /shard http:\/\/.*none\.tar is missing/,
    )
    await expect(epoch(feed({ tar: `${base}/*.tar` }), { workers: 0, plugins })).rejects.toThrow(
      /this store can't list its objects: name them one by one, or by braces/,
    )
  })
})

describe('what goes wrong', () => {
  test.each([0, 2])('an object that changes during the run ends it (%i workers)', async workers => {
    writeFiles(folder, { 'late/a.bin': 'one', 'late/b.bin': 'two' })
    const loader = open(feed({ files: 'slow://late/*.bin' }), {
      root: folder,
      plugins: [SLOW],
      workers,
    }) as AnyLoader
    const loop = async (): Promise<void> => {
      await loader.ready
      for (let i = 0; i < 50; i++) {
        for await (const _ of loader) writeFileSync(join(folder, 'late/b.bin'), `two ${i}`)
      }
    }
    await expect(loop()).rejects.toThrow(/slow:\/\/late\/b\.bin changed during the run/)
    await loader.close()
  })

  test('a store that is not there is named before anything is read', async () => {
    await expect(epoch(feed({ tar: 's3://bucket/a.tar' }), { workers: 0 })).rejects.toThrow(
      /s3:\/\/bucket\/a\.tar: there is no store for s3:\/\/\. There are: local files, slow:\/\//,
    )
  })
})

describe('the command line', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [CLI, ...args, '--plugin', SLOW], {
      cwd: folder,
      encoding: 'utf8',
      timeout: LONGEST_WAIT,
    })

  test.each([
    ['a shard', 'a-0.tar'],
    ['a folder of shards', ''],
    ['a pattern', 'files/*.bin'],
    ['a list', 'list.csv'],
  ])('inspects and verifies %s', (_, name) => {
    for (const verb of ['inspect', 'verify']) {
      const { status, stdout, stderr } = run(verb, far(name))
      expect({ status, stderr }, stdout).toMatchObject({ status: 0 })
      expect(stdout).toMatch(/\b(60|120|41|40)\b/)
    }
  })

  test('indexes, and packs into a local folder', () => {
    expect(run('index', 'slow://a-0.tar', '--force')).toMatchObject({ status: 0 })
    expect(run('pack', 'slow://files/*.bin', '--out', join(folder, 'packed'))).toMatchObject({ status: 0 })
    const refused = run('pack', 'slow://files/*.bin', '--out', 'slow://packed')
    expect(refused.status).not.toBe(0)
    expect(refused.stderr).toContain('slow://packed: shards are written into a local folder')
    expect(run('inspect', 's3://bucket/a.tar').stderr).toContain('there is no store for s3://')
  })
})
