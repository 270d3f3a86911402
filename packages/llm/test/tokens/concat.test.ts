/** Rows cut out of one stream: against an oracle of plain loops, over file borders, with moving cuts and every tail. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { runs } from '../../../../test/support/runs.js'
import {
  documentsOf,
  openRows,
  type RowValues,
  writeMegatron,
  writeNanogpt,
} from '../../../../test/support/tokens.js'
import type { TokensJson } from '../../../core/define/token-types.js'
import { phaseOf } from '../../tokens/rows/concat-rows.js'

/** What rows of a stream are, by the rule itself. */
function oracle(
  stream: readonly number[],
  length: number,
  phase: number,
  count: number,
  pad = 0,
): RowValues[] {
  const rows: RowValues[] = []
  for (let row = 0; row < count; row++) {
    const input: number[] = []
    const target: number[] = []
    for (let place = 0; place < length; place++) {
      const at = row * length + phase + place
      const there = at + 1 < stream.length
      input.push(there ? stream[at] : pad)
      target.push(there ? stream[at + 1] : -100)
    }
    rows.push({ input, target })
  }
  return rows
}

describe('rows of a stream', () => {
  test('of several files, at any length and phase', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom('drop', 'pad') as fc.Arbitrary<'drop' | 'pad'>,
        fc.option(fc.nat(1000), { nil: undefined }),
        async (sizes, length, tail, seed) => {
          const documents = documentsOf(sizes)
          const stream = documents.flat()
          const tokens = stream.length
          fc.pre(tokens >= 2 * length && tokens > length + 1)
          const folder = temporaryFolder()
          documents.forEach((document, i) => {
            writeNanogpt(folder, `f${i}.bin`, [document])
          })
          const cut = seed === undefined ? { phase: 0 as const } : { seed }
          const json: TokensJson = { path: 'f*.bin', dtype: 'u16', length, tail, ...cut }
          const { source, ...reader } = await openRows(folder, json).then(opened => ({
            source: opened.source,
            rows: (epoch: number) => opened.rows(['input', 'target'], epoch),
          }))
          const dropped =
            seed === undefined ? Math.floor((tokens - 1) / length) : Math.floor(tokens / length) - 1
          const count = tail === 'pad' ? Math.ceil((tokens - 1) / length) : dropped
          expect(source.count).toBe(count)
          for (const epoch of [0, 1, 5]) {
            const phase = seed === undefined ? 0 : phaseOf(seed, epoch, length)
            expect(reader.rows(epoch)).toEqual(oracle(stream, length, phase, count))
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })

  test('whose cuts move from epoch to epoch, by the seed', () => {
    const phases = (seed: number) => Array.from({ length: 50 }, (_, epoch) => phaseOf(seed, epoch, 1000))
    expect(new Set(phases(7)).size).toBeGreaterThan(40)
    expect(phases(7)).not.toEqual(phases(8))
    expect(Math.max(...phases(7))).toBeLessThan(1000)
  })

  test('for a model that shifts itself: labels are the tokens', async () => {
    const folder = temporaryFolder()
    const [stream] = documentsOf([23])
    writeMegatron(folder, 'a', [stream])
    const json: TokensJson = { path: 'a', length: 5, shift: 'model', phase: 0 }
    const reader = await openRows(folder, json, ['tokens', 'labels'])
    expect(reader.source.columns).toContain('labels')
    expect(reader.source.columns).not.toContain('target')
    const rows = reader.rows(['tokens', 'labels'])
    expect(rows.map(({ tokens }) => tokens)).toEqual([0, 5, 10, 15].map(at => stream.slice(at, at + 5)))
    expect(rows.map(({ labels }) => labels)).toEqual(rows.map(({ tokens }) => tokens))
  })

  test('filled up with the token that ends documents', async () => {
    const folder = temporaryFolder()
    writeNanogpt(folder, 'a.bin', documentsOf([8]))
    const json: TokensJson = { path: 'a.bin', dtype: 'u16', length: 5, phase: 0, tail: 'pad', eod: 9 }
    const [, last] = (await openRows(folder, json)).rows(['input', 'target', 'lossMask'])
    expect(last).toEqual({
      input: [6, 7, 9, 9, 9],
      target: [7, 8, -100, -100, -100],
      lossMask: [1, 1, 0, 0, 0],
    })
  })
})

describe('what is told', () => {
  test('the tokens that are no target, and how to take the tail in', async () => {
    const folder = temporaryFolder()
    writeNanogpt(folder, 'a.bin', documentsOf([23]))
    const open = (more: Partial<TokensJson>) =>
      openRows(folder, { path: 'a.bin', dtype: 'u16', length: 5, ...more })
    expect((await open({ phase: 0 })).notices.join()).toMatch(
      /4 rows of 5; 3 of 23 tokens are no target.*"pad"/,
    )
    expect((await open({})).notices.join()).toMatch(/3 rows of 5; 8 of 23 tokens/)
    expect((await open({ phase: 0, tail: 'pad' })).notices).toEqual([])
  })

  test('that there are too few tokens for a row', async () => {
    const folder = temporaryFolder()
    writeNanogpt(folder, 'a.bin', documentsOf([9]))
    const open = (more: Partial<TokensJson>) =>
      openRows(folder, { path: 'a.bin', dtype: 'u16', length: 5, ...more })
    await expect(open({})).rejects.toThrow(/9 tokens are too few for a row of 5: there must be 10 at least/)
    expect((await open({ phase: 0 })).source.count).toBe(1)
  })

  test('that files of one source have tokens of one type', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([20]))
    writeMegatron(folder, 'b', documentsOf([20]), 'i32')
    await expect(openRows(folder, { path: ['a', 'b'], length: 5 })).rejects.toThrow(
      /b\.bin has tokens of type i32, and .*a\.bin of type u16/,
    )
  })

  test('which token is beyond the vocabulary', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'a.bin'), new Uint8Array(Uint16Array.of(1, 2, 3, 4, 500, 6, 7).buffer))
    const reader = await openRows(folder, {
      path: 'a.bin',
      dtype: 'u16',
      length: 3,
      phase: 0,
      vocabulary: 500,
    })
    expect(() => reader.row(1, ['input'])).toThrow(
      /token 4 of .*a\.bin \(document 0, offset 4\) is 500, .* 500 tokens/,
    )
    expect(reader.row(0, ['input'])).toEqual({ input: [1, 2, 3] })
  })
})
