/** LitData: folders by its own writer give the values that were written; what is damaged or not read is named. */
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { OpenContext, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'
import { isDelivered } from '../../../core/test/source/delivered.js'
import { verify } from '../../../tools/prepare/verify/verify.js'
import { reported, sameNumbers, type Told } from '../shards/told-values.js'

/** A copy: chunks of Arrow get an index beside them. */
const golden = temporaryFolder()
cpSync(join(import.meta.dirname, '../../../../test/golden/litdata'), golden, { recursive: true })
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Record<
  string,
  Record<string, Told>[]
>
const open = async (json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> =>
  attachSource(await openSource(json, { root: golden, wanted: [], ...more }))

function changed(
  name: string,
  change: (index: { config: Record<string, unknown>; chunks: Record<string, unknown>[] }) => void,
): string {
  const folder = join(temporaryFolder(), name)
  cpSync(join(golden, name), folder, { recursive: true })
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
  change(index)
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index))
  return folder
}

for (const [name, rows] of Object.entries(expected)) {
  it(`reads ${name} as it was written`, async () => {
    const source = await open({ litdata: name })
    expect(source.count).toBe(rows.length)
    expect([...source.columns].sort()).toEqual([...new Set(rows.flatMap(row => Object.keys(row)))].sort())
    rows.forEach((row, i) => {
      const found = Object.entries(readRow(source, i, source.columns)).map(([column, value]) => [
        column,
        reported(value),
      ])
      expect(Object.fromEntries(found), `row ${i}`).toEqual(sameNumbers(row))
    })
  })
}

it('blocks of tokens go over the borders of what was written, and their rest is left out', async () => {
  const numbers = (value: Told): bigint[] =>
    'data' in value ? [...new BigInt64Array(Uint8Array.from(Buffer.from(value.data, 'base64')).buffer)] : []
  const source = await open({ litdata: { path: 'tokens', block: 4 } })
  const index = JSON.parse(readFileSync(join(golden, 'tokens/index.json'), 'utf8'))
  const all = expected.tokens.flatMap(row => numbers(row.tokens))
  const blocks: bigint[][] = []
  let at = 0
  for (const { dim } of index.chunks as { dim: number }[]) {
    for (let b = 0; b + 4 <= dim; b += 4) blocks.push(all.slice(at + b, at + b + 4))
    at += dim
  }
  expect(index.chunks.length).toBeGreaterThan(1)
  expect(
    Array.from({ length: source.count }, (_, row) =>
      numbers(reported(readRow(source, row, ['tokens']).tokens)),
    ),
  ).toEqual(blocks)
  await expect(open({ litdata: { path: 'tree', block: 4 } })).rejects.toThrow(
    '"block" is for chunks of tokens',
  )
})

for (const name of ['tree', 'frames', 'zstd', 'arrow', 'arrow-zstd']) {
  conforms({
    name: `litdata, ${name}`,
    json: { litdata: 'data' },
    wanted: ['x'],
    write: root => cpSync(join(golden, name), join(root, 'data'), { recursive: true }),
    change: root => cpSync(join(golden, 'list'), join(root, 'data'), { recursive: true, force: true }),
    count: expected[name].length,
    first: { x: name === 'frames' || name === 'zstd' ? '0' : '1' },
  })
}
for (const name of ['zstd', 'frames']) {
  isDelivered(`litdata, ${name},`, () => ({
    source: { litdata: join(golden, name) },
    fields: {
      x: { from: 'x', as: 'int' },
      v: { from: 'v', as: 'npy', shape: [5], dtype: 'i64', ragged: { max: 5 } },
      b: { from: 'b', as: 'bytes', ragged: { max: 8 } },
    },
  }))
}
isDelivered('litdata, rows kept as Arrow,', () => ({
  source: { litdata: join(golden, 'arrow-zstd') },
  fields: {
    x: { from: 'x', as: 'int' },
    s: { from: 's', as: 'bytes', ragged: { max: 32 } },
  },
}))
isDelivered('litdata, blocks of tokens,', () => ({
  source: { litdata: { path: join(golden, 'tokens'), block: 4 } },
  fields: { tokens: { from: 'tokens', as: 'npy', dtype: 'i64', shape: [4] } },
}))

