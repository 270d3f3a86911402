/** Rows of tokens that are made without samples are those that are made of them; what is wrong is said as ever. */
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { runs } from '../../../../../test/support/runs.js'
import { documentsOf, writeMegatron, writeNanogpt } from '../../../../../test/support/tokens.js'
import { open } from '../../../../all/index.js'
import type { FeedJson, SourceJson } from '../../../define/types.js'

interface Taken {
  /** By field, of all batches. */
  values: Record<string, number[]>
  ids: string[]
  bytesRead: number
}

const quiet = { workers: 0, notice: () => {} }

async function taken(json: object, root: string, names: readonly string[], epochs = 2): Promise<Taken> {
  const loader = open(json as FeedJson, { ...quiet, root, epochs })
  const values: Record<string, number[]> = Object.fromEntries(names.map(name => [name, []]))
  const ids: string[] = []
  try {
    for await (const batch of loader) {
      for (const name of names) values[name].push(...Array.from(batch.get(name) as Int32Array, Number))
      ids.push(...batch.ids)
    }
    return { values, ids, bytesRead: loader.stats().bytesRead }
  } finally {
    await loader.close()
  }
}

/** The same columns, with one more that has to be made of samples. */
async function bothWays(
  source: SourceJson,
  root: string,
  more: object,
  dtype = 'i64',
): Promise<[Taken, Taken]> {
  const shift = JSON.stringify(source).includes('"model"') ? ['tokens', 'labels'] : ['input', 'target']
  const fields = Object.fromEntries(shift.map(name => [name, { from: name, dtype }]))
  const rest = { source, batch: 4, ...more }
  const direct = await taken({ ...rest, fields }, root, shift)
  const sampled = await taken({ ...rest, fields: { ...fields, lossMask: { from: 'lossMask' } } }, root, shift)
  return [direct, sampled]
}

describe('rows without samples', () => {
  it('are the same, at any length, over the borders of files', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('i64', 'i32'),
        fc.constantFrom<object>({ tail: 'drop' }, { tail: 'pad', eod: 7 }, { phase: 0 }),
        fc.constantFrom<object>({}, { shift: 'model' }),
        fc.constantFrom<object>({}, { order: { shuffle: 'global', seed: 3 } }),
        async (lengths, length, dtype, tail, shift, order) => {
          fc.pre(lengths.reduce((sum, n) => sum + n) > 2 * length + 1)
          const root = temporaryFolder()
          lengths.forEach((n, i) => {
            writeNanogpt(root, `${i}.bin`, documentsOf([n], 1000 * (i + 1)))
          })
          const tokens = { path: '*.bin', dtype: 'u16' as const, length, ...tail, ...shift }
          const more = { batch: { size: 3, last: 'keep' }, ...order }
          const [direct, sampled] = await bothWays({ tokens }, root, more, dtype)
          expect(direct.values).toEqual(sampled.values)
          expect(direct.ids).toEqual(sampled.ids)
        },
      ),
      { numRuns: runs(15) },
    )
  })

  it('are the same in blends of files of several types, and in subsets', async () => {
    const root = temporaryFolder()
    writeMegatron(root, 'a', documentsOf([40, 0, 3, 60]))
    writeMegatron(root, 'b', documentsOf([90, 5], 70000), 'i32')
    const of = (path: string): SourceJson => ({ tokens: { path, length: 8 } })
    const entries = [
      { source: of('a'), weight: 2, name: 'x' },
      { source: { subset: { source: of('b'), range: [2, 9] as [number, number] } }, weight: 1, name: 'y' },
    ]
    const more = { order: { shuffle: 'global', seed: 1 } }
    const [direct, sampled] = await bothWays({ blend: { entries } }, root, more)
    expect(direct.values).toEqual(sampled.values)
    expect(Math.max(...direct.values.input)).toBeGreaterThan(70000)
  })

  it.each([
    ['by best fit', { pack: 'bestFit' }],
    ['by best fit, for models that shift', { pack: 'bestFit', shift: 'model' }],
    ['one document a row', { pack: 'document', long: 'split' }],
    ['with tokens put in', { pack: 'bestFit', insert: { bos: 901, eod: 902 } }],
    ['with tokens put in, one document a row', { pack: 'document', insert: { bos: 901 }, long: 'truncate' }],
  ])('are the same where documents are packed %s', async (_, pack) => {
    const root = temporaryFolder()
    writeMegatron(root, 'a', documentsOf([5, 1, 30, 2, 17, 8, 3, 3, 26, 11]))
    const tokens = { path: 'a', length: 12, eod: 900, ...pack } as unknown as { path: string; length: number }
    const more = { batch: { size: 3, last: 'keep' }, order: { shuffle: 'global', seed: 3 } }
    const [direct, sampled] = await bothWays({ tokens }, root, more)
    expect(direct.values).toEqual(sampled.values)
    expect(direct.ids).toEqual(sampled.ids)
  })

  it('reads no more than they have: shuffled rows alone, rows in order at once', async () => {
    const root = temporaryFolder()
    const [length, rows] = [512, 90]
    writeNanogpt(
      root,
      'n.bin',
      documentsOf([length * (rows + 1)], 0).map(all => all.map(n => n % 5000)),
    )
    const tokens = { path: 'n.bin', dtype: 'u16' as const, length, phase: 0 as const }
    const once = (bytesRead: number): number => bytesRead / (2 * rows * length * 2) // two epochs
    const more = { batch: 30 }
    const [direct, sampled] = await bothWays({ tokens }, root, {
      ...more,
      order: { shuffle: 'global', seed: 5 },
    })
    expect(direct.values).toEqual(sampled.values)
    expect(once(direct.bytesRead)).toBeLessThan(1.2)
    expect(once(sampled.bytesRead)).toBeGreaterThan(1.5) // its reads are merged over wider gaps: the file is small
    const [inOrder] = await bothWays({ tokens }, root, more)
    expect(once(inOrder.bytesRead)).toBeLessThan(1.01)
  })
})

