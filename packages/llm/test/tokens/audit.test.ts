/**
 * Which tokens are targets, counted in what the engine delivers: with workers and without, over epochs, lengths, files with empty
 * documents and blends; and what the ranks of a step see together. Each token is there once, so that it tells document and offset.
 */
import { describe, expect, test } from 'vitest'
import {
  type AnyBatch,
  type FeedJson,
  type OpenOptions,
  open,
  type State,
  using,
} from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, writeMegatron, writeNanogpt } from '../../../../test/support/tokens.js'
import { phaseOf } from '../../tokens/rows/concat-rows.js'

process.env.MILLRACE_CACHE = temporaryFolder()

const folder = temporaryFolder()
const LENGTHS = [0, 7, 1, 30, 0, 2, 55, 13, 4, 0]
const web = documentsOf(LENGTHS)
const more = documentsOf([21, 0, 9, 40], 1000)
const books = documentsOf([75], 5000)
writeMegatron(folder, 'web', web)
writeMegatron(folder, 'more', more)
writeNanogpt(folder, 'books.bin', books)
const stream = [...web, ...more].flat()

const numbers = (value: unknown): number[] => Array.from(value as BigInt64Array, Number)
const sorted = (tokens: readonly number[]): number[] => [...tokens].sort((a, b) => a - b)

/** Inputs and targets of a run, epoch by epoch, without places that have no target. */
async function delivered(feed: FeedJson, options: OpenOptions = {}): Promise<[number, number][][]> {
  return using(feed, { root: folder, epochs: 3, notice: () => {}, ...options }, async loader => {
    const epochs: [number, number][][] = []
    for await (const batch of loader) {
      const [input, target] = [numbers(batch.input), numbers(batch.target)]
      const pairs = input.map((token, i): [number, number] => [token, target[i]])
      ;(epochs[batch.epoch] ??= []).push(...pairs.filter(([, token]) => token !== -100))
    }
    return epochs
  })
}

const feedOf = (source: FeedJson['source'], rest: object = {}): FeedJson =>
  ({ source, order: { shuffle: 'global', seed: 7 }, batch: { size: 3, last: 'keep' }, ...rest }) as FeedJson

describe.each([0, 2])('with %i workers', workers => {
  test.each([3, 8, 17])('a stream has each token as a target once an epoch: rows of %i', async length => {
    const feed = feedOf({ tokens: { path: ['web', 'more'], length } })
    const epochs = await delivered(feed, { workers })
    epochs.forEach((pairs, epoch) => {
      const phase = phaseOf(7, epoch, length)
      const rows = Math.floor(stream.length / length) - 1
      // All but the first phase + 1, and the tail.
      const wanted = stream.slice(phase + 1, phase + 1 + rows * length)
      expect(sorted(pairs.map(([, target]) => target))).toEqual(sorted(wanted))
      for (const [input, target] of pairs) expect(stream[stream.indexOf(target) - 1]).toBe(input)
    })
    expect(epochs).toHaveLength(3)
  })

  test('a padded stream leaves out the first phase + 1 tokens alone', async () => {
    const feed = feedOf({ tokens: { path: ['web', 'more'], length: 8, tail: 'pad' } })
    const epochs = await delivered(feed, { workers })
    epochs.forEach((pairs, epoch) => {
      const wanted = stream.slice(phaseOf(7, epoch, 8) + 1)
      expect(sorted(pairs.map(([, target]) => target))).toEqual(sorted(wanted))
    })
  })

  test.each([3, 8, 17])('packed documents have each token but their first: rows of %i', async length => {
    const wanted = [...web, ...more].flatMap(document => document.slice(1))
    for (const pack of ['bestFit', 'document'] as const) {
      const epochs = await delivered(feedOf({ tokens: { path: ['web', 'more'], length, pack } }), { workers })
      for (const pairs of epochs) {
        expect(sorted(pairs.map(([, target]) => target))).toEqual(sorted(wanted))
        for (const [input, target] of pairs) expect(input).toBe(target - 1)
      }
    }
  })

  test('in a blend, each source goes by epochs of its own', async () => {
    const entries = [
      { source: { tokens: { path: ['web', 'more'], length: 8 } }, weight: 1, name: 'web' },
      { source: { tokens: { path: 'books.bin', dtype: 'u16', length: 8 } }, weight: 1, name: 'books' },
    ]
    const epochs = await delivered(feedOf({ blend: { entries } } as FeedJson['source']), { workers })
    for (const [tokens, own] of [
      [stream, (token: number) => token < 5000],
      [books.flat(), (token: number) => token >= 5000],
    ] as const) {
      const rows = Math.floor(tokens.length / 8) - 1
      const seen = epochs
        .flat()
        .map(([, target]) => target)
        .filter(own)
      // Whole epochs of the source, each with its own phase.
      for (let epoch = 0; (epoch + 1) * rows * 8 <= seen.length; epoch++) {
        const phase = phaseOf(7, epoch, 8)
        const here = seen.slice(epoch * rows * 8, (epoch + 1) * rows * 8)
        expect(sorted(here)).toEqual(sorted(tokens.slice(phase + 1, phase + 1 + rows * 8)))
      }
      expect(seen.length).toBeGreaterThan(2 * rows * 8)
    }
  })
})

