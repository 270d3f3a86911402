/** Sources of many files: what opening found is kept in one file, and believed as long as files and indexes are the same. */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { type FeedJson, loopIds, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'
import type { SourceJson } from '../../../define/types.js'
import { readHeader } from '../../../source/index/file.js'
import { rewriteMeta } from '../../../source/index/write.js'
import { openSource } from '../../../source/registry.js'
import type { Manifest, OpenContext } from '../../../source/source.js'

const FILES = 40
const golden = join(import.meta.dirname, '../../../../../test/golden')

let home: string
beforeEach(() => {
  home = temporaryFolder()
  process.env.MILLRACE_CACHE = join(home, 'cache')
})

function open(json: SourceJson, more: Partial<OpenContext> = {}): Promise<Manifest> {
  return openSource(json, { root: home, wanted: [], ...more })
}

/** The file that has the manifest; undefined where none is kept. */
function keptFile(): string | undefined {
  const folder = join(home, 'cache/index')
  const kept = existsSync(folder) ? readdirSync(folder).map(name => join(folder, name)) : []
  return kept.find(path => readHeader(path).kind === 'opened')
}

/** Changes the kept manifest, to show whether it is used. */
function mark(): void {
  const path = keptFile()!
  const { meta } = readHeader(path)
  rewriteMeta(path, { ...meta, manifest: { ...(meta.manifest as object), marked: true } })
}

/** Makes many files of one, and opens them: for the first time, and from what was kept. */
async function twice(json: SourceJson, wanted: string[] = []): Promise<[Manifest, Manifest]> {
  const first = await open(json, { wanted })
  expect(keptFile(), 'kept').toBeDefined()
  mark()
  const { marked, ...again } = await open(json, { wanted })
  expect(marked, 'used').toBe(true)
  return [first, again as Manifest]
}

function copies(file: string, ending: string): void {
  mkdirSync(join(home, 'data'))
  for (let i = 0; i < FILES; i++)
    copyFileSync(join(golden, file), join(home, `data/${String(i).padStart(2, '0')}${ending}`))
}

/** Forty files of two lines each. */
function lines(): void {
  mkdirSync(join(home, 'data'))
  for (let i = 0; i < FILES; i++)
    writeFileSync(join(home, `data/${i + 10}.jsonl`), `{"a":${i},"b":[1]}\n{"a":${i}}\n`)
}

const JSONL: SourceJson = { jsonl: 'data/*.jsonl' }

describe('the manifest of many files comes back as it was', () => {
  const cases: [string, string, string, SourceJson][] = [
    ['parquet', 'parquet/codec-zstd.parquet', '.parquet', { parquet: 'data/*.parquet' }],
    ['arrow', 'arrow/types.arrow', '.arrow', { arrow: 'data/*.arrow' }],
    ['arrow, compressed', 'arrow/types.lz4.arrow', '.arrow', { arrow: 'data/*.arrow' }],
    ['tfrecord', 'tfrecord/plain.tfrecord', '.tfrecord', { tfrecord: 'data/*.tfrecord' }],
    ['hdf5', 'hdf5/weather.nc', '.h5', { hdf5: { path: 'data/*.h5', datasets: { t: '/t2m' } } }],
    ['tar', 'tar/webdataset.tar', '.tar', { tar: 'data/*.tar' }],
  ]
  test.each(cases)('%s', async (_, file, ending, json) => {
    copies(file, ending)
    const [first, again] = await twice(json)
    expect(again).toEqual(first)
  })

  test('hdf5, by groups', async () => {
    copies('hdf5/groups-latest.h5', '.h5')
    const [first, again] = await twice({
      hdf5: { path: 'data/*.h5', rows: 'groups', datasets: { x: 'data/*/obs/img' } },
    })
    expect(first.fingerprint.count).toBeGreaterThan(0)
    expect(again).toEqual(first)
  })

  test('lines of JSON, text and CSV', async () => {
    for (const json of [
      JSONL,
      { text: 'data/*.jsonl' },
      { csv: { path: 'data/*.jsonl', header: false } },
    ] as SourceJson[]) {
      for (const folder of ['cache', 'data']) rmSync(join(home, folder), { recursive: true, force: true })
      lines()
      const [first, again] = await twice(json)
      expect(again).toEqual(first)
    }
  })

  test('mds', async () => {
    mkdirSync(join(home, 'mds'))
    const folder = join(golden, 'mds/plain')
    const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { shards: Shard[] }
    const [shard] = index.shards
    const shards = Array.from({ length: FILES }, (_, i) => {
      const basename = `shard.${i}.mds`
      copyFileSync(join(folder, shard.raw_data.basename), join(home, 'mds', basename))
      return { ...shard, raw_data: { ...shard.raw_data, basename } }
    })
    writeFileSync(join(home, 'mds/index.json'), JSON.stringify({ ...index, shards }))
    const [first, again] = await twice({ mds: 'mds' })
    expect(again).toEqual(first)
  })
})

interface Shard {
  raw_data: { basename: string }
}

describe('the manifest that is kept is not used', () => {
  /** What opening gives now, after it was kept and marked. */
  async function openedAfter(
    change: () => void,
    json = JSONL,
    more: Partial<OpenContext> = {},
  ): Promise<Manifest> {
    lines()
    await open(JSONL, { wanted: ['a'] })
    mark()
    change()
    const manifest = await open(json, { wanted: ['a'], ...more })
    expect(manifest.marked).toBeUndefined()
    return manifest
  }

  const file = (): string => join(home, 'data/20.jsonl')

  it('for a file that changed, even under its old time', async () => {
    const { mtimeMs } = statSync(join(home, '..'))
    const manifest = await openedAfter(() => {
      appendFileSync(file(), '{"a":9}\n')
      utimesSync(file(), mtimeMs / 1000, mtimeMs / 1000)
    })
    expect(manifest.fingerprint.count).toBe(2 * FILES + 1)
  })

  it('for a new file', async () => {
    const manifest = await openedAfter(() => writeFileSync(join(home, 'data/99.jsonl'), '{"a":1}\n'))
    expect(manifest.fingerprint.count).toBe(2 * FILES + 1)
  })

  it('without one of the indexes, which is then made again', async () => {
    const index = join(home, 'data/.20.jsonl.millrace')
    await openedAfter(() => rmSync(index))
    expect(existsSync(index)).toBe(true)
  })

  it('for an index that was written again', async () => {
    const index = join(home, 'data/.20.jsonl.millrace')
    await openedAfter(() => rewriteMeta(index, readHeader(index).meta))
  })

  it('when it is damaged', async () => {
    const notices: string[] = []
    await openedAfter(
      () => {
        const bytes = readFileSync(keptFile()!)
        bytes[100] ^= 1
        writeFileSync(keptFile()!, bytes)
      },
      JSONL,
      { notice: text => notices.push(text) },
    )
    expect(notices).toEqual([])
  })

  it('for a column that was not asked for before, of which the source may have to complain', async () => {
    await openedAfter(() => {}, JSONL, { wanted: ['b'] })
    mark()
    expect((await open(JSONL, { wanted: ['a', 'b'] })).marked).toBe(true)
  })

  it('for other options', async () => {
    await openedAfter(() => {}, { text: { path: 'data/*.jsonl', blankLines: 'skip' } })
  })

  it('where nothing is believed', async () => {
    await openedAfter(() => {}, JSONL, { check: 'nothing' })
  })
})

/** A power failure may leave the name, size and times of a file whose contents had not been written yet. */
describe('an index that a power failure left', () => {
  const TORN: [string, (index: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['cut', index => index.subarray(0, index.length >> 1)],
    ['full of zeros', index => Buffer.alloc(index.length)],
    [
      'with zeros at its end',
      index => Buffer.concat([index.subarray(0, 1024), Buffer.alloc(index.length - 1024)]),
    ],
  ]
  const feed = (json: SourceJson): FeedJson => ({
    source: json,
    order: 'none',
    fields: { cls: { from: 'cls', as: 'int' } },
    batch: { size: 10, last: 'keep' },
    // No sample is dropped for what is wrong with an index.
    onError: 'drop',
  })
  const all = (json: SourceJson): Promise<string[]> =>
    using(feed(json), { root: home, workers: 1 }, async loader => (await loopIds(loader)).flat())

  it.each(TORN.flatMap(([what, tear]) => ['tar', 'jsonl'].map(kind => [what, kind, tear] as const)))(
    '%s is found out, of %s files whose manifest is kept',
    async (_, kind, tear) => {
      mkdirSync(join(home, 'data'))
      for (let i = 0; i < FILES; i++) {
        const name = join(home, `data/${i + 10}.${kind}`)
        writeFileSync(
          name,
          kind === 'tar' ? tarFile([{ name: 'a.cls', data: '1' }]) : '{"cls":1}\n'.repeat(200),
        )
      }
      const json = { [kind]: `data/*.${kind}` } as unknown as SourceJson
      const ids = await all(json)
      const torn = join(home, `data/.20.${kind}.millrace`)
      writeFileSync(torn, tear(readFileSync(torn)))
      believe()
      await expect(all(json)).rejects.toThrow(/20\.\w+\.millrace.*start again/)
      expect(existsSync(torn)).toBe(false)
      expect(await all(json)).toEqual(ids)
    },
  )
})

/** Makes the kept manifest fit the indexes as they are. */
function believe(): void {
  const path = keptFile()!
  const { meta } = readHeader(path)
  const hash = createHash('sha256')
  for (const index of meta.indexes as string[]) {
    const { size, mtimeMs, ctimeMs, ino } = statSync(index)
    hash.update(`${size} ${mtimeMs} ${ctimeMs} ${ino}\n`)
  }
  rewriteMeta(path, { ...meta, indexStats: hash.digest('hex').slice(0, 32) })
}

it('is not kept of few files', async () => {
  lines()
  await open({ jsonl: 'data/1*.jsonl' })
  expect(keptFile()).toBeUndefined()
})

it('has what the source has to tell, which is told each time', async () => {
  mkdirSync(join(home, 'data'))
  // The members of "a" are not adjacent.
  const shard = tarFile(['a.txt', 'b.txt', 'a.cls'].map(name => ({ name, data: '1' })))
  for (let i = 0; i < FILES; i++) writeFileSync(join(home, `data/${i}.tar`), shard)
  const reported: string[][] = []
  const openTold = async (): Promise<Manifest> => {
    const notices: string[] = []
    reported.push(notices)
    return open({ tar: 'data/*.tar' }, { notice: text => notices.push(text) })
  }
  await openTold()
  // Indexes were made: some notice might be of that.
  expect(keptFile()).toBeUndefined()
  await sleep(100)
  await openTold()
  mark()
  expect((await openTold()).marked).toBe(true)
  expect(reported[0].filter(text => text.includes('not adjacent'))).toHaveLength(FILES)
  expect(reported[1]).toEqual(reported[0])
  expect(reported[2]).toEqual(reported[0])
})

it('can not be kept where the cache folder can not be written: the source is opened as ever', async () => {
  lines()
  writeFileSync(join(home, 'cache'), 'a file')
  expect((await open(JSONL)).fingerprint.count).toBe(2 * FILES)
  expect((await open(JSONL)).fingerprint.count).toBe(2 * FILES)
})
