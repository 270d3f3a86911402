/** Context-parallel ranks: together they have whole rows, and each has what `windowsOf` says of them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { documentsOf, writeMegatron } from '../../../../../test/support/tokens.js'
import { open } from '../../../../all/index.js'
import type { FeedJson } from '../../../define/types.js'
import { windowsOf } from '../../../engine/plan/sequence.js'

type Layout = 'zigzag' | 'contiguous'
const root = temporaryFolder()
const documents = documentsOf([40, 0, 33, 9, 81])
documents[2][10] = 900
writeMegatron(root, 'a', documents)
writeMegatron(root, 'b', documentsOf([50, 60], 300))

const LENGTH = 24
const BATCH = 3
/** Columns along the row; `cuSeqlens` and its kind are about the whole of it. */
const ALONG = ['input', 'target', 'positionIds', 'segments', 'lossMask']
const WHOLE = ['cuSeqlens', 'cuCount', 'cuLongest']

const feedOf = (fields: readonly string[], more: object = {}): FeedJson =>
  ({
    source: { tokens: { path: ['a', 'b'], length: LENGTH, tail: 'pad', ...more } },
    fields,
    order: { shuffle: 'global', seed: 2 },
    batch: { size: BATCH, last: 'keep' },
    onError: { policy: 'drop', budget: 100 },
  }) as unknown as FeedJson

interface Seen {
  /** Of each batch, by field. */
  batches: Record<string, number[]>[]
  notices: string[]
  hashes: object
  state: object
}

async function seen(
  feed: FeedJson,
  sequence?: { rank: number; world: number; layout?: Layout },
): Promise<Seen> {
  const notices: string[] = []
  const options = { root, workers: 0, epochs: 1, notice: (text: string) => notices.push(text) }
  const loader = open(feed, sequence === undefined ? options : { ...options, sequence })
  try {
    const batches: Seen['batches'] = []
    for await (const batch of loader) {
      const names = [...ALONG, ...WHOLE].filter(name => (feed.fields as unknown as string[]).includes(name))
      batches.push(
        Object.fromEntries(names.map(name => [name, Array.from(batch.get(name) as Int32Array, Number)])),
      )
    }
    return { batches, notices, hashes: loader.hashes, state: loader.state() }
  } finally {
    await loader.close()
  }
}

describe.each([
  ['tokens alone', ['input', 'target'], {}],
  ['one of them', ['target'], {}],
  ['with columns of segments', [...ALONG, ...WHOLE], {}],
  ['with a row that is dropped', ['input', 'target'], { vocabulary: 899 }],
])('ranks of a sequence: %s', (_, fields, more) => {
  it.each([
    ['zigzag', 2],
    ['zigzag', 3],
    ['contiguous', 3],
    ['contiguous', 8],
  ] as const)('%s, %i ranks', async (layout, world) => {
    const feed = feedOf(fields, more)
    const whole = await seen(feed)
    for (let rank = 0; rank < world; rank++) {
      const part = await seen(feed, { rank, world, layout })
      const windows = windowsOf({ rank, world, layout }, LENGTH)
      const cut = whole.batches.map(batch =>
        Object.fromEntries(
          Object.entries(batch).map(([name, values]) => {
            if (WHOLE.includes(name)) return [name, values]
            const rows = Array.from({ length: values.length / LENGTH }, (_, i) =>
              values.slice(i * LENGTH, (i + 1) * LENGTH),
            )
            return [name, rows.flatMap(row => windows.flatMap(({ from, to }) => row.slice(from, to)))]
          }),
        ),
      )
      expect(part.batches).toEqual(cut)
      expect([part.hashes, part.state]).toEqual([whole.hashes, whole.state])
      expect(part.notices).toContainEqual(
        expect.stringMatching(`the ${world} ranks of this sequence have the same rows.*rank ${rank} of them`),
      )
    }
  })
})

it('cuts rows into equal parts that have each place once, where they lie in order', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom<Layout>('zigzag', 'contiguous'),
      (world, each, layout) => {
        const length = 2 * world * each
        const ranks = Array.from({ length: world }, (_, rank) => windowsOf({ rank, world, layout }, length))
        const places = ranks.map(windows =>
          windows.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i)),
        )
        expect(places.flat().sort((a, b) => a - b)).toEqual(Array.from({ length }, (_, i) => i))
        for (const [rank, own] of places.entries()) {
          expect(own).toHaveLength(length / world)
          // Causal attention at place p looks at p + 1 places: with zigzag all ranks have the same work.
          const work = own.reduce((sum, place) => sum + place + 1, 0)
          if (layout === 'zigzag') expect(work).toBe((length * (length + 1)) / 2 / world)
          else expect(own[0]).toBe((rank * length) / world)
        }
      },
    ),
  )
})

it('says what is wrong with it', async () => {
  const wrong = (feed: FeedJson, sequence: object) => seen(feed, sequence as { rank: number; world: number })
  const tokens = feedOf(['input', 'target'])
  await expect(wrong(tokens, { rank: 0, world: 8 })).rejects.toThrow(
    /options\.sequence: rows of 24 tokens can't be cut into 16 equal chunks \(zigzag, 8 ranks\).*"contiguous"/,
  )
  await expect(wrong(tokens, { rank: 0, world: 5, layout: 'contiguous' })).rejects.toThrow(/multiple of 5$/)
  await expect(wrong(tokens, { rank: 2, world: 2 })).rejects.toThrow(/options\.sequence\.rank: .*from 0 to 1/)
  await expect(wrong(tokens, { rank: 0, world: 2, layout: 'round' })).rejects.toThrow(
    /known: zigzag, contiguous/,
  )
  await expect(wrong(tokens, { rank: 0, world: 2, size: 3 })).rejects.toThrow(
    /options\.sequence\.size: unknown/,
  )
  const other = {
    source: { synthetic: { count: 8, images: { width: 8, height: 8 } } },
    fields: ['x'],
    batch: 2,
  } as unknown as FeedJson
  const plain = { ...other, fields: { x: { from: 'cls', as: 'int' } } } as unknown as FeedJson
  await expect(wrong(plain, { rank: 0, world: 2 })).rejects.toThrow(/only feeds of tokens are cut/)
})