/** Rows of each step, those of all ranks together: their ids and tokens. */
async function steps(feed: FeedJson, world: number, options: OpenOptions = {}): Promise<string[][]> {
  const all: string[][] = []
  for (let rank = 0; rank < world; rank++) {
    await using(
      feed,
      { root: folder, notice: () => {}, epochs: 2, ...options, rank, world },
      async loader => {
        let step = 0
        for await (const batch of loader) {
          const length = numbers(batch.input).length / batch.count
          batch.ids.forEach((id, row) => {
            const tokens = numbers(batch.input).slice(row * length, (row + 1) * length)
            ;(all[step] ??= []).push(`${id} ${tokens.join()}`)
          })
          step++
        }
      },
    )
  }
  return all.map(rows => rows.sort())
}

describe('ranks', () => {
  const sources: [string, FeedJson['source']][] = [
    ['a stream', { tokens: { path: ['web', 'more'], length: 4 } }],
    ['packed documents', { tokens: { path: ['web', 'more'], length: 4, pack: 'bestFit' } }],
    [
      'a blend',
      {
        blend: {
          entries: [
            { source: { tokens: { path: 'web', length: 4, pack: 'bestFit' } }, weight: 2, name: 'a' },
            { source: { tokens: { path: 'more', length: 4 } }, weight: 1, name: 'b' },
          ],
        },
      },
    ],
  ]

  test.each(sources)('see the same rows in a step, however many they are: %s', async (_, source) => {
    const feed = feedOf(source, { batch: { global: 6, last: 'drop' } })
    const alone = await steps(feed, 1, { workers: 0 })
    expect(alone.length).toBeGreaterThan(4)
    expect(await steps(feed, 2, { workers: 1 })).toEqual(alone)
    expect(await steps(feed, 3, { workers: 0 })).toEqual(alone)
  })

  test.each(sources)('go on from any step with other ranks and workers: %s', async (_, source) => {
    const feed = feedOf(source, { batch: { global: 6, last: 'drop' } })
    const whole = await steps(feed, 1, { workers: 0, epochs: 3 })
    for (const stop of [1, 5]) {
      const state = await using(feed, { root: folder, workers: 2, notice: () => {} }, async loader => {
        let step = 0
        for await (const _batch of loader) if (++step === stop) break
        return JSON.parse(JSON.stringify(loader.state())) as State
      })
      const rest = await steps(feed, 2, { workers: 0, state, epochs: 3 })
      const many = Math.min(rest.length, whole.length - stop)
      expect(rest.slice(0, many)).toEqual(whole.slice(stop, stop + many))
      expect(many).toBeGreaterThan(3)
    }
  })
})

test('an id tells where a row lies in its epoch', async () => {
  const feed = feedOf({ tokens: { path: ['web', 'more'], length: 4 } })
  const loader = open(feed, { root: folder, workers: 0, epochs: 3, notice: () => {} })
  const documents = { web, more }
  try {
    for await (const batch of loader as AsyncIterable<AnyBatch>) {
      batch.ids.forEach((id, row) => {
        const [, name, document, offset] = /^(web|more):(\d+)\+(\d+)$/.exec(id) ?? []
        const first = documents[name as 'web' | 'more'][Number(document)][Number(offset)]
        expect(numbers(batch.input)[row * 4]).toBe(first)
      })
    }
  } finally {
    await (loader as { close(): Promise<void> }).close()
  }
})
