/** The order of Megatron's GPTDataset is the one that numpy gives, number for number. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { gptIndex } from '../../../tokens/megatron/gpt-index.js'
import { splitRange } from '../../../tokens/megatron/split.js'

const golden = join(import.meta.dirname, '../../../../../test/golden/megatron')

interface Told {
  shape: number[]
  sha256: string
  first: number[]
  last: number[]
}

interface Case {
  kind: string
  count: number
  split: number[]
  take: number
  samples: number | null
  length: number
  seed: number
  extra?: number
  keep_partial?: boolean
  from: number
  to: number
  epochs: number
  separate: boolean
  documents: Told
  starts: Told
  shuffle: Told
}

const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
  gpt: Case[]
  lengths: Record<string, number[]>
}

function lengthsOf({ kind, count }: Case): Int32Array {
  const known = expected.lengths[`${kind} ${count}`]
  if (known !== undefined) return Int32Array.from(known)
  const bytes = readFileSync(join(golden, `lengths-${count}.bin`))
  return Int32Array.from({ length: count }, (_, i) => bytes.readInt32LE(4 * i))
}

function reported(numbers: Iterable<number>, shape: number[]): Told {
  const all = BigInt64Array.from(Array.from(numbers, BigInt))
  const plain = Array.from(all, Number)
  const sha256 = createHash('sha256').update(new Uint8Array(all.buffer)).digest('hex')
  return { shape, sha256, first: plain.slice(0, 8), last: plain.slice(-8) }
}

it('the cases have one epoch and several, and last epochs of their own', () => {
  expect(expected.gpt.length).toBeGreaterThanOrEqual(20)
  expect(new Set(expected.gpt.map(({ separate }) => separate)).size).toBe(2)
})

it.each(expected.gpt)('GPTDataset: $kind $count, $split take $take, $samples of $length, seed $seed', one => {
  const range = splitRange(one.split, one.take, one.count)
  expect(range).toEqual({ from: one.from, to: one.to })
  const { documents, places, offsets, shuffle, epochs } = gptIndex({
    lengths: lengthsOf(one).subarray(range.from, range.to),
    ...range,
    samples: one.samples ?? undefined,
    length: one.length,
    seed: one.seed,
    extra: one.extra !== 0,
    keepPartial: one.keep_partial,
  })
  expect(epochs).toBe(one.epochs)
  expect(reported(documents, [documents.length])).toEqual(one.documents)
  const starts = Array.from(places, (place, i) => [place, offsets[i]]).flat()
  expect(reported(starts, [places.length, 2])).toEqual(one.starts)
  expect(reported(shuffle, [shuffle.length])).toEqual(one.shuffle)
})
