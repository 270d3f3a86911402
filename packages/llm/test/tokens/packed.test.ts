/** Rows of whole documents: every token but a document's first is a target once, and columns tell where documents are. */
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FeedJson, using } from '../../../../test/support/engine.js'
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

process.env.MILLRACE_CACHE = temporaryFolder()

const PAD = 60_000
const LONG = ['split', 'truncate', 'drop'] as const
const ALL = ['input', 'target', 'positionIds', 'segments', 'lossMask', 'cuSeqlens', 'cuCount', 'cuLongest']

/** Documents in several files, by lengths; each token is there once. */
function written(
  lengths: readonly (readonly number[])[],
  first = 1,
): { folder: string; documents: number[][] } {
  const folder = temporaryFolder()
  let next = first
  const documents = lengths.flatMap((some, i) => {
    const here = documentsOf(some, next)
    next += here.flat().length
    writeMegatron(folder, `f${i}`, here)
    return here
  })
  return { folder, documents }
}

/** What the columns of a row are, from its inputs alone: each token tells its document, and tokens of one follow each other. */
function oracle({ input, target }: RowValues, documents: readonly number[][], capacity: number): RowValues {
  const length = input.length
  const documentOf = (token: number): number => documents.findIndex(document => document.includes(token))
  const starts: number[] = []
  const segments: number[] = []
  const positionIds: number[] = []
  let filled = length
  while (filled > 0 && input[filled - 1] === PAD) filled--
  for (let place = 0; place < length; place++) {
    const begins =
      place === 0 ||
      place === filled ||
      (place < filled &&
        (input[place] !== input[place - 1] + 1 || documentOf(input[place]) !== documentOf(input[place - 1])))
    if (begins) starts.push(place)
    segments.push(place < filled ? starts.length : 0)
    positionIds.push(place - starts[starts.length - 1])
  }
  const lengths = starts.map((start, i) => (starts[i + 1] ?? length) - start)
  return {
    input,
    target,
    positionIds,
    segments,
    lossMask: target.map(token => (token === -100 ? 0 : 1)),
    cuSeqlens: [...starts, ...Array<number>(capacity).fill(length)].slice(0, capacity),
    cuCount: [starts.length],
    cuLongest: [Math.max(...lengths)],
  }
}

const someLengths = fc.array(fc.array(fc.oneof(fc.nat(9), fc.nat(60)), { maxLength: 12 }), {
  minLength: 1,
  maxLength: 3,
})

