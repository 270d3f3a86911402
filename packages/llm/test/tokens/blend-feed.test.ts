/** Blends of token files through whole feeds: lists, corpora, epochs, what is said of them, and going on elsewhere. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type AnyLoader,
  type FeedJson,
  type OpenOptions,
  open,
  using,
} from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, writeMegatron } from '../../../../test/support/tokens.js'

const LENGTH = 4
const folder = temporaryFolder()
// 100, 50, 200 and 25 rows.
writeMegatron(folder, 'web-0', documentsOf([100, 301], 1000))
writeMegatron(folder, 'web-1', documentsOf([201], 2000))
writeMegatron(folder, 'wiki', documentsOf([800, 1], 3000))
writeMegatron(folder, 'code', documentsOf([101], 5000))
const LIST = `# what we train on
0.5 web-0 web
0.1 web-1 web

0.3 wiki wiki   # all of it
0.1 code code
`
writeFileSync(join(folder, 'files.txt'), LIST)

const tokens = { length: LENGTH, phase: 0 }
const entry = (path: string, more: object) => ({
  name: path,
  source: { tokens: { path, ...tokens } },
  ...more,
})
const feedOf = (blend: object, more: object = {}): FeedJson =>
  ({ source: { blend }, order: { shuffle: 'global', seed: 5 }, batch: 10, ...more }) as unknown as FeedJson

/** The corpus, the id and the first token of each row, in their order. */
async function rowsOf(
  json: FeedJson,
  options: OpenOptions = {},
): Promise<{ ids: string[]; first: number[]; notices: string[] }> {
  const notices: string[] = []
  const ids: string[] = []
  const first: number[] = []
  const reported = {
    root: folder,
    workers: 0,
    epochs: 1,
    notice: (text: string) => notices.push(text),
    ...options,
  }
  await using(json, reported, async loader => {
    for await (const batch of loader) {
      ids.push(...batch.ids)
      const input = batch.input as BigInt64Array
      for (let row = 0; row < batch.count; row++) first.push(Number(input[row * LENGTH]))
    }
  })
  return { ids, first, notices: notices.filter(text => text.startsWith('blend')) }
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

const corpusOf = (id: string) => id.slice(0, id.indexOf('/'))
const fileOf = (first: number) =>
  first < 2000 ? 'web-0' : first < 3000 ? 'web-1' : first < 5000 ? 'wiki' : 'code'

describe('a list of token files', () => {
  const listed = (more: object = {}) => feedOf({ list: 'files.txt', tokens, epoch: 1000, ...more })

  it.each(['shuffled', 'deficit'])('%s: corpora and files have their shares', async schedule => {
    const { ids, first } = await rowsOf(listed({ schedule }))
    expect(ids).toHaveLength(1000)
    for (const [name, share] of [
      ['web', 600],
      ['wiki', 300],
      ['code', 100],
    ] as const)
      expect(Math.abs((countBy(ids.map(corpusOf))[name] ?? 0) - share)).toBeLessThanOrEqual(
        schedule === 'deficit' ? 1 : 40,
      )
    const files = countBy(first.map(fileOf))
    expect(Math.abs(files['web-0'] - 500)).toBeLessThanOrEqual(schedule === 'deficit' ? 2 : 40)
    // Ids say corpus, file, document and offset.
    expect(ids.every(id => /^(web\/web-[01]|wiki\/wiki|code\/code):\d+\+\d+$/.test(id))).toBe(true)
  })

  it('`source` is a column with the corpus', async () => {
    const json = listed()
    const fields = { input: { from: 'input' }, corpus: { from: 'source', as: 'text', ragged: { max: 16 } } }
    await using(
      { ...json, fields } as unknown as FeedJson,
      { root: folder, workers: 0, steps: 5, notice: () => {} },
      async loader => {
        for await (const batch of loader) expect(batch.corpus).toEqual(batch.ids.map(corpusOf))
      },
    )
  })

  it('what is said of each of many files is said of three', async () => {
    const notices: string[] = []
    const options = { root: folder, workers: 0, notice: (text: string) => notices.push(text) }
    await using(listed(), options, loader => loader.ready)
    expect(notices.filter(text => text.startsWith('tokens: an epoch has'))).toHaveLength(3)
    expect(notices[0]).toMatch(/ \(entry "web\/.*web-0" of the blend\)$/)
    expect(notices.filter(text => text.startsWith('the same of 1 more sources'))).toHaveLength(1)
  })

  it('epochs by corpus stand in place of the weights', async () => {
    const json = feedOf(
      { list: 'files.txt', tokens, schedule: 'deficit', epochs: { web: 1, wiki: 0.5, code: 4 } },
      { batch: { size: 10, last: 'keep' } },
    )
    const { ids, notices } = await rowsOf(json)
    // 150 + 100 + 100 rows.
    expect(countBy(ids.map(corpusOf))).toEqual({ web: 150, wiki: 100, code: 100 })
    expect(new Set(ids.filter(id => corpusOf(id) === 'web')).size).toBe(150)
    expect(notices).toEqual(['blend: this run (350 rows) sees web 1 times, wiki 0.5 times, code 4 times'])
  })

  it('what is said of it: epochs of a run, and of what comes too often', async () => {
    const { notices: reported } = await rowsOf(listed(), { epochs: undefined, steps: 300 })
    expect(reported[0]).toMatch(
      /^blend: this run \(3000 rows\) sees web 12(\.\d+)? times, wiki 4\.5\d* times, code 1[12](\.\d+)? times$/,
    )
    expect(reported.slice(1).map(text => text.match(/"(.*?)" is seen/)?.[1])).toEqual([
      'web',
      'wiki',
      'code',
      'web/web-0',
      'web/web-1',
    ])
    expect(
      (await rowsOf(listed({ maxEpochs: 13 }), { epochs: undefined, steps: 300 })).notices.slice(1),
    ).toEqual([
      expect.stringMatching(
        /^blend: "web\/web-0" is seen 1\d(\.\d+)? times, more than 13 times: lower its weight/,
      ),
    ])
    const notices: string[] = []
    await using(
      listed(),
      { root: folder, workers: 0, epochs: null, notice: text => notices.push(text) },
      loader => loader.ready,
    )
    expect(notices.find(text => text.startsWith('blend'))).toMatch(
      /^blend: an epoch of the blend \(1000 rows\) sees web [34]\./,
    )
  })

  it.each([
    [{ list: 'none.txt', tokens }, /none\.txt/],
    [{ list: 'files.txt' }, /source\.blend\.tokens: a list of token files needs it/],
    [
      { list: 'files.txt', tokens: { ...tokens, path: 'x' } },
      /source\.blend\.tokens\.path: comes from the list/,
    ],
    [{ list: 'files.txt', tokens: { lenght: 4 } }, /source\.blend\.tokens/],
    [{ list: 'files.txt', tokens, entries: [] }, /entries/],
    [
      { list: 'files.txt', tokens, epochs: { web: 1, wiky: 1 } },
      /source\.blend\.epochs\.wiky: unknown corpus "wiky"; did you mean "wiki"/,
    ],
    [
      { list: 'files.txt', tokens, epochs: { web: 1, wiki: 1 } },
      /source\.blend\.epochs\.code: the list has this corpus/,
    ],
    [{ list: 'files.txt', tokens, epochs: { web: 1 }, by: 'tokens' }, /source\.blend\.by: goes with weights/],
    [{ list: 'broken.txt', tokens }, /broken\.txt, line 2: .*missing/],
    [
      { entries: [entry('wiki', {})] },
      /source\.blend\.entries\[0\]\.weight: expected a number from 0, found nothing/,
    ],
    [
      { entries: [entry('wiki', { epochs: 1 }), entry('code', { weight: 1 })] },
      /entries\[1\]\.weight: .*give all of them epochs/,
    ],
    [
      { entries: [entry('wiki', { epochs: 1 }), entry('code', {})] },
      /entries\[1\]\.epochs: expected a number above 0/,
    ],
  ])('%j is refused', async (blend, message) => {
    writeFileSync(join(folder, 'broken.txt'), '1 web-0 web\n1 missing web\n')
    let loader: AnyLoader | undefined
    await expect(
      (async () => {
        loader = open(feedOf(blend), { root: folder, workers: 0, notice: () => {} }) as AnyLoader
        await loader.ready
      })(),
    ).rejects.toThrow(message)
    await loader?.close()
  })
})

describe('entries', () => {
  it('of a corpus are joined, and the corpora are blended', async () => {
    const entries = [
      entry('web-0', { weight: 2, corpus: 'web' }),
      entry('web-1', { weight: 1, corpus: 'web' }),
      entry('wiki', { weight: 3 }),
    ]
    const { ids, first } = await rowsOf(feedOf({ entries, schedule: 'deficit', epoch: 600 }))
    expect(countBy(first.map(fileOf))).toEqual({ 'web-0': 200, 'web-1': 100, wiki: 300 })
    expect(ids[0]).toMatch(/^(web-0|wiki)\//)
  })

  it('by epochs: each source is seen so often', async () => {
    const entries = [entry('web-0', { epochs: 2 }), entry('code', { epochs: 1 })]
    const { ids } = await rowsOf(feedOf({ entries, schedule: 'deficit' }, { batch: 5 }))
    expect(ids).toHaveLength(225)
    const counts = Object.values(countBy(ids))
    expect(counts.filter(count => count === 2)).toHaveLength(100)
    expect(counts.filter(count => count === 1)).toHaveLength(25)
  })
})

it('by tokens: shares of tokens come out, however full rows are', async () => {
  // Documents of 3 tokens take 2 places of 8 and leave none; those of 6 take 5, and 3 are filled up.
  writeMegatron(folder, 'short', documentsOf(Array(400).fill(3), 7000))
  writeMegatron(folder, 'long', documentsOf(Array(400).fill(6), 10_000))
  const packed = (path: string) => ({
    name: path,
    weight: 1,
    source: { tokens: { path, length: 8, pack: 'bestFit' } },
  })
  const tokensIn = async (by: 'rows' | 'tokens') => {
    const json = {
      ...feedOf({ entries: [packed('short'), packed('long')], by, epoch: 2048 }),
      fields: ['input', 'lossMask'],
    }
    const counts = { short: 0, long: 0 }
    await using(
      json as unknown as FeedJson,
      { root: folder, workers: 0, epochs: 1, notice: () => {} },
      async loader => {
        for await (const batch of loader) {
          const mask = batch.lossMask as ArrayLike<number>
          batch.ids.forEach((id, row) => {
            for (let i = 0; i < 8; i++) counts[corpusOf(id) as 'short' | 'long'] += Number(mask[8 * row + i])
          })
        }
      },
    )
    return counts.short / (counts.short + counts.long)
  }
  expect(await tokensIn('rows')).toBeCloseTo(8 / 13, 2)
  expect(await tokensIn('tokens')).toBeCloseTo(0.5, 2)
  const images = feedOf(
    { entries: [{ source: { synthetic: { count: 9, tokens: { length: 4 } } }, weight: 1 }], by: 'tokens' },
    { fields: { t: { from: 'tokens', as: 'bytes', ragged: { max: 99 } } } },
  )
  const loader = open(images, { root: folder, workers: 0 }) as AnyLoader
  await expect(loader.ready).rejects.toThrow('"tokens" goes with sources of tokens alone')
  await loader.close()
})

describe('exactly resumable', () => {
  it.each(['shuffled', 'deficit'])(
    '%s: with other ranks, batches and workers, and after new weights',
    async schedule => {
      const json = (size: number) =>
        feedOf({ list: 'files.txt', tokens, epoch: 1200, schedule }, { batch: { global: size } })
      const options = { root: folder, notice: () => {} }
      const [first, state] = await using(json(20), { ...options, workers: 1, steps: 30 }, async loader => {
        const ids: string[] = []
        for await (const batch of loader) {
          ids.push(...batch.ids)
          if (ids.length === 200) await loader.setWeights({ wiki: 0.05, web: 0.9 })
        }
        return [ids, loader.state()] as const
      })
      const through = await using(json(20), { ...options, workers: 0, steps: 60 }, async loader => {
        const ids: string[] = []
        for await (const batch of loader) {
          ids.push(...batch.ids)
          if (ids.length === 200) await loader.setWeights({ wiki: 0.05, web: 0.9 })
        }
        return ids
      })
      expect(through.slice(0, 600)).toEqual(first)
      const ranks = await Promise.all(
        [0, 1, 2].map(rank =>
          rowsOf(json(30), { ...options, state, rank, world: 3, workers: 2, epochs: undefined, steps: 20 }),
        ),
      )
      const steps = Array.from({ length: 20 }, (_, step) =>
        ranks.flatMap(({ ids }) => ids.slice(step * 10, step * 10 + 10)),
      )
      expect(steps.flat()).toEqual(through.slice(600))
      const shares = countBy(through.slice(200, 1000).map(corpusOf))
      // Of 0.9 + 0.05 + 0.1.
      expect(Math.abs(shares.web - (800 * 0.9) / 1.05)).toBeLessThan(schedule === 'deficit' ? 2 : 40)
    },
  )

  it('a list that says something else is another order, and one that only moved is not', async () => {
    const options = { root: folder, workers: 0, notice: () => {} }
    const hashOf = (blend: object) =>
      using(feedOf(blend), options, async loader => {
        await loader.ready
        return loader.hashes.order
      })
    const hash = await hashOf({ list: 'files.txt', tokens })
    writeFileSync(join(folder, 'same.txt'), LIST.replace('# what we train on', ''))
    writeFileSync(join(folder, 'other.txt'), LIST.replace('0.3', '0.4'))
    writeFileSync(join(folder, 'corpus.txt'), LIST.replace('code code', 'code wiki'))
    expect(await hashOf({ list: 'same.txt', tokens, maxEpochs: 9 })).toBe(hash)
    expect(await hashOf({ list: 'other.txt', tokens })).not.toBe(hash)
    expect(await hashOf({ list: 'corpus.txt', tokens })).not.toBe(hash)
    expect(await hashOf({ list: 'files.txt', tokens: { ...tokens, length: 8 } })).not.toBe(hash)
    expect(await hashOf({ list: 'files.txt', tokens, schedule: 'deficit' })).not.toBe(hash)
  })
})
