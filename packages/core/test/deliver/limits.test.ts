/** How much one loop covers: over tokens it goes on through epochs, until steps or tokens end it. */
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, writeNanogpt } from '../../../../test/support/tokens.js'
import { open } from '../../../all/index.js'
import type { FeedJson } from '../../define/types.js'

const root = temporaryFolder()
writeNanogpt(root, 'n.bin', documentsOf([101]))
// 12 rows of 8 tokens: 3 steps of 4 rows an epoch.
const tokens = { source: { tokens: { path: 'n.bin', dtype: 'u16', length: 8, phase: 0 } }, batch: 4 }
const feed = { ...tokens, order: { shuffle: 'global', seed: 1 } } as unknown as FeedJson
const quiet = { root, workers: 0, notice: () => {} }

async function steps(options: object, most = 20, of = feed): Promise<number[]> {
  const loader = open(of, { ...quiet, ...options })
  const epochs: number[] = []
  try {
    for await (const batch of loader) if (epochs.push(batch.epoch) === most) break
    return epochs
  } finally {
    await loader.close()
  }
}

describe('a loop over tokens', () => {
  it('goes on through epochs', async () => {
    expect(await steps({}, 8)).toEqual([0, 0, 0, 1, 1, 1, 2, 2])
    const loader = open(feed, quiet)
    await loader.ready
    expect(loader.loopSteps).toBe(Infinity)
    await loader.close()
  })

  it('ends after one epoch where the order is that of the source, as for validation', async () => {
    const sequential = tokens as unknown as FeedJson
    expect(await steps({}, 8, sequential)).toEqual([0, 0, 0])
    expect(await steps({ epochs: null }, 8, sequential)).toHaveLength(8)
    expect(await steps({ steps: 5 }, 8, sequential)).toEqual([0, 0, 0, 1, 1])
  })

  it('ends after epochs, steps or tokens, whichever comes first', async () => {
    expect(await steps({ epochs: 2 })).toHaveLength(6)
    expect(await steps({ steps: 5 })).toHaveLength(5)
    expect(await steps({ tokens: 5 * 32 })).toHaveLength(5)
    expect(await steps({ tokens: 5 * 32 + 1 })).toHaveLength(6)
    expect(await steps({ tokens: 500, steps: 2 })).toHaveLength(2)
    expect(await steps({ tokens: 64, steps: 9 })).toHaveLength(2)
    expect(await steps({ tokens: 500, epochs: 1 })).toHaveLength(3)
  })

  it('counts the tokens of all ranks', async () => {
    expect(await steps({ tokens: 5 * 32, rank: 0, world: 2 })).toHaveLength(3)
  })

  it('has tokens that are a whole number, and a feed of tokens', async () => {
    expect(() => open(feed, { ...quiet, tokens: 1.5 })).toThrow(
      /options\.tokens: expected a whole number ≥ 1/,
    )
    const other = {
      source: { synthetic: { count: 8, images: { width: 8, height: 8 } } },
      fields: { x: { from: 'cls', as: 'int' } },
      batch: 2,
    }
    const loader = open(other as unknown as FeedJson, { ...quiet, tokens: 100 })
    await expect(loader.ready).rejects.toThrow(/options\.tokens: only a feed of tokens/)
    await loader.close()
  })
})
