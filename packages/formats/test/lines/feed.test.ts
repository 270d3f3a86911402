/** Feeds over JSON lines, CSV and text, plain and compressed: the same batches in every way that they can be made. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AnyLoader, digests, type FeedJson, open } from '../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { writeSlowPlugin } from '../../../../test/support/slow-store.mjs'
import { isDelivered } from '../../../core/test/source/delivered.js'

const root = temporaryFolder()
const plugins = [writeSlowPlugin(join(root, 'slow.mjs'), { folder: root, latency: 1, errors: 0 })]
const noise = (i: number): string => createHash('sha512').update(String(i)).digest('base64')
const rows = Array.from({ length: 60 }, (_, i) => ({
  label: i % 7,
  big: (2n ** 60n + BigInt(i)).toString(),
  text: `"row" ${i}, é\n${noise(i)}`,
  list: [i, i / 2, 7 - i],
  deep: { name: `n${i}` },
}))
const object = (row: (typeof rows)[number]): string =>
  JSON.stringify(row).replace(/"big":"(\d+)"/, '"big":$1')
const record = ({ label, big, text, deep }: (typeof rows)[number]): string =>
  `${label},${big},"${text.replaceAll('"', '""')}",${deep.name}`
/** Rows of 100 kB, so that some dozen of them are a unit. */
const long = rows.map((row, i) => JSON.stringify({ label: row.label, text: noise(i).repeat(1200) }))

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(root, 'cache')
  writeFiles(root, {
    'a-0.jsonl': rows.slice(0, 40).map(object).join('\n'),
    'a-1.jsonl': `${rows.slice(40).map(object).join('\r\n')}\r\n`,
    'a.csv': `label,big,text,name\n${rows.map(record).join('\n')}\n`,
    'a.txt': rows.map(({ deep }) => deep.name).join('\n'),
    'a.jsonl.gz': gzipSync(long.join('\n'), { level: 1 }),
  })
})

const common: FeedJson['fields'] = {
  label: { from: 'label', as: 'int' },
  text: { from: 'text', as: 'text', ragged: { max: 200_000 } },
}
const big = { from: 'big', as: 'int', dtype: 'i64' } as const
const name = { as: 'text', ragged: { max: 20 } } as const
const FEEDS: Record<string, Pick<FeedJson, 'source' | 'fields'>> = {
  jsonl: {
    source: { jsonl: 'a-*.jsonl' },
    fields: {
      ...common,
      big,
      name: { ...name, from: 'deep.name' },
      list: { from: 'list', as: 'npy', shape: [3], dtype: 'f32' },
    },
  },
  csv: { source: { csv: 'a.csv' }, fields: { ...common, big, name: { ...name, from: 'name' } } },
  text: {
    source: { text: 'a.txt' },
    fields: { text: { from: 'text', as: 'text', ragged: { max: 20 } }, line: { from: 'line', as: 'int' } },
  },
  'jsonl.gz': { source: { jsonl: 'a.jsonl.gz' }, fields: common },
}

for (const [name, feed] of Object.entries(FEEDS)) isDelivered(name, () => feed, { root })

describe.each(Object.entries(FEEDS))('%s', (_, feed) => {
  it('is the same in a store that is far away', async () => {
    const [[kind, path]] = Object.entries(feed.source)
    const near: FeedJson = {
      ...feed,
      order: { shuffle: 'global', seed: 3 },
      batch: { size: 8, last: 'keep' },
    }
    const far = { ...near, source: { [kind]: `slow://${path}` } as FeedJson['source'] }
    const alone = await digests(near, { root, workers: 0, epochs: 1 })
    expect(await digests(far, { root, plugins, workers: 2, epochs: 1 })).toEqual(alone)
  })
})

it('delivers values exactly', async () => {
  const json: FeedJson = { ...FEEDS.jsonl, order: 'none', batch: { size: 60 } }
  const loader = open(json, { root, workers: 1, epochs: 1 }) as AnyLoader
  try {
    for await (const batch of loader) {
      expect([...(batch.get('big') as BigInt64Array)]).toEqual(rows.map(row => BigInt(row.big)))
      expect(batch.get('text')).toEqual(rows.map(row => row.text))
      expect(batch.get('name')).toEqual(rows.map(row => row.deep.name))
      expect([...(batch.get('list') as Float32Array)]).toEqual(rows.flatMap(row => row.list))
    }
  } finally {
    await loader.close()
  }
})
