import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SourceError } from '../../basics/errors.js'
import type { SourceJson } from '../../define/types.js'
import { hashKey, place } from '../../source/index/key-hash.js'
import { attachSource, openSource, openSources } from '../../source/registry.js'
import type { Source } from '../../source/source.js'

const context = { root: '/', wanted: ['jpg', 'cls', 'data'] }
const images = (count: number, classes = 10): SourceJson => ({
  synthetic: { count, images: { width: 8, height: 8, classes } },
})
const tensors = (count: number): SourceJson => ({ synthetic: { count, tensors: { shape: [2] } } })

async function open(json: SourceJson): Promise<Source> {
  return attachSource(structuredClone(await openSource(json, context)))
}

async function failure(json: SourceJson): Promise<string> {
  const error = await open(json).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}

const keys = (source: Source): string[] => Array.from({ length: source.count }, (_, row) => source.key(row))

describe('split', () => {
  const part = (count: number, take: string, more = {}): SourceJson => ({
    split: { source: images(count), parts: { train: 0.8, val: 0.1, test: 0.1 }, take, ...more },
  })

  it('gives every sample to one part, in about the asked proportions', async () => {
    const parts = await Promise.all(
      ['train', 'val', 'test'].map(async take => keys(await open(part(5000, take)))),
    )
    expect(parts.flat().sort()).toEqual(keys(await open(images(5000))).sort())
    expect(parts[0].length).toBeGreaterThan(3880) // 4000 ± 4.2 σ
    expect(parts[0].length).toBeLessThan(4120)
  })

  it('never moves a sample when data are added', async () => {
    const [few, many] = [keys(await open(part(500, 'val'))), new Set(keys(await open(part(5000, 'val'))))]
    expect(few.every(key => many.has(key))).toBe(true)
    expect([...many].filter(key => Number(key) < 500)).toHaveLength(few.length)
  })

  it('depends on the seed, not on the order in which parts are written', async () => {
    const val = keys(await open(part(1000, 'val')))
    expect(keys(await open(part(1000, 'val', { seed: 1 })))).not.toEqual(val)
    expect(keys(await open(part(1000, 'val', { parts: { val: 0.1, test: 0.1, train: 0.8 } })))).toEqual(val)
  })

  it('makes folds and their complements', async () => {
    const fold = (take: number | { not: number }): SourceJson => ({
      split: { source: images(1000), folds: 4, take },
    })
    const folds = await Promise.all([0, 1, 2, 3].map(async k => keys(await open(fold(k)))))
    expect(folds.flat().sort()).toEqual(keys(await open(images(1000))).sort())
    const rest = keys(await open(fold({ not: 2 })))
    expect([...rest, ...folds[2]].sort()).toEqual(folds.flat().sort())
    expect(await failure(fold(4))).toContain('no fold 4')
  })

  it('of few samples may leave a part empty, and says what to do', async () => {
    const said = await Promise.all(['train', 'val', 'test'].map(take => open(part(1, take)).catch(String)))
    expect(said.filter(text => String(text).includes('take another "seed"'))).toHaveLength(2)
  })

  it('of a split needs another seed, or its folds would be unequal', async () => {
    const folds = (seed: number, take: number): SourceJson => ({
      split: { source: { subset: { source: part(2000, 'train'), range: [0, 1000] } }, folds: 5, take, seed },
    })
    expect(await failure(folds(0, 1))).toMatch(/part of another split by the same hash.*"seed": 1/)
    for (const take of [0, 4]) {
      const { count } = await open(folds(1, take))
      expect(Math.abs(count - 200)).toBeLessThan(50)
    }
  })

  it('keeps groups whole', async () => {
    const source = await open(part(3000, 'train', { groupBy: 'cls', source: images(3000, 300) }))
    const groups = new Set(Array.from({ length: source.count }, (_, row) => source.index('cls')?.at(row)))
    expect(source.count).toBe(groups.size * 10)
    expect(groups.size).toBeGreaterThan(200)
  })

  it('says what is wrong', async () => {
    expect(await failure(part(10, 'trian'))).toContain('did you mean "train"')
    expect(await failure(part(10, 'val', { groupBy: 'clss' }))).toContain('did you mean "cls"')
  })
})

describe('key hash', () => {
  it('is fixed for ever', () => {
    expect(['', 'a', 'b', 'n01440764_10026', 'é'].map(hashKey)).toMatchInlineSnapshot(`
      [
        3597697583243193,
        8134150987967051,
        4559962356762599,
        844535147006940,
        5803048768269407,
      ]
    `)
    expect([place(hashKey('a'), 0), place(hashKey('a'), 1)]).toMatchInlineSnapshot(`
      [
        0.1656299300258508,
        0.4541507832044611,
      ]
    `)
  })

  it('spreads like keys evenly', () => {
    const n = 20_000
    const buckets = new Uint32Array(50)
    const seen = new Set<number>()
    for (let i = 0; i < n; i++) {
      const hash = hashKey(`image_${i}`)
      seen.add(hash)
      buckets[Math.floor(place(hash, 7) * 50)]++
    }
    expect(seen.size).toBe(n)
    const chi = buckets.reduce((sum, count) => sum + (count - n / 50) ** 2 / (n / 50), 0)
    expect(chi).toBeLessThan(110) // 49 degrees of freedom: p ≈ 1e-6
  })

  it('stays within 53 bits and [0, 1)', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (text, seed) => {
        const hash = hashKey(text)
        expect(Number.isSafeInteger(hash) && hash >= 0).toBe(true)
        const at = place(hash, seed)
        expect(at >= 0 && at < 1).toBe(true)
      }),
    )
  })
})

