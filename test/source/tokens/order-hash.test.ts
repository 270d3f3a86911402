/** The order hash of feeds of tokens: what decides which tokens stand where is in it, and nothing else. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { normalizeFeed } from '../../../src/define/normalize.js'
import type { TokensJson } from '../../../src/define/token-types.js'
import { planFeed } from '../../../src/engine/plan/plan.js'
import { temporaryFolder } from '../../support/folder.js'
import { documentsOf, writeMegatron } from '../../support/tokens.js'

const folder = temporaryFolder()
const LENGTHS = [5, 3, 0, 12, 1, 9, 30, 4]
writeMegatron(folder, 'a', documentsOf(LENGTHS))
writeMegatron(folder, 'b', documentsOf([...LENGTHS, 2]))

interface Change extends Partial<TokensJson> {
  fields?: string[]
  batch?: number
}

async function orderHash({ fields, batch = 2, ...json }: Change, root = folder): Promise<string> {
  const tokens = { path: 'a.bin', length: 4, ...json }
  const order = { shuffle: 'global', seed: 7 }
  const feed = normalizeFeed({ source: { tokens }, order, batch, ...(fields && { fields }) }, root)
  return (await planFeed(feed)).hashes.order
}

test.each<Change>([
  { path: 'b.bin' },
  { path: ['a.bin', 'b.bin'] },
  { length: 5 },
  { phase: 0 },
  { tail: 'pad' },
  { pack: 'bestFit' },
  { pack: 'document' },
  { documents: { split: [50, 50], take: 0 } },
  { documents: { split: [50, 50], take: 1 } },
])('%j is another order', async change => {
  expect(await orderHash(change)).not.toBe(await orderHash({}))
})

test('long documents are split, cut or left out: three orders', async () => {
  const hashes = await Promise.all(
    (['split', 'truncate', 'drop'] as const).map(long => orderHash({ pack: 'bestFit', long })),
  )
  expect(new Set(hashes).size).toBe(3)
})

test.each<Change>([{ fields: ['input', 'positionIds', 'cuSeqlens'] }, { batch: 4 }, { vocabulary: 1000 }])(
  '%j is the same order',
  async change => {
    expect(await orderHash(change)).toBe(await orderHash({}))
  },
)

test('where the files lie does not matter', async () => {
  const other = temporaryFolder()
  for (const name of ['a.bin', 'a.idx']) cpSync(join(folder, name), join(other, name))
  expect(await orderHash({}, other)).toBe(await orderHash({}))
})