describe('best fit', () => {
  test('has every token but the first of its document as a target, once, and columns that fit', async () => {
    await fc.assert(
      fc.asyncProperty(
        someLengths,
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...LONG),
        async (lengths, length, long) => {
          const { folder, documents } = written(lengths)
          const kept = documents.map(document =>
            document.length <= length + 1 || long === 'split'
              ? document
              : long === 'truncate'
                ? document.slice(0, length + 1)
                : [],
          )
          const wanted = kept.flatMap(document => document.slice(1))
          fc.pre(wanted.length > 0)
          const json: TokensJson = { path: 'f*.bin', length, pack: 'bestFit', long, eod: PAD }
          const reader = await openRows(folder, json, ALL)
          const rows = reader.rows(ALL)
          const targets = rows.flatMap(({ target }) => target.filter(token => token !== -100))
          expect(targets.sort((a, b) => a - b)).toEqual(wanted)
          for (const row of rows) {
            expect(row).toEqual(oracle(row, documents, length))
            row.target.forEach((token, place) => {
              if (token !== -100) expect(row.input[place]).toBe(token - 1)
            })
          }
          const padding = rows.length * length - wanted.length
          const share = (100 * padding) / (rows.length * length)
          const reported = /([\d.e-]+) % of their places are padding/.exec(reader.notices.join())
          expect(Number(reported?.[1])).toBeCloseTo(Number(share.toPrecision(2)), 5)
          expect(reader.source.id(0)).toBe(
            `${reader.source.where?.(0)?.file.match(/f0|f1|f2/) ? 'f0' : ''}#0`,
          )
        },
      ),
      { numRuns: runs(30) },
    )
  })

  test('for a model that shifts itself: tokens once, and no label where a document begins', async () => {
    const { folder, documents } = written([[7, 3, 0, 12, 1]])
    const json: TokensJson = { path: 'f0', length: 5, pack: 'bestFit', shift: 'model', eod: PAD }
    const rows = (await openRows(folder, json, ['tokens', 'labels'])).rows([
      'tokens',
      'labels',
      'positionIds',
    ])
    const tokens = rows.flatMap(row => row.tokens.filter(token => token !== PAD))
    expect(tokens.sort((a, b) => a - b)).toEqual(documents.flat())
    for (const row of rows)
      expect(row.labels).toEqual(
        row.tokens.map((token, i) => (token === PAD || row.positionIds[i] === 0 ? -100 : token)),
      )
  })

  test.each(['megatron', 'nanogpt'] as const)(
    'follows files that are replaced by others of the same size and time of change: %s',
    async format => {
      const folder = temporaryFolder()
      const json: TokensJson = { path: 'f.bin', length: 8, pack: 'bestFit', eod: PAD, format }
      const rowsOf = async (lengths: number[]): Promise<RowValues[]> => {
        const documents = documentsOf(lengths).map(document => [...document, PAD])
        if (format === 'megatron') writeMegatron(folder, 'f', documents)
        else writeNanogpt(folder, 'f.bin', documents)
        for (const name of readdirSync(folder))
          if (!name.startsWith('.')) utimesSync(join(folder, name), 1e9, 1e9)
        return (await openRows(folder, json, ['input', 'segments'])).rows(['input', 'segments'])
      }
      const first = await rowsOf([7, 2, 5, 3])
      expect(await rowsOf([3, 5, 2, 7])).not.toEqual(first)
      expect(await rowsOf([7, 2, 5, 3])).toEqual(first)
    },
  )

  test("by Hugging Face's names, with the lengths of documents", async () => {
    const { folder } = written([[3, 2]])
    const json: TokensJson = { path: 'f0', length: 8, pack: 'bestFit', naming: 'hf', capacity: 4, eod: 9 }
    const columns = ['input_ids', 'labels', 'position_ids', 'seq_lens']
    expect((await openRows(folder, json, columns)).rows(columns)).toEqual([
      {
        input_ids: [4, 5, 1, 2, 3, 9, 9, 9],
        labels: [-100, 5, -100, 2, 3, -100, -100, -100],
        position_ids: [0, 1, 0, 1, 2, 0, 1, 2],
        seq_lens: [2, 3, 0, 0],
      },
    ])
  })

  test("with Megatron-LM's borders: each row for itself, padding in the last segment", async () => {
    const { folder } = written([[3, 4]])
    const json: TokensJson = { path: 'f0', length: 8, pack: 'bestFit', varlen: 'megatron' }
    const [row] = (await openRows(folder, json, ['cuSeqlens'])).rows([
      'cuSeqlens',
      'cuCount',
      'cuLongest',
      'segments',
    ])
    expect(row).toEqual({
      cuSeqlens: [0, 2, 8, 8, 8, 8, 8, 8, 8],
      cuCount: [2],
      cuLongest: [6],
      segments: [1, 1, 2, 2, 2, 2, 2, 2],
    })
  })

  test('puts tokens before and behind documents, whole or in pieces', async () => {
    const BOS = 50_000
    const EOD = 50_001
    for (const insert of [{ bos: BOS }, { eod: EOD }, { bos: BOS, eod: EOD }]) {
      for (const shift of ['here', 'model'] as const) {
        const { folder, documents } = written([
          [1, 3, 0, 4, 5, 17, 8],
          [9, 13],
        ])
        const json: TokensJson = { path: 'f*.bin', length: 4, pack: 'bestFit', insert, shift, eod: PAD }
        const names = shift === 'here' ? ['input', 'target'] : ['tokens', 'labels']
        const rows = (await openRows(folder, json, names)).rows([...names, 'segments'])
        const full = documents
          .filter(document => document.length > 0)
          .map(document => [
            ...(insert.bos === undefined ? [] : [insert.bos]),
            ...document,
            ...(insert.eod === undefined ? [] : [insert.eod]),
          ])
        const text = (tokens: readonly number[]): string => tokens.join(' ')
        // Pieces of documents, as they should be …
        const extra = shift === 'here' ? 1 : 0
        const wanted = full.flatMap(document => {
          const pieces: number[][] = []
          for (let from = 0; from < document.length - extra; from += 4)
            pieces.push(document.slice(from, from + 4 + extra))
          return pieces
        })
        // … and as they stand in rows.
        const found = rows.flatMap(row => {
          const pieces: number[][] = []
          row.segments.forEach((segment, place) => {
            if (segment === 0) return
            pieces[segment - 1] ??= shift === 'here' ? [row.input[place]] : []
            pieces[segment - 1].push(shift === 'here' ? row.target[place] : row.tokens[place])
          })
          return pieces
        })
        expect(found.map(text).sort()).toEqual(wanted.map(text).sort())
      }
    }
  })

  test('is packed once, and again when files or rules are others', async () => {
    const { folder } = written([[7, 3, 0, 12, 1]])
    const json: TokensJson = { path: 'f0', length: 5, pack: 'bestFit' }
    const indexes = (): string[] => readdirSync(folder).filter(name => name.endsWith('.millrace'))
    const packed: string[] = []
    const progress = (_done: number, _total: number, what: string): void => void packed.push(what)
    const open = (more: Partial<TokensJson> = {}) =>
      openRows(folder, { ...json, ...more }, ['input'], { progress })
    const first = await open()
    expect(indexes()).toHaveLength(1)
    expect(packed).toContain('packing documents')
    packed.length = 0
    expect((await open()).rows(['input'])).toEqual(first.rows(['input']))
    expect(packed).toEqual([])
    await open({ long: 'drop' })
    expect(indexes()).toHaveLength(2)
    writeMegatron(folder, 'f0', documentsOf([7, 4, 0, 11, 1]))
    await open()
    expect(packed).toContain('packing documents')
  })

  test('says when there is no room for the borders of a row', async () => {
    const { folder } = written([[2, 2, 2, 2]])
    const json: TokensJson = { path: 'f0', length: 8, pack: 'bestFit', capacity: 3 }
    await expect(openRows(folder, json)).rejects.toThrow(
      /"capacity" is 3, and a row has up to 5 segments: raise it to 5/,
    )
    const exact = { ...json, capacity: 5 }
    await expect(openRows(folder, exact, ['seqLens'])).resolves.toBeDefined()
    // One batch of such rows only would have no place for its end.
    await expect(openRows(folder, exact, ['cuSeqlens'])).rejects.toThrow(/raise it to 6/)
    await expect(openRows(folder, { ...json, capacity: 6 }, ['cuSeqlens'])).resolves.toBeDefined()
  })

  test('has room for a batch whose places are all documents', async () => {
    const { folder } = written([Array<number>(16).fill(2)])
    const source = { tokens: { path: join(folder, 'f0'), length: 8, pack: 'bestFit', capacity: 9 } } as const
    const feed = { source, fields: ['cuSeqlens'], batch: { size: 2, last: 'keep' } } as unknown as FeedJson
    await using(feed, { workers: 1 }, async loader => {
      for await (const batch of loader)
        expect([...(batch.cuSeqlens as Int32Array)]).toEqual([...Array(17).keys(), 16])
    })
  })
})