describe('what is not read is named', () => {
  it('blocks of a chunk whose offsets would need more than 32 bits', async () => {
    const folder = changed('tokens', ({ chunks }) => {
      chunks[0].dim = 2 ** 30
    })
    truncateSync(join(folder, 'chunk-0-0.bin'), 9 * 2 ** 30)
    await expect(open({ litdata: { path: folder, block: 2 ** 20 } })).rejects.toThrow('has 4 GiB or more')
  })

  it.each([['samples', /compression_level="batch"/]])('%s', async (name, message) => {
    await expect(open({ litdata: name })).rejects.toThrow(message)
  })

  it('pickles, when a feed is opened and when they are read', async () => {
    const { leaves } = (await openSource({ litdata: 'pickle' }, { root: golden, wanted: [] })) as unknown as {
      leaves: { name: string; format: string }[]
    }
    const pickled = leaves.find(({ format }) => format === 'pickle')!.name
    await expect(open({ litdata: 'pickle' }, { wanted: [pickled] })).rejects.toThrow('holds Python pickles')
    const source = await open({ litdata: 'pickle' })
    expect(() => readRow(source, 0, [pickled])).toThrow('holds Python pickles')
    expect(source.columns).not.toContain(pickled)
    expect((await verify({ litdata: 'pickle' }, { root: golden, workers: 0 })).bad).toEqual([])
  })

  it.each([
    ['encryption', { encryption: { algorithm: 'fernet' } }, 'are encrypted'],
    ['other loaders', { item_loader: 'ParquetLoader' }, 'are for "ParquetLoader"'],
    ['other codecs', { compression: 'lz4' }, 'compressed with "lz4"'],
    [
      'other containers',
      { data_spec: '[1, {"type": "my.Own", "context": "null", "children_spec": []}]' },
      'container "my.Own"',
    ],
    ['trees of another version', { data_spec: '[2, {}]' }, 'version 2'],
  ])('%s', async (_, config, message) => {
    const folder = changed('tree', index => Object.assign(index.config, config))
    await expect(open({ litdata: folder })).rejects.toThrow(message)
  })
})

describe('what is damaged is named', () => {
  it('chunks that are missing, cut, or named outside of their folder', async () => {
    const cut = changed('tree', () => undefined)
    truncateSync(join(cut, 'chunk-0-1.bin'), 50)
    await expect(open({ litdata: cut })).rejects.toThrow(/chunk-0-1.bin has 50 bytes/)
    const gone = changed('tree', ({ chunks }) => Object.assign(chunks[0], { filename: 'none.bin' }))
    await expect(open({ litdata: gone })).rejects.toThrow(/none.bin is missing/)
    const outside = changed('tree', ({ chunks }) =>
      Object.assign(chunks[0], { filename: '../tree/chunk-0-0.bin' }),
    )
    await expect(open({ litdata: outside })).rejects.toThrow('below its own folder')
  })

  it('rows kept as Arrow: cut, fewer than told, or beside chunks that keep samples', async () => {
    const cut = changed('arrow', () => undefined)
    truncateSync(join(cut, 'chunk-0-1.bin'), 500)
    await expect(open({ litdata: cut })).rejects.toThrow(/chunk-0-1.bin has 500 bytes/)
    const more = changed('arrow', ({ chunks }) => Object.assign(chunks[2], { chunk_size: 2 }))
    await expect(open({ litdata: more })).rejects.toThrow(/chunk-0-2.bin has 1 rows, its index.json says 2/)
    const mixed = changed('arrow', ({ chunks }) => Object.assign(chunks[1], { chunk_bytes: 10 }))
    cpSync(join(golden, 'list/chunk-0-1.bin'), join(mixed, 'chunk-0-1.bin'))
    await expect(open({ litdata: mixed })).rejects.toThrow(/chunk-0-1.bin keeps samples one by one/)
    await expect(open({ litdata: { path: 'arrow', block: 4 } })).rejects.toThrow(
      '"block" is for chunks of tokens',
    )
  })

  it('frames that do not fit', async () => {
    const folder = changed('frames', () => undefined)
    const path = join(folder, 'chunk-0-0.bin')
    const bytes = readFileSync(path)
    bytes.writeUInt32LE(7, 24 + 4 * 10 + 4)
    writeFileSync(path, bytes)
    await expect(open({ litdata: folder })).rejects.toThrow(
      /chunk-0-0.bin: its frame 0 does not fit its offsets/,
    )
  })
})

describe('a store that is far away', () => {
  beforeAll(() => {
    const slow = retried(new SlowStore({ folder: golden, latency: 1, errors: 0.05 }), 100)
    addStore('slow', { attach: () => slow })
  })

  it.each(['tree', 'frames', 'zstd', 'arrow', 'arrow-zstd'])(
    'gives what local files give: %s',
    async name => {
      const far = await open({ litdata: `slow://${name}` })
      using stores = new Stores()
      const reader = new RowReader(far, new Reader(stores))
      for (const [row, values] of expected[name].entries()) {
        const { sample } = await reader.read(row, far.columns)
        const found = Object.fromEntries(
          Object.entries(sample).map(([column, value]) => [column, reported(value)]),
        )
        expect(found).toEqual(sameNumbers(values))
      }
    },
  )
})
