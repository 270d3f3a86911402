/** Megatron's order through whole feeds: the tokens of every sample are those that numpy gives, in the same order. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  type FeedJson,
  type OpenOptions,
  open,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { writeMegatron } from '../../../../../test/support/tokens.js'

interface Told {
  shape: number[]
  sha256: string
  first: number[]
  last: number[]
}

interface Case {
  split: number[]
  take: number
  samples: number | null
  length: number
  seed: number
}

interface FileCase extends Case {
  kind: string
  count: number
  extra?: number
  keep_partial?: boolean
  separate: boolean
  tokens: Told | null
}

interface BlendCase extends Case {
  files: string[]
  weights: number[] | null
  sources: Told
  tokens: Told
}

const golden = join(import.meta.dirname, '../../../../../test/golden/megatron/expected.json')
const expected = JSON.parse(readFileSync(golden, 'utf8')) as {
  gpt: FileCase[]
  feeds: BlendCase[]
  lengths: Record<string, number[]>
}
const folder = temporaryFolder()

/** Writes the file of some lengths, with the tokens that make.py has for it; returns its prefix. */
function fileOf(name: string): string {
  const lengths = expected.lengths[name]
  const total = lengths.reduce((a, b) => a + b, 0)
  let next = 0
  const documents = lengths.map(length => Array.from({ length }, () => (next++ * 40503 + total * 7) % 65521))
  const prefix = name.replaceAll(' ', '-')
  writeMegatron(folder, prefix, documents)
  return prefix
}

function reported(rows: readonly number[][]): Told {
  const flat = rows.flat()
  const sha256 = createHash('sha256')
    .update(new Uint8Array(BigInt64Array.from(flat, BigInt).buffer))
    .digest('hex')
  return { shape: [rows.length, rows[0].length], sha256, first: flat.slice(0, 8), last: flat.slice(-8) }
}

const PARTS = ['train', 'valid', 'test'] as const
const PAD = -1

const orderOf = ({ samples, seed, split, take }: Case) => ({ samples, seed, split, take: PARTS[take] })

/** The tokens of each sample of a batch, its last target included. */
function samplesIn(batch: AnyBatch, length: number): number[][] {
  const [input, target] = ['input', 'target'].map(name => batch[name] as BigInt64Array | undefined)
  const rows = Array.from({ length: batch.count }, (_, row) => row * length)
  if (input === undefined || target === undefined)
    return rows.map(at => Array.from((batch.tokens as BigInt64Array).subarray(at, at + length), Number))
  return rows.map(at => [
    Number(input[at]),
    ...Array.from(target.subarray(at, at + length), token => (token === -100n ? PAD : Number(token))),
  ])
}

async function samplesOf(json: FeedJson, length: number, options: OpenOptions = {}): Promise<number[][]> {
  return using(json, { root: folder, workers: 0, notice: () => {}, ...options }, async loader => {
    const out: number[][] = []
    for await (const batch of loader) out.push(...samplesIn(batch, length))
    return out
  })
}

const feedOf = (source: unknown, order: unknown, batch: unknown = { size: 64, last: 'keep' }): FeedJson =>
  ({ source, order: { megatron: order }, batch }) as unknown as FeedJson

const files = expected.gpt.filter(({ tokens }) => tokens !== null)

describe('GPTDataset', () => {
  it('20 cases and more, with epochs of their own at the end, and validation', () => {
    expect(files.length).toBeGreaterThanOrEqual(20)
    expect(files.filter(({ separate }) => separate).length).toBeGreaterThan(2)
    expect(files.filter(({ take }) => take === 1).length).toBeGreaterThan(2)
  })

  it.each(files)('$kind $count, $split take $take, $samples of $length, seed $seed', async one => {
    const { length, extra, keep_partial: keepPartial } = one
    const path = fileOf(`${one.kind} ${one.count}`)
    const more = { ...(extra === 0 && { extra: false }), ...(keepPartial && { keepPartial }) }
    const source = { tokens: { path, length, ...(extra === 0 && { shift: 'model' }) } }
    expect(reported(await samplesOf(feedOf(source, { ...orderOf(one), ...more }), length))).toEqual(
      one.tokens,
    )
  })
})

/** A blend of the case's files, as entries or by a list. */
function blendOf({ files, weights, length }: BlendCase): unknown {
  const entries = files.map((name, i) => ({
    name: `f${i}`,
    source: { tokens: { path: fileOf(name), length } },
    ...(weights && { weight: weights[i] }),
  }))
  return { blend: { entries } }
}

describe('BlendedDataset', () => {
  it.each(expected.feeds)('$files, weights $weights, $samples of $length', async one => {
    expect(reported(await samplesOf(feedOf(blendOf(one), orderOf(one)), one.length))).toEqual(one.tokens)
  })
})

it('a run goes on from any of its samples, with other ranks, batches and workers', async () => {
  const one = expected.feeds[1]
  const json = (size: number) => feedOf(blendOf(one), orderOf(one), { size, last: 'drop' })
  const all = await samplesOf(json(50), one.length)
  expect(all).toHaveLength(1500)
  const saved = await using(json(50), { root: folder, workers: 1, notice: () => {} }, async loader => {
    let left = 7
    for await (const _ of loader) if (--left === 0) break
    return loader.state()
  })
  expect(saved.position).toBe(350)
  // 2 ranks of 25, in turn.
  const ranks = await Promise.all(
    [0, 1].map(rank => samplesOf(json(25), one.length, { state: saved, rank, world: 2, workers: 2 })),
  )
  const joined = ranks[0].flatMap((_, i) =>
    i % 25 === 0 ? [...ranks[0].slice(i, i + 25), ...ranks[1].slice(i, i + 25)] : [],
  )
  expect(joined).toEqual(all.slice(350))
  // From a count of consumed samples alone, as a checkpoint of Megatron's has it.
  const consumed = await using(json(50), { root: folder, workers: 0, notice: () => {} }, async loader => {
    await loader.ready
    return { ...loader.state(), position: 1234 }
  })
  expect(await samplesOf(json(38), one.length, { state: consumed })).toEqual(all.slice(1234, 1234 + 38 * 7))
})