describe('a document a row', () => {
  test('padded, with long ones cut, truncated or left out', async () => {
    const { folder } = written([[3, 0, 1, 8]])
    const open = async (long: TokensJson['long']) => {
      const json: TokensJson = { path: 'f0', length: 4, pack: 'document', long, eod: 9 }
      const reader = await openRows(folder, json)
      return {
        rows: reader.rows(['input', 'target']),
        ids: reader.rows([]).map((_, row) => reader.source.id(row)),
      }
    }
    const short = { input: [1, 2, 9, 9], target: [2, 3, -100, -100] }
    const long = { input: [5, 6, 7, 8], target: [6, 7, 8, 9] }
    const rest = { input: [9, 10, 11, 9], target: [10, 11, 12, -100] }
    expect(await open('split')).toEqual({ rows: [short, long, rest], ids: ['f0:0+0', 'f0:3+0', 'f0:3+4'] })
    expect((await open('truncate')).rows).toEqual([short, long])
    expect((await open('drop')).rows).toEqual([short])
  })

  test('ragged, each as long as it is', async () => {
    const { folder } = written([[3, 6, 2]])
    const json: TokensJson = { path: 'f0', length: 8, pack: 'document', ragged: true }
    expect((await openRows(folder, json)).rows(['input', 'target', 'positionIds'])).toEqual([
      { input: [1, 2], target: [2, 3], positionIds: [0, 1] },
      { input: [4, 5, 6, 7, 8], target: [5, 6, 7, 8, 9], positionIds: [0, 1, 2, 3, 4] },
      { input: [10], target: [11], positionIds: [0] },
    ])
  })
})

describe('documents of a stream', () => {
  test('are told by columns, from an index or from the token that ends them', async () => {
    const lengths = [3, 4, 0, 1, 6, 2, 9]
    const documents = documentsOf(lengths)
    const EOD = 777
    const marked = documents.map(document => [
      ...document.slice(0, -1),
      ...(document.length > 0 ? [EOD] : []),
    ])
    const folder = temporaryFolder()
    writeMegatron(folder, 'm', documents)
    writeNanogpt(folder, 'n.bin', marked)
    const json: TokensJson = { path: 'm', length: 5, phase: 0, tail: 'pad', eod: PAD }
    const rows = (await openRows(folder, json, ALL)).rows(ALL)
    for (const row of rows) expect(row).toEqual(oracle(row, documents, 5))
    const other: TokensJson = { ...json, path: 'n.bin', dtype: 'u16', eod: EOD }
    const reported = ['positionIds', 'segments', 'cuSeqlens', 'cuCount', 'cuLongest']
    const only = (row: RowValues): RowValues => Object.fromEntries(reported.map(name => [name, row[name]]))
    expect((await openRows(folder, other, reported)).rows(reported)).toEqual(rows.map(only))
  })

  test('must be known for such columns', async () => {
    const folder = temporaryFolder()
    writeNanogpt(folder, 'n.bin', documentsOf([30]))
    const json: TokensJson = { path: 'n.bin', dtype: 'u16', length: 5 }
    await expect(openRows(folder, json, ['segments'])).rejects.toThrow(/n\.bin.*"eod"/)
    expect((await openRows(folder, json, ['input', 'lossMask'])).source.count).toBe(5)
  })
})

