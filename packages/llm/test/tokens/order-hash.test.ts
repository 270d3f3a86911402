/** The order hash of feeds of tokens: what decides which tokens stand where is in it, and nothing else. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, writeMegatron } from '../../../../test/support/tokens.js'
import { explainOrderChange } from '../../../core/define/change.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { TokensJson } from '../../../core/define/token-types.js'
import { type FeedPlan, planFeed } from '../../../core/engine/plan/plan.js'

const folder = temporaryFolder()
const LENGTHS = [5, 3, 0, 12, 1, 9, 30, 4]
writeMegatron(folder, 'a', documentsOf(LENGTHS))
writeMegatron(folder, 'b', documentsOf([...LENGTHS, 2]))

interface Change extends Partial<TokensJson> {
  fields?: string[]
  batch?: number
  seed?: number
}

const orderHash = async (change: Change, root = folder): Promise<string> =>
  (await planned(change, root)).hashes.order

async function planned({ fields, batch = 2, seed = 7, ...json }: Change, root = folder): Promise<FeedPlan> {
  const tokens = { path: 'a.bin', length: 4, ...json }
  const order = { shuffle: 'global', seed }
  const feed = normalizeFeed({ source: { tokens }, order, batch, ...(fields && { fields }) }, root)
  return await planFeed(feed)
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

test.each<[Change, string | RegExp]>([
  [{ length: 5 }, 'Rows of tokens had "length" 4 and now have 5.'],
  [{ phase: 0 }, /^What the source holds, or an option by which its samples are cut, has changed/],
  [{ path: 'b.bin' }, 'The names or sizes of what the source holds have changed, in b.'],
  [{ seed: 8 }, 'The seed was 7 and is now 8.'],
])('%j: what changed is said', async (change, said) => {
  const now = await planned(change)
  const { description } = await planned({})
  const sentences = explainOrderChange(description, now.description, now.parts)
  expect(sentences.at(-1)).toMatch(said)
  if (change.seed !== undefined) expect(sentences[0]).toBe('Rows of tokens are cut by the seed too.')
})
