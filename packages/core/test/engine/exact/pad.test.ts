/** `last: pad` with bad samples: fillers are never in `ids`, never count, and a batch that has some is full. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnyLoader, type FeedJson, numberFeed, open } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'

const root = temporaryFolder()

/** Keeps the pool, so that not every small feed starts threads of its own. */
let holder: AnyLoader
beforeAll(async () => {
  holder = open(numberFeed(1), { workers: 2, depth: 1 })
  await holder.ready
})
afterAll(() => holder.close())

interface Case {
  n: number
  batch: number
  world: number
  policy: 'drop' | 'mask'
  bad: ReadonlySet<number>
}

/** A shard of numbered samples, of which some have a label that is no number. */
function shard({ n, bad }: Case): string {
  const name = `${n}-${[...bad].join('.')}.tar`
  const entries = Array.from({ length: n }, (_, i) => [
    { name: `${i}.cls`, data: bad.has(i) ? 'no number' : String(i + 1) },
    { name: `${i}.txt`, data: 'x'.repeat(i % 9) },
  ])
  writeFileSync(join(root, name), tarFile(entries.flat()))
  return name
}

function feed(one: Case): FeedJson {
  return {
    source: { tar: shard(one) },
    order: { shuffle: 'global', seed: one.n },
    fields: {
      text: { from: 'txt', as: 'text', ragged: { max: 16 } },
      padded: { from: 'txt', as: 'bytes', pad: { to: 'longest', max: 16, value: 7 } },
      label: { from: 'cls', as: 'int' },
    },
    batch: { size: one.batch, last: 'pad' },
    onError: { policy: one.policy, budget: one.bad.size },
  }
}

interface Row {
  id: number | undefined
  label: number
  length: number
  valid: number
}

/** All ranks through two epochs: the rows by epoch, rank and step. Fillers have no id. */
async function run(one: Case, workers: number): Promise<Row[][][][]> {
  const json = feed(one)
  const { world } = one
  const loaders = Array.from({ length: world }, (_, rank) => open(json, { root, rank, world, workers }))
  try {
    const epochs: Row[][][][] = []
    for (let epoch = 0; epoch < 2; epoch++)
      epochs.push(await Promise.all(loaders.map(loader => loop(loader as AnyLoader))))
    for (const loader of loaders) {
      const { bad } = loader.stats()
      for (const { id } of bad.samples) expect(one.bad.has(numberOf(id))).toBe(true)
    }
    return epochs
  } finally {
    await Promise.all(loaders.map(loader => loader.close()))
  }
}

const numberOf = (id: string): number => Number(id.split(':')[1])

async function loop(loader: AnyLoader): Promise<Row[][]> {
  const steps: Row[][] = []
  for await (const batch of loader) {
    const ids = batch.ids.map(numberOf)
    const [labels, lengths] = [Array.from(batch.label as BigInt64Array, Number), batch.lengths('padded')]
    expect(batch.samples).toBe(ids.length)
    expect((batch.text as string[]).map(text => text.length)).toEqual([...lengths])
    // Samples come first.
    steps.push(labels.map((label, i) => ({ id: ids[i], label, length: lengths[i], valid: batch.valid[i] })))
  }
  return steps
}

function check(one: Case, epochs: Row[][][][]): void {
  const { n, batch, world, policy, bad } = one
  const steps = Math.ceil(n / (world * batch))
  for (const ranks of epochs) {
    const rows = ranks.flat(2)
    const ids = rows.flatMap(({ id }) => id ?? [])
    const expected = Array.from({ length: n }, (_, i) => i).filter(i => policy === 'mask' || !bad.has(i))
    expect([...ids].sort((a, b) => a - b)).toEqual(expected)
    for (const { id, label, length, valid } of rows) {
      if (id === undefined) expect(valid).toBe(0)
      else if (bad.has(id)) expect([label, length, valid]).toEqual([0, 0, 0])
      else expect([label, length, valid]).toEqual([id + 1, id % 9, 1])
      // A filler is a copy of a sample, or blank.
      if (id === undefined) expect(label === 0 ? length : (label - 1) % 9).toBe(length)
      if (id === undefined && label > 0) expect(bad.has(label - 1)).toBe(false)
    }
    for (const rank of ranks) {
      expect(rank).toHaveLength(steps)
      for (const step of rank) {
        const full = policy === 'mask' || step.some(({ id }) => id === undefined)
        if (full) expect(step).toHaveLength(batch)
        else expect(step.length).toBeLessThanOrEqual(batch)
      }
    }
  }
}

/** Numbers that look random, the same every time. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('91 of 87: a bad sample that also comes as a filler is named once, and the last batch is full', async () => {
  // Of 87 samples in batches of 33, the last batch has 21 and 12 fillers from the epoch's start.
  for (const policy of ['drop', 'mask'] as const) {
    const one: Case = { n: 87, batch: 33, world: 1, policy, bad: new Set(numbersBelow(87, 17)) }
    const epochs = await run(one, 1)
    check(one, epochs)
    expect(epochs.map(([rank]) => rank.at(-1)!.length)).toEqual([33, 33])
  }
})

function numbersBelow(n: number, every: number): number[] {
  return Array.from({ length: Math.floor(n / every) }, (_, i) => i * every + 3)
}

test('any size, ranks, bad samples and policy', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = numbers(seed)
    const n = 1 + random(60)
    const bad = new Set(Array.from({ length: random(Math.ceil(n / 3)) }, () => random(n)))
    const one: Case = {
      n,
      batch: 1 + random(13),
      world: 1 + random(3),
      policy: random(2) === 0 ? 'drop' : 'mask',
      bad,
    }
    const epochs = await run(one, seed % 3)
    check(one, epochs)
    if (seed % 10 === 0) expect(await run(one, (seed + 1) % 3)).toEqual(epochs)
  }
})

test('with `fail`, a filler that is bad is blank: its sample comes where the run began', async () => {
  const one: Case = { n: 10, batch: 4, world: 1, policy: 'drop', bad: new Set([1]) }
  const json: FeedJson = { ...feed(one), order: 'none', onError: 'fail' }
  const whole = open(json, { root, workers: 0 }) as AnyLoader
  await whole.ready
  const state = { ...whole.state(), position: 4 }
  await whole.close()
  const loader = open(json, { root, workers: 1, state }) as AnyLoader
  const steps = await loop(loader)
  await loader.close()
  expect(steps.flat().map(({ id }) => id)).toEqual([4, 5, 6, 7, 8, 9, undefined, undefined])
  expect(steps[1].map(({ label }) => label)).toEqual([9, 10, 1, 0])
})