describe('parts of the documents', () => {
  const lengths = [
    Array.from({ length: 41 }, (_, i) => 3 + (i % 7)),
    Array.from({ length: 23 }, (_, i) => 2 + (i % 5)),
  ]

  test.each(['megatron', 'hash'] as const)(
    'by %s: each document in one of them, whatever the packing',
    async by => {
      const { folder, documents } = written(lengths)
      for (const pack of ['concat', 'bestFit', 'document'] as const) {
        const cut = pack === 'concat' ? { phase: 0 as const, tail: 'pad' as const } : {}
        const seen: number[][] = []
        for (const take of [0, 1, 2]) {
          const json: TokensJson = {
            path: 'f*.bin',
            length: 6,
            pack,
            ...cut,
            documents: { split: [7, 2, 1], take, by },
          }
          const rows = (await openRows(folder, json)).rows(['target'])
          seen.push(rows.flatMap(({ target }) => target.filter(token => token !== -100)))
        }
        const all = seen.flat()
        expect(new Set(all).size).toBe(all.length)
        const parts = documents.map(document =>
          seen.findIndex(tokens => tokens.includes(document[document.length - 1])),
        )
        // Megatron-LM rounds for each file: 41 · 0.7 = 28.7, 41 · 0.9 = 36.9; 23 · 0.7 = 16.1, 23 · 0.9 = 20.7.
        if (by === 'megatron') {
          const plain = [29, 37, 41].map((end, i, ends) => Array(end - (ends[i - 1] ?? 0)).fill(i))
          const second = [16, 21, 23].map((end, i, ends) => Array(end - (ends[i - 1] ?? 0)).fill(i))
          expect(parts).toEqual([...plain, ...second].flat())
        } else expect(new Set(parts)).toEqual(new Set([0, 1, 2]))
        documents.forEach((document, i) => {
          const begin = pack === 'concat' ? document.slice(1) : document.slice(1)
          for (const token of begin) expect(seen[parts[i]]).toContain(token)
        })
      }
    },
  )

  test('that have no document are refused', async () => {
    const { folder } = written([[5, 5, 5]])
    const json: TokensJson = { path: 'f0', length: 2, documents: { split: [999, 1], take: 1 } }
    await expect(openRows(folder, json)).rejects.toThrow(/share 1 of \[999, 1\] has none of the 3 documents/)
  })
})

describe('a mask beside the tokens', () => {
  test('takes targets away', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([6, 4]))
    writeFileSync(join(folder, 'a.mask'), Uint8Array.of(0, 0, 1, 1, 0, 1, 0, 1, 1, 1))
    const columns = ['input', 'target', 'lossMask']
    const json: TokensJson = { path: 'a', length: 9, pack: 'bestFit', mask: 'a.mask', eod: 99 }
    expect((await openRows(folder, json)).rows(columns)).toEqual([
      {
        input: [7, 8, 9, 1, 2, 3, 4, 5, 99],
        target: [8, 9, 10, -100, 3, 4, -100, 6, -100],
        lossMask: [1, 1, 1, 0, 1, 1, 0, 1, 0],
      },
    ])
    const stream: TokensJson = { path: 'a', length: 4, phase: 0, mask: 'a.mask', shift: 'model' }
    expect((await openRows(folder, stream)).rows(['tokens', 'labels'])).toEqual([
      { tokens: [1, 2, 3, 4], labels: [-100, -100, 3, 4] },
      { tokens: [5, 6, 7, 8], labels: [-100, 6, -100, 8] },
    ])
  })

  test('has one byte a token', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([6, 4]))
    writeFileSync(join(folder, 'a.mask'), new Uint8Array(9))
    await expect(openRows(folder, { path: 'a', length: 3, mask: 'a.mask' })).rejects.toThrow(
      /a\.mask has 9 bytes, and .*a\.bin 10 tokens/,
    )
    await expect(openRows(folder, { path: 'a', length: 3, mask: ['a.mask', 'a.mask'] })).rejects.toThrow(
      /"mask" names 2 files, and "path" 1/,
    )
  })
})
