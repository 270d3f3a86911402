/** HDF5 files as sources: which datasets are samples, what is read of them, and what is refused. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { isTiled } from '../../../core/basics/array.js'
import { plainArray } from '../../../core/basics/plain-array.js'
import { parseSource } from '../../../core/define/check/sources.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf } from '../../../core/source/row-reader.js'
import type { Column } from '../../../core/source/source.js'
import { inspect } from '../../../tools/prepare/inspect.js'
import { sourceAt } from '../../../tools/prepare/locate.js'
import { failure, golden, goldenCopies, openHdf5, readAll } from './support.js'
import { writeHdf5 } from './write.js'

function numbers(value: Column): number[] {
  if (!isTiled(value)) throw new Error('no array')
  const { dtype, data } = plainArray(value)
  const Type = { u8: Uint8Array, i32: Int32Array, f32: Float32Array }[dtype as 'u8' | 'i32' | 'f32']
  return [...new Type(data.slice().buffer)]
}

describe('rows of an axis', () => {
  it('are of all datasets with the same first axis, if none is named; scales of axes are none', async () => {
    const folder = goldenCopies('weather.nc')
    const notices: string[] = []
    const { source } = await openHdf5('weather.nc', folder, { notice: text => notices.push(text) })
    expect(source.columns).toEqual(['t2m', 'wind'])
    expect(source.count).toBe(8)
    expect(notices).toEqual([])
    const layout = source.layout!()
    expect(layout!.schema).toEqual([
      { name: 't2m', type: 'i16 [3, 5] (lat, lon), _FillValue, scale_factor, add_offset not applied' },
      { name: 'wind', type: 'f32 [3, 5] (lat, lon)' },
    ])
    expect(layout!.chunks).toContain('t2m in chunks of [3, 2, 5]')
    expect(layout!.codecs).toEqual(['shuffle', 'gzip'])
  })

  it('of packed numbers come as they are stored, and a notice says how to unpack them', async () => {
    const notices: string[] = []
    const context = { wanted: ['t2m', 'wind'], notice: (text: string) => notices.push(text) }
    await openHdf5('weather.nc', goldenCopies('weather.nc'), context)
    expect(notices).toEqual([
      expect.stringMatching(
        /weather\.nc: the numbers of "t2m" come as they are stored; .*"std": 1 \/ scale_factor/,
      ),
    ])
  })

  it('leave out what can not be read, and say so', async () => {
    const notices: string[] = []
    const { source } = await openHdf5('types.h5', goldenCopies('types.h5'), {
      notice: text => notices.push(text),
    })
    expect(source.columns).toContain('table.in.deep')
    expect(source.columns).not.toContain('reference')
    expect(notices.join()).toContain('/reference (references to other objects are not followed)')
    expect(notices.join()).toContain('/many_texts')
  })

  it('are those of a table of pandas, and not of its index', async () => {
    const notices: string[] = []
    const { source } = await openHdf5('pandas.h5', goldenCopies('pandas.h5'), {
      notice: text => notices.push(text),
    })
    expect([source.count, notices]).toEqual([20, []])
    expect(source.columns).toContain('df/table.values_block_0')
  })

  it('are not decided by datasets without rows, however many', async () => {
    const folder = temporaryFolder()
    const none = (name: string) => ({ name, dims: [0, 3], offset: 4096, data: [] })
    writeHdf5(join(folder, 'some.h5'), [
      none('a'),
      none('b'),
      { name: 'x', dims: [4, 2], offset: 4096, data: [] },
    ])
    const { source } = await openHdf5('some.h5', folder)
    expect([source.count, source.columns]).toEqual([4, ['x']])
  })

  it('of a compound have the members that can be read; one that is wanted and can not is named', async () => {
    const reported = async (...wanted: string[]): Promise<string> => {
      const notices: string[] = []
      const notice = (text: string) => notices.push(text)
      const { source } = await openHdf5('mixed.h5', goldenCopies('mixed.h5'), { wanted, notice })
      expect(source.columns).toEqual(['people.id'])
      return notices.join()
    }
    expect(await reported('people.id')).toBe('')
    expect(await reported('people.name')).toMatch(
      /"people\.name" can't be read: values of varying length in a comp/,
    )
  })

  it('of several files come one after the other, with ids by file and row', async () => {
    const folder = goldenCopies('row.h5', 'user-block.h5')
    copyFileSync(join(folder, 'row.h5'), join(folder, 'row2.h5'))
    const { source } = await openHdf5({ path: ['row*.h5'], datasets: { a: '/x' } }, folder)
    expect([source.id(0), source.id(1), source.key(1)]).toEqual(['row.h5:0', 'row2.h5:0', 'row2:0'])
    expect([...source.runs]).toEqual([0, 1])
    expect((await readAll(source, ['a'])).map(({ a }) => numbers(a))).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ])
  })

  it('that lie together are ranges; those of a chunk that is not filtered, too', async () => {
    const folder = goldenCopies('layouts-v110.h5')
    const path = 'layouts-v110.h5'
    for (const name of ['contiguous', 'chunked', 'growing', 'implicit', 'compact']) {
      const { source } = await openHdf5({ path, datasets: { x: name } }, folder)
      expect(source.unitStarts).toBeUndefined()
      expect(needOf(source, 3, ['x']).ranges).toHaveLength(1)
    }
    const { source } = await openHdf5({ path, datasets: { x: 'odd', y: 'one', z: 'contiguous' } }, folder)
    expect(source.leaves).toHaveLength(2)
    // The windows follow the larger units: `one` has all rows in one chunk.
    expect([...source.unitStarts!]).toEqual([0])
    const { units, ranges } = needOf(source, 22, ['x', 'y', 'z'])
    expect(ranges).toHaveLength(1)
    expect(units.map(({ unit }) => unit)).toEqual([7, 0])
    // A slab has all chunks of the same rows, here 3 × 2; its last one has 2 rows.
    expect(units[0].leaf.planUnit(7, [])).toHaveLength(6)
    expect(units[0].leaf.unitBytes(7, [])).toBe(2 * 5 * 7 * 4)
  })

  it('that are large are read straight into the batch, from beyond 4 GiB as well', async () => {
    const folder = temporaryFolder()
    const offset = 5 * 2 ** 30
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251)
    writeHdf5(join(folder, 'far.h5'), [
      { name: 'x', dims: [3, 100_000], offset, data: [{ at: offset + 100_000, bytes }] },
      {
        name: 'y',
        dims: [3, 5],
        offset: 2 ** 32,
        data: [{ at: 2 ** 32 + 5, bytes: Uint8Array.of(1, 2, 3, 4, 5) }],
      },
    ])
    const { source } = await openHdf5('far.h5', folder)
    // Nothing is asked for beforehand, and the value is a range of the file.
    expect(needOf(source, 1, ['x'])).toEqual({ ranges: [], units: [] })
    const { x } = source.sample(1, 0, ['x'], { ranges: [], units: [] })
    expect(isTiled(x) && x.tiles[0].data).toMatchObject({ offset: offset + 100_000, length: 100_000 })
    expect(needOf(source, 1, ['y']).ranges).toMatchObject([{ offset: 2 ** 32 + 5, length: 5 }])
    const [, row] = await readAll(source, ['x', 'y'])
    expect(numbers(row.y)).toEqual([1, 2, 3, 4, 5])
    expect(numbers(row.x)).toEqual([...bytes])
  })

  it('have numbers, one a row, in the index: for conditions and weights', async () => {
    const folder = goldenCopies('layouts-v110.h5', 'types.h5')
    const datasets = { n: 'compact', s: 'sparse_packed', x: 'contiguous' }
    const { source } = await openHdf5({ path: 'layouts-v110.h5', datasets }, folder)
    expect(source.indexed).toEqual(['n', 's', 'key', 'file'])
    const rows = await readAll(source, ['n', 's'])
    for (const name of ['n', 's'])
      expect(rows.map((_, row) => source.index(name)!.at(row))).toEqual(rows.map(row => Number(row[name])))
    expect(source.index('x')).toBeUndefined()
    const where = { subset: { source: { hdf5: { path: 'layouts-v110.h5', datasets } }, where: { s: 5 } } }
    const chosen = attachSource(await openSource(where, { root: folder, wanted: [] }))
    expect(Array.from({ length: chosen.count }, (_, row) => chosen.id(row))).toEqual(
      [20, 21, 22].map(row => `layouts-v110.h5:${row}`),
    )
    // Compounds have none.
    const wide = await openHdf5({ path: 'types.h5', datasets: { t: 'table', u: 'scalar/be_f2' } }, folder)
    expect(wide.source.indexed).toEqual(['u', 'key', 'file'])
  })

  it('are not in the index where a number would be rounded, and so be compared as another', async () => {
    const folder = goldenCopies('types.h5')
    const file = join(folder, 'types.h5')
    const datasets = { n: 'scalar/le_i8', m: 'scalar/le_u8' }
    expect((await openHdf5({ path: 'types.h5', datasets }, folder)).source.indexed).toContain('n')
    const bytes = readFileSync(file)
    bytes.writeBigInt64LE(2n ** 53n + 1n, golden.files['types.h5'].datasets['scalar/le_i8'].offset!)
    writeFileSync(file, bytes)
    const { source } = await openHdf5({ path: 'types.h5', datasets }, folder)
    expect(source.indexed).toEqual(['m', 'key', 'file'])
    expect((await readAll(source, ['n']))[0].n).toBe(2n ** 53n + 1n)
  })

  it.each([
    ['fixed', 3000, 2500],
    ['growing', 140_000, 139_000],
  ])('are found by a %s index in pages, most of which were never written', async (path, rows, last) => {
    const { source } = await openHdf5({ path: 'pages.h5', datasets: { x: path } }, goldenCopies('pages.h5'))
    const x = source.index('x')!
    const written = Array.from({ length: rows }, (_, row) => row).filter(row => x.at(row) !== -1)
    expect(written).toEqual([17, last])
    expect([x.at(17), x.at(last)]).toEqual([3, 7])
  })

  it('of one dataset may be two columns', async () => {
    const folder = goldenCopies('row.h5', 'groups-latest.h5')
    const { source } = await openHdf5({ path: 'row.h5', datasets: { a: '/x', b: 'x' } }, folder)
    const [{ a, b }] = await readAll(source, ['a', 'b'])
    expect([numbers(a), numbers(b)]).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ])
    const datasets = { a: 'data/*/score', b: 'data/*/score' }
    const groups = await openHdf5({ path: 'groups-latest.h5', datasets, rows: 'groups' }, folder)
    for (const { a, b } of await readAll(groups.source, ['a', 'b'])) expect(b).toBe(a)
  })

  it('are inspected and verified by a path alone', async () => {
    const folder = goldenCopies('weather.nc', 'user-block.h5')
    expect(await sourceAt(join(folder, 'weather.nc'))).toEqual({ netcdf4: join(folder, 'weather.nc') })
    const source = await sourceAt(join(folder, 'user-block.h5'))
    expect(source).toEqual({ hdf5: join(folder, 'user-block.h5') })
    const summary = await inspect(source, { root: folder })
    expect(summary.samples).toBe(10)
    expect(summary.layout!.codecs).toEqual(['gzip'])
  })

  it('need datasets that are there, of one length', async () => {
    const folder = goldenCopies('user-block.h5', 'groups-latest.h5')
    expect((await failure({ path: 'user-block.h5', datasets: { x: '/xx' } }, folder)).message).toContain(
      'has no dataset "/xx"; did you mean "/x"?',
    )
    const datasets = { a: '/data/demo_1/action', b: '/data/demo_2/action' }
    expect((await failure({ path: 'groups-latest.h5', datasets }, folder)).message).toContain(
      'dataset "/data/demo_1/action" has 2 rows, and "/data/demo_2/action" has 3',
    )
    const single = await failure({ path: 'groups-latest.h5', datasets: { a: 'data/demo_1/score' } }, folder)
    expect(single.message).toContain('is a single value and has no rows')
  })

  it('are refused where there are none', async () => {
    expect((await failure('empty.h5', goldenCopies('empty.h5'))).message).toContain(
      'its datasets have no rows',
    )
  })
})

describe.each(['groups-earliest.h5', 'groups-latest.h5'])('groups of %s', name => {
  const folder = goldenCopies(name)
  const datasets = {
    action: 'data/*/action',
    image: 'data/*/obs/img',
    name: 'data/*/name',
    score: 'data/*/score',
    extra: 'data/*/extra',
  }

  it('are samples, with all that lies in each', async () => {
    const { source } = await openHdf5({ path: name, datasets, rows: 'groups' }, folder)
    const keys = Array.from({ length: 12 }, (_, i) => `demo_${i}`).sort()
    expect(source.count).toBe(12)
    expect(keys.map((_, row) => source.id(row))).toEqual(keys.map(key => `${name}:${key}`))
    expect(source.layout!()!.schema).toContainEqual({ name: 'image', type: 'u8 [n, 3, 4]' })
    const rows = await readAll(source, Object.keys(datasets))
    rows.forEach((row, r) => {
      const i = Number(keys[r].slice(5))
      const steps = (i % 4) + 1
      expect(numbers(row.action)).toEqual(Array.from({ length: steps * 2 }, (_, k) => k + i))
      expect(numbers(row.image)).toEqual(new Array(steps * 12).fill(i))
      expect(isTiled(row.image) && row.image.shape).toEqual([steps, 3, 4])
      expect(Buffer.from(row.name as Uint8Array).toString()).toBe(`demo number ${i}`)
      expect(row.score).toBe(i / 2)
      expect(row.extra).toBe(i % 5 === 0 ? i : undefined)
      expect(source.present!(r).columns.includes('extra')).toBe(i % 5 === 0)
    })
  })

  it('have rows that follow each other', async () => {
    const { action, image } = datasets
    const { source } = await openHdf5({ path: name, datasets: { action, image } }, folder)
    const keys = Array.from({ length: 12 }, (_, i) => `demo_${i}`).sort()
    const steps = keys.flatMap(key => {
      const i = Number(key.slice(5))
      return Array.from({ length: (i % 4) + 1 }, (_, step) => ({ key, i, step }))
    })
    expect(source.count).toBe(steps.length)
    const rows = await readAll(source, ['action', 'image'])
    steps.forEach(({ key, i, step }, row) => {
      expect(source.id(row)).toBe(`${name}/${key}:${step}`)
      expect(source.key(row)).toBe(`${name.replace('.h5', '')}/${key}:${step}`)
      expect(source.index('file')!.at(row)).toBe(`${name}/${key}`)
      expect(numbers(rows[row].action)).toEqual([step * 2 + i, step * 2 + i + 1])
      expect(numbers(rows[row].image)).toEqual(new Array(12).fill(i))
    })
  })

  it('must all have the datasets whose rows are meant, and some must match', async () => {
    const { action, extra } = datasets
    expect((await failure({ path: name, datasets: { action, extra } }, folder)).message).toContain(
      'group "demo_1" has no dataset "data/*/extra": name those that all groups have',
    )
    for (const rows of ['axis', 'groups'] as const)
      expect((await failure({ path: name, datasets: { x: 'data/*/aktion' }, rows }, folder)).message).toMatch(
        /nothing matches "data\/\*\/aktion"; (it has|did you mean) /,
      )
  })

  it('are found by links within the file; links that lead back or out are refused', async () => {
    const of = async (path: string): Promise<number[]> => {
      const { source } = await openHdf5({ path: name, datasets: { x: path } }, folder)
      return (await readAll(source, ['x'])).flatMap(({ x }) => numbers(x))
    }
    expect(await of('/soft')).toEqual([3, 4, 5, 6, 7, 8, 9, 10])
    expect(await of('/soft_group/action')).toEqual([4, 5])
    expect(await of('/hard/action')).toEqual([5, 6, 7, 8])
    expect(await of('/many/link 299')).toEqual(await of('/data/demo_11/action'))
    for (const [path, word] of [
      ['dangling', 'soft link to /nowhere, which is not there'],
      ['data/demo_6/loop', 'leads back to a group above it'],
      ['data/demo_0/up', 'leads back to a group above it'],
      ['outside', 'link to another file (other.h5:/x)'],
    ])
      expect((await failure({ path: name, datasets: { x: path } }, folder)).message).toContain(word)
  })
})

