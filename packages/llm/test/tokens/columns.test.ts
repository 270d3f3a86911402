/** The engine delivers the columns that samples tell, whichever way it makes rows, and borders of the whole batch. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AnyBatch, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { documentsOf, openRows, type RowValues, writeMegatron } from '../../../../test/support/tokens.js'
import type { TokensJson } from '../../../core/define/token-types.js'

process.env.MILLRACE_CACHE = temporaryFolder()

const folder = temporaryFolder()
const LENGTHS = [7, 0, 30, 1, 12, 5, 5, 2]
writeMegatron(folder, 'a', documentsOf(LENGTHS))
writeMegatron(folder, 'b', documentsOf([40, 3], 1000), 'i32')
const tokens = LENGTHS.reduce((sum, length) => sum + length, 0)
writeFileSync(
  join(folder, 'a.mask'),
  Uint8Array.from({ length: tokens }, (_, i) => (i % 3 === 0 ? 0 : 1)),
)

const base: TokensJson = { path: 'a', length: 6 }
const row = ['positionIds', 'segments', 'lossMask', 'cuSeqlens', 'cuCount', 'cuLongest']
const cases: [string, TokensJson, string[]][] = [
  ['a stream', { ...base, phase: 0 }, ['input', 'target']],
  ['a padded stream', { ...base, phase: 0, tail: 'pad', eod: 9 }, ['input', 'target']],
  ['a stream of i32', { ...base, path: 'b', phase: 0, tail: 'pad' }, ['input', 'target']],
  ['a stream with borders', { ...base, phase: 0, tail: 'pad' }, ['input', 'target', ...row]],
  [
    'a stream, shifted by the model',
    { ...base, phase: 0, shift: 'model', tail: 'pad' },
    ['tokens', 'labels'],
  ],
  ['a masked stream', { ...base, phase: 0, mask: 'a.mask' }, ['input', 'target', 'lossMask']],
  ['packed', { ...base, pack: 'bestFit' }, ['input', 'target']],
  ['packed, with borders', { ...base, pack: 'bestFit' }, ['input', 'target', ...row]],
  ['packed, a column alone', { ...base, pack: 'bestFit' }, ['target']],
  ['packed, shifted by the model', { ...base, pack: 'bestFit', shift: 'model' }, ['tokens', 'labels']],
  [
    'packed, with tokens put in',
    { ...base, pack: 'bestFit', insert: { bos: 70, eod: 71 } },
    ['input', 'target'],
  ],
  ['packed, for Megatron-LM', { ...base, pack: 'bestFit', varlen: 'megatron' }, ['input', 'cuSeqlens']],
  ['packed and masked', { ...base, pack: 'bestFit', mask: 'a.mask' }, ['input', 'target', 'lossMask']],
  [
    'by names of Hugging Face',
    { ...base, pack: 'bestFit', naming: 'hf' },
    ['input_ids', 'labels', 'position_ids', 'seq_lens'],
  ],
  ['a document each', { ...base, pack: 'document' }, ['input', 'target', 'lossMask']],
  [
    'a document each, ragged',
    { ...base, pack: 'document', ragged: true },
    ['input', 'target', 'positionIds'],
  ],
]

test.each(cases)('%s', async (_, json, columns) => {
  const reader = await openRows(folder, json, columns)
  const rows = reader.rows(columns)
  const feed = { source: { tokens: json }, fields: columns, batch: { size: 3, last: 'keep' } }
  for (const workers of [0, 2]) {
    const found = await using(
      feed as unknown as FeedJson,
      { root: folder, workers, epochs: 1, notice: () => {} },
      async loader => {
        const all: Record<string, number[]>[] = []
        for await (const batch of loader) all.push(...rowsIn(batch, columns, json))
        return all
      },
    )
    expect(found).toEqual(rows)
  }
})

/** The rows of a batch. Borders of the whole batch become those of rows again. */
function rowsIn(batch: AnyBatch, columns: readonly string[], { length, varlen }: TokensJson): RowValues[] {
  return Array.from({ length: batch.count }, (_, i) =>
    Object.fromEntries(
      columns.map(name => {
        const value = batch[name] as BigInt64Array | { values: BigInt64Array; offsets: Int32Array }
        if ('values' in value && 'offsets' in value)
          return [name, Array.from(value.values.slice(value.offsets[i], value.offsets[i + 1]), Number)]
        const numbers = Array.from(value as BigInt64Array, Number)
        const each = numbers.length / batch.count
        if (name === 'cuSeqlens' && varlen === undefined)
          return [name, bordersOf(numbers, i, length, batch.count)]
        return [name, numbers.slice(i * each, (i + 1) * each)]
      }),
    ),
  )
}

function bordersOf(all: readonly number[], row: number, length: number, count: number): number[] {
  expect(all).toHaveLength(count * length)
  expect([...all].sort((a, b) => a - b)).toEqual(all)
  expect([all[0], all[all.length - 1]]).toEqual([0, count * length])
  const here = all.filter(border => border >= row * length && border < (row + 1) * length)
  expect(here[0]).toBe(row * length)
  return [...here.map(border => border - row * length), ...Array<number>(length).fill(length)].slice(
    0,
    length,
  )
}
