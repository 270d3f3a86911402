/** `split` with `stratifyBy`: exact in every class, still by hash, and steady when data are added. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SourceError } from '../../basics/errors.js'
import type { SplitJson } from '../../define/types.js'
import { split } from '../../source/combine/split.js'
import type { Source } from '../../source/source.js'

interface Row {
  key: string
  label: number
  group?: string
}

/** The keys of a part, by the split itself over rows that are made up. */
async function part(rows: readonly Row[], json: Omit<SplitJson, 'source'>): Promise<string[]> {
  const columns: Record<string, (row: Row) => number | string> = {
    label: row => row.label,
    group: row => row.group ?? '',
  }
  const source = {
    count: rows.length,
    columns: [],
    runs: new Float64Array(1),
    indexed: Object.keys(columns),
    key: (row: number) => rows[row].key,
    index: (name: string) =>
      columns[name] && { type: typeof columns[name](rows[0]), at: (row: number) => columns[name](rows[row]) },
  } as unknown as Source
  const child = {
    kind: 'made up',
    fingerprint: { kind: '', count: rows.length, digest: '' },
    indexBytes: 0,
  }
  const nesting = { open: async () => child, attach: () => source }
  try {
    const manifest = await split.open({ source: { tar: 'x' }, ...json }, { root: '/', wanted: [] }, nesting)
    const { selection } = manifest as unknown as { selection: { rows: Uint32Array } }
    return [...selection.rows].map(row => rows[row].key)
  } catch (error) {
    if (error instanceof SourceError && error.message.includes('selects none')) return []
    throw error
  }
}

const rowsOf = (sizes: readonly number[], salt = 0): Row[] =>
  sizes.flatMap((size, label) =>
    Array.from({ length: size }, (_, i) => ({ key: `${salt}/${label}/${i}`, label })),
  )

const countIn = (keys: readonly string[], label: number) =>
  keys.filter(key => key.split('/')[1] === String(label)).length

describe('stratifyBy', () => {
  it('gives every part the whole number below or above its ideal, in every class', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        fc.nat(),
        async (sizes, shares, seed) => {
          fc.pre(sizes.some(size => size > 0))
          const total = shares.reduce((a, b) => a + b, 0)
          const parts = Object.fromEntries(shares.map((share, i) => [`p${i}`, share / total]))
          const rows = rowsOf(sizes, seed)
          const taken: string[] = []
          for (const [take, fraction] of Object.entries(parts)) {
            const keys = await part(rows, { parts, take, stratifyBy: 'label', seed })
            sizes.forEach((size, label) => {
              expect(Math.abs(countIn(keys, label) - fraction * size)).toBeLessThan(1)
            })
            taken.push(...keys)
          }
          expect(taken.sort()).toEqual(rows.map(row => row.key).sort())
        },
      ),
    )
  })

  it('of a class of 33 takes 6 or 7 at 0.2, whatever the seed', async () => {
    for (let seed = 0; seed < 50; seed++) {
      const keys = await part(rowsOf([33, 1000]), {
        parts: { train: 0.8, val: 0.2 },
        take: 'val',
        stratifyBy: 'label',
        seed,
      })
      expect([6, 7]).toContain(countIn(keys, 0))
      expect(countIn(keys, 1)).toBe(200)
    }
  })

  it('leaves small classes their share on the whole', async () => {
    const sizes = Array.from({ length: 1000 }, () => 4)
    const keys = await part(rowsOf(sizes), { parts: { a: 0.9, b: 0.1 }, take: 'b', stratifyBy: 'label' })
    expect(Math.abs(keys.length - 400)).toBeLessThan(80) // σ = √(1000 · 0.4 · 0.6) ≈ 15.5
  })

  it('moves at most one sample across each cut when one is added, and none of other classes', async () => {
    const parts = { a: 0.3, b: 0.3, c: 0.4 }
    const all = async (rows: readonly Row[], seed: number) => {
      const where = new Map<string, string>()
      for (const take of Object.keys(parts)) {
        for (const key of await part(rows, { parts, take, stratifyBy: 'label', seed })) where.set(key, take)
      }
      return where
    }
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 40 }), fc.string(), fc.nat(), async (size, name, seed) => {
        const rows = rowsOf([size, 17], seed)
        const before = await all(rows, seed)
        const after = await all([...rows, { key: `new ${name}`, label: 0 }], seed)
        const moved = [...before].filter(([key, take]) => after.get(key) !== take).map(([key]) => key)
        expect(moved.length).toBeLessThanOrEqual(2)
        expect(countIn(moved, 1)).toBe(0)
      }),
    )
  })

  it('does not depend on the order of rows', async () => {
    const rows = rowsOf([30, 20])
    const json = { parts: { a: 0.5, b: 0.5 }, take: 'a', stratifyBy: 'label' }
    expect((await part([...rows].reverse(), json)).sort()).toEqual((await part(rows, json)).sort())
  })

  it('keeps samples of one key together', async () => {
    const rows = [...rowsOf([30]), ...rowsOf([30])]
    const keys = await part(rows, { parts: { a: 0.5, b: 0.5 }, take: 'a', stratifyBy: 'label' })
    expect(keys.length).toBe(2 * new Set(keys).size)
    expect([30, 32]).toContain(keys.length)
  })

  it('makes folds that differ by one in a class, and their complements', async () => {
    const rows = rowsOf([23, 41])
    const folds = await Promise.all(
      [0, 1, 2, 3].map(take => part(rows, { folds: 4, take, stratifyBy: 'label' })),
    )
    for (const fold of folds) {
      expect([5, 6]).toContain(countIn(fold, 0))
      expect([10, 11]).toContain(countIn(fold, 1))
    }
    expect(folds.flat().sort()).toEqual(rows.map(row => row.key).sort())
    const rest = await part(rows, { folds: 4, take: { not: 1 }, stratifyBy: 'label' })
    expect([...rest, ...folds[1]].sort()).toEqual(folds.flat().sort())
  })

  it('with groupBy divides whole groups, and refuses one of two strata', async () => {
    const rows = Array.from({ length: 200 }, (_, i) => ({
      key: `0/${Math.floor(i / 4) % 2}/${i}`,
      label: Math.floor(i / 4) % 2,
      group: `g${Math.floor(i / 4)}`,
    }))
    const json = { parts: { a: 0.8, b: 0.2 }, take: 'b', stratifyBy: 'label', groupBy: 'group' }
    const keys = await part(rows, json)
    expect([countIn(keys, 0), countIn(keys, 1)]).toEqual([20, 20]) // a fifth of 25 groups of 4
    const groups = new Set(keys.map(key => rows.find(row => row.key === key)?.group))
    expect(groups.size).toBe(10)
    rows[1].label = 1
    await expect(part(rows, json)).rejects.toThrow(/group "g0".*"label" 0 and 1/)
  })
})