describe('what is wrong with a row of tokens', () => {
  const length = 8
  const feedOf = (more: object = {}, rest: object = {}): object => ({
    source: { tokens: { path: 'a', length, phase: 0, ...more } },
    batch: 4,
    ...rest,
  })

  it('is said with its document and offset, where a token is beyond the vocabulary', async () => {
    const root = temporaryFolder()
    const documents = documentsOf([20, 30, 31])
    documents[1][5] = 777
    writeMegatron(root, 'a', documents)
    const run = taken(feedOf({ vocabulary: 700 }), root, ['input'])
    await expect(run).rejects.toThrow(/token 25 of .*a\.bin \(document 1, offset 5\) is 777/)
    // The row that has it is left out, all others come.
    const kept = await taken(feedOf({ vocabulary: 700 }, { onError: 'drop' }), root, ['input'], 1)
    expect(kept.values.input).toHaveLength(9 * length)
    expect(kept.values.input).not.toContain(777)
    expect((await taken(feedOf({ vocabulary: 778 }), root, ['input'], 1)).values.input).toContain(777)
  })

  it('is said where a number is no token at all', async () => {
    const root = temporaryFolder()
    const documents = documentsOf([90])
    documents[0][44] = -3
    writeMegatron(root, 'a', documents, 'i32')
    await expect(taken(feedOf({ vocabulary: 1000 }), root, ['input'])).rejects.toThrow(/token 44 .* is -3/)
  })

  it.each([
    ['longer', (file: string) => appendFileSync(file, 'more')],
    ['shorter', (file: string) => truncateSync(file, 1000)],
    ['other tokens', (file: string) => writeFileSync(file, Buffer.alloc(20000))],
  ])('is said where its file changes during a run: %s', async (_, change) => {
    const root = temporaryFolder()
    writeMegatron(root, 'a', documentsOf([10000]))
    const loader = open(feedOf() as FeedJson, { ...quiet, root })
    let batches = 0
    const loop = async (): Promise<void> => {
      for await (const _batch of loader) if (++batches === 2) change(join(root, 'a.bin'))
    }
    await expect(loop()).rejects.toThrow(/a\.bin changed during the run/)
    expect(batches).toBe(2)
    await loader.close()
  })
})