it('it has one epoch, whatever the options say, and ends with an error that says why', async () => {
  const one = expected.feeds[0]
  const json = feedOf(blendOf(one), orderOf(one), 50)
  const options = { root: folder, workers: 0, notice: () => {} }
  for (const more of [{}, { epochs: null }, { steps: 99 }, { tokens: 1e9 }, { epochs: 1 }]) {
    const end = await using(json, { ...options, ...more }, async loader => {
      let batches = 0
      for await (const _ of loader) batches++
      expect(batches).toBe(12)
      await expect(loader[Symbol.asyncIterator]().next()).rejects.toThrow("Megatron's order ends here")
      return loader.state()
    })
    const again = open(json, { ...options, state: end }) as AnyLoader
    await expect(again.ready).rejects.toThrow('A longer run has another order')
    await again.close()
  }
  const twice = open(json, { ...options, epochs: 2 }) as AnyLoader
  await expect(twice.ready).rejects.toThrow('options.epochs')
  await twice.close()
})

it('documents of a sample are its segments, although targets go across them', async () => {
  writeMegatron(folder, 'three', [[1, 2, 3], [], [4, 5, 6, 7], [8, 9]])
  const json = feedOf({ tokens: { path: 'three', length: 8 } }, { split: '1', seed: 3 }, 1)
  const withBoundaries = { ...json, fields: ['input', 'target', 'positionIds', 'cuSeqlens', 'segments'] }
  await using(
    withBoundaries as unknown as FeedJson,
    { root: folder, workers: 0, notice: () => {} },
    async loader => {
      for await (const batch of loader) {
        const list = (name: string) => Array.from(batch[name] as ArrayLike<bigint | number>, Number)
        const first = [1, 4, 8]
        const starts = list('input').flatMap((token, i) => (first.includes(token) ? [i] : []))
        expect(starts).toHaveLength(3)
        expect(list('cuSeqlens').slice(0, 4)).toEqual([...starts, 8])
        expect(list('segments')).toEqual(
          list('input').map((_, i) => starts.filter(start => start <= i).length),
        )
        expect(list('positionIds')).toEqual(
          list('input').map((_, i) => i - Math.max(...starts.filter(start => start <= i))),
        )
        // The extra token is the last target.
        expect(list('target').slice(0, 7)).toEqual(list('input').slice(1))
        expect(list('target')[7]).toBeGreaterThan(0)
      }
    },
  )
})

describe('what Megatron has no order for is refused', () => {
  const path = fileOf('mixed 333')
  const tokens = { tokens: { path, length: 16 } }
  const refused = async (source: unknown, order: unknown): Promise<string> => {
    let loader: AnyLoader | undefined
    try {
      loader = open(feedOf(source, order), { root: folder, workers: 0, notice: () => {} }) as AnyLoader
      await loader.ready
    } catch (error) {
      return (error as Error).message
    } finally {
      await loader?.close()
    }
    return ''
  }

  it.each([
    [{ concat: [tokens, tokens] }, {}, 'one of token files: "tokens", or a blend of them, not "concat"'],
    [{ tokens: { path, length: 16, pack: 'bestFit' } }, {}, 'tokens.pack: means nothing'],
    [
      { tokens: { path, length: 16, documents: { split: [1, 1], take: 0 } } },
      {},
      '"split" and "take" of the order',
    ],
    [{ tokens: { path: [path, fileOf('even 3')], length: 16 } }, {}, 'a dataset for each: make a blend'],
    [tokens, { split: '1', take: 'valid' }, 'has no part "valid"'],
    [tokens, { keepPartial: true }, 'goes with "take": "valid" only'],
    [tokens, { extra: false }, 'use "shift": "model"'],
    [tokens, { seed: 2 ** 32 }, 'seed'],
    [{ tokens: { path, length: 1e6 } }, {}, 'too few for a sample of 1000000'],
    [{ blend: { entries: [{ source: tokens, weight: 1 }] } }, {}, 'needs it, as in Megatron'],
    [
      { blend: { entries: [{ source: tokens, weight: 1 }, { source: tokens }] } },
      { samples: 9 },
      'in all entries or in none',
    ],
    [
      { blend: { entries: [{ source: tokens, weight: 1 }], schedule: 'deficit' } },
      { samples: 9 },
      'schedule: means nothing',
    ],
  ])('%j in %j', async (source, order, message) => {
    expect(await refused(source, order)).toContain(message)
  })

  it('other numbers of samples, and other weights on the way', async () => {
    const one = expected.feeds[1]
    const json = (samples: number) => feedOf(blendOf(one), { ...orderOf(one), samples }, 8)
    const options = { root: folder, workers: 0, notice: () => {} }
    const state = await using(json(1500), options, async loader => {
      await loader.ready
      await expect(loader.setWeights({ f0: 2 })).rejects.toThrow("can't be changed on the way")
      return loader.state()
    })
    const other = open(json(1501), { ...options, state }) as AnyLoader
    await expect(other.ready).rejects.toThrow(
      /The order was "megatron 1500 samples.*and is now "megatron 1501 samples/,
    )
    await other.close()
  })
})