describe('subset', () => {
  const where = (conditions: object): SourceJson => ({
    subset: { source: images(20), where: conditions as never },
  })

  it('takes rows by conditions', async () => {
    expect(keys(await open(where({ cls: 3 })))).toEqual(['3', '13'])
    expect(keys(await open(where({ cls: [3, 4] })))).toEqual(['3', '4', '13', '14'])
    expect(keys(await open(where({ cls: { '>': 1, '<=': 3 } })))).toEqual(['2', '3', '12', '13'])
    expect(keys(await open(where({ cls: { '!=': 0, '<': 2 } })))).toEqual(['1', '11'])
    expect(keys(await open({ subset: { source: where({ cls: { '>=': 8 } }), range: [1, 3] } }))).toEqual([
      '9',
      '18',
    ])
  })

  it('says what is wrong', async () => {
    expect(await failure(where({ class: 3 }))).toContain('did you mean "cls"')
    expect(await failure(where({ jpg: 3 }))).toContain('too large for the index')
    expect(await failure(where({ cls: '3' }))).toContain("can't be compared")
    expect(await failure(where({ cls: 99 }))).toContain('selects none of 20')
    expect(await failure({ subset: { source: images(5), range: [0, 6] } })).toContain('[0, 6)')
    expect(await failure({ subset: { source: images(5), indices: [5] } })).toContain('index 5')
    expect(await failure({ subset: { source: images(5), indices: [1, 1] } })).toContain('twice')
  })

  it('begins a new run where rows step back', async () => {
    const source = await open({ subset: { source: images(20), indices: [5, 6, 9, 2, 3, 1] } })
    expect([...source.runs]).toEqual([0, 3, 5])
    const joined = await open({ subset: { source: { concat: [images(5), images(5)] }, range: [3, 8] } })
    expect([...joined.runs]).toEqual([0, 2])
  })
})

describe('concat and zip', () => {
  it('concat tells equal ids apart and joins index columns', async () => {
    const source = await open({ concat: [images(2), images(3, 2)] })
    expect(Array.from({ length: 5 }, (_, row) => source.id(row))).toEqual(['0/0', '0/1', '1/0', '1/1', '1/2'])
    expect(source.index('cls')?.at(4)).toBe(0)
    expect((await open({ concat: [images(2), tensors(2)] })).index('cls')).toBeUndefined()
  })

  it('zip joins columns; unequal counts and ambiguous columns are errors', async () => {
    const source = await open({ zip: [images(3), tensors(3)] })
    expect(Object.keys(source.sample(1, 0, ['cls', 'data'], { ranges: [], units: [] }))).toEqual([
      'cls',
      'data',
    ])
    expect(await failure({ zip: [images(3), tensors(4)] })).toContain('3, 4 samples')
    expect(await failure({ zip: [images(3), images(3)] })).toContain('column "jpg"')
  })
})

describe('blend', () => {
  it('opens every entry, with its name as a column and in ids, and renames columns', async () => {
    const { sources, blend, fingerprint } = await openSources(
      {
        blend: {
          entries: [
            { source: images(3), weight: 2, name: 'pictures', rename: { cls: 'label' } },
            { source: tensors(5), weight: 1 },
          ],
          epoch: 100,
        },
      },
      context,
    )
    expect(blend).toEqual({
      entries: [
        { name: 'pictures', weight: 2 },
        { name: '1', weight: 1 },
      ],
      per: 'sample',
      epoch: 100,
    })
    expect(fingerprint.count).toBe(8)
    const [a, b] = sources.map(({ manifest }) => attachSource(structuredClone(manifest)))
    expect(a.id(2)).toBe('pictures/2')
    expect(a.sample(2, 0, ['label', 'source', 'cls'], { ranges: [], units: [] })).toEqual({
      label: 2,
      source: 'pictures',
    })
    expect(a.index('label')?.at(1)).toBe(1)
    expect(a.index('cls')).toBeUndefined()
    expect([a.columns, a.indexed]).toEqual([
      ['jpg', 'label', 'source'],
      ['label', 'source'],
    ])
    expect(b.index('source')?.at(0)).toBe('1')
  })

  it('can only stand outside, and renames only what is there', async () => {
    const blend = (rename: Record<string, string>): SourceJson => ({
      blend: { entries: [{ source: images(2), weight: 1, rename }] },
    })
    expect(await failure({ concat: [blend({})] })).toContain('outermost')
    await expect(openSources(blend({ clz: 'x' }), context)).rejects.toThrow('did you mean "cls"')
  })
})

it('an unknown source has a nearest name', async () => {
  expect(await failure({ fodler: 'x' } as never)).toContain('did you mean "folder"')
})