describe('datasets of groups', () => {
  it('with several values of varying length are refused: only one of them would be delivered', async () => {
    const datasets = { x: 'varying*' }
    const error = await failure({ path: 'types.h5', datasets, rows: 'groups' }, goldenCopies('types.h5'))
    expect(error.message).toContain('x: it has 6 values of varying length in a sample: store one in each')
  })
})

describe('definitions', () => {
  it('of groups need patterns with as many stars in each', () => {
    const parse = (json: unknown) => () => parseSource({ hdf5: json }, 'source')
    expect(parse({ path: 'a.h5', rows: 'groups' })).toThrow(
      /source.hdf5.datasets: groups are named by patterns/,
    )
    expect(parse({ path: 'a.h5', rows: 'groups', datasets: { x: 'a/*/x', y: 'a/y' } })).toThrow(
      /as many stars/,
    )
    expect(parse({ path: 'a.h5', datasets: { x: 'a/*/x', y: 'a/y' } })).toThrow(/as many stars/)
    expect(parse({ path: 'a.h5', datasets: {} })).toThrow(/names no dataset/)
    expect(parse({ path: 'a.h5', dataset: { x: '/x' } })).toThrow(/datasets/)
    expect(parse(['a.h5', 'b-*.h5'])).not.toThrow()
  })
})
