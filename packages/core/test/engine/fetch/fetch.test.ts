import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { UnitRefs } from '../../../../formats/shared/unit-refs.js'
import { putArray } from '../../../../pixels/transform/plain/put-array.js'
import { Fetcher } from '../../../engine/fetch/fetch.js'
import { compileOrder, planOrder } from '../../../order/compile.js'
import type { Leaf, Need, Pieces, Source } from '../../../source/source.js'
import { createBlockCache } from '../../../store/block-cache.js'
import { addStore } from '../../../store/stores.js'
import { Workspace } from '../../../system/memory/workspace.js'

/** Rows are files, which are units; of each the source keeps a text that says what was in it. */
function loadingSource(files: readonly string[]): Source {
  const leaf = {
    columns: ['x'],
    unitStarts: Float64Array.from(files.keys()),
    need: (row: number, _epoch: number, columns: string[], { units }: Need) =>
      units.push({ leaf: leaf as unknown as Leaf, unit: row, columns }),
    planUnit: (unit: number) => [{ file: files[unit], offset: 0, length: 4 }],
    unitBytes: () => 64,
    load: (unit: number, [piece]: Uint8Array[]) => [Buffer.from(`${unit}: ${Buffer.from(piece)}`)],
    sample: (_row: number, _epoch: number, _columns: string[], { units }: Pieces) => ({
      x: Buffer.from(units[0][0]).toString(),
    }),
  }
  return leaf as unknown as Source
}

it('loads units without a cache, also where one of them can’t be read', () => {
  const data = temporaryFolder()
  writeFiles(data, { a: 'aaaa', b: 'bb', c: 'cccc' })
  const files = ['a', 'b', 'c'].map(name => join(data, name))
  const fetcher = new Fetcher([loadingSource(files)], undefined, 0)
  const draws = [0, 2, 1].map(row => ({ source: 0, row, drawn: 0, epoch: 0 }))
  fetcher.fetch(draws, 2, 0, () => {})
  expect([fetcher.sample(0).x, fetcher.sample(1).x]).toEqual(['0: aaaa', '2: cccc'])
  fetcher.fetch(draws, 3, 0, () => {})
  expect([fetcher.sample(0).x, fetcher.sample(1).x]).toEqual(['0: aaaa', '2: cccc'])
  expect(() => fetcher.sample(2)).toThrow('wanted 4 bytes')
  fetcher.close()
})

it('plans a unit once where rows refer to it by the same object', () => {
  const data = temporaryFolder()
  writeFiles(data, { a: 'aaaa', b: 'bbbb' })
  const files = ['a', 'b'].map(name => join(data, name))
  const source = loadingSource(files) as Leaf
  const refs = new UnitRefs(source)
  source.need = (row, _epoch, columns, { units }) => void units.push(refs.of(row, columns))
  const planned: number[] = []
  const { planUnit } = source
  source.planUnit = (unit, columns) => {
    planned.push(unit)
    return planUnit(unit, columns)
  }
  const order = compileOrder(planOrder({ kind: 'none' }, [{ count: 2, runs: Float64Array.of(0) }]))
  const cache = { data: createBlockCache({ bytes: 1 << 20, makers: 1 }), ring: 0 }
  const fetcher = new Fetcher([source], ['x'], 0, { handle: cache, order })
  for (let claim = 0; claim < 3; claim++) {
    const draws = [0, 1, 0, 0].map((row, i) => ({ source: 0, row, drawn: i, epoch: 0 }))
    fetcher.fetch(draws, 4, 0, () => {})
    const texts = draws.map((_, i) => fetcher.sample(i).x)
    expect(texts).toEqual(['0: aaaa', '1: bbbb', '0: aaaa', '0: aaaa'])
  }
  expect(planned).toEqual([0, 1])
  fetcher.close()
})

it('reads an array that its column left in the file straight into the slot', () => {
  const data = temporaryFolder()
  const values = Float32Array.from({ length: 70_000 }, (_, i) => i / 3)
  writeFiles(data, { a: Buffer.concat([Buffer.from('head'), Buffer.from(values.buffer)]) })
  const fetcher = new Fetcher([], undefined, 0)
  const work = Workspace.alone()
  const at = work.take(values.byteLength)
  const into: Uint8Array[] = []
  const context = {
    work,
    position: 0,
    chosen: new Map(),
    random: () => undefined as never,
    read: (range: { file: string; offset: number; length: number }, place: Uint8Array) => {
      into.push(place)
      return fetcher.readInto(range, place)
    },
  }
  const tile = { data: { file: join(data, 'a'), offset: 4, length: values.byteLength } }
  putArray({ dtype: 'f32', shape: [70_000], tiles: [tile] }, 'f32', at, context)
  expect(into.map(place => [place.buffer === work.memory.buffer, place.byteOffset])).toEqual([[true, at]])
  expect(new Float32Array(work.u8.slice(at, at + values.byteLength).buffer)).toEqual(values)
  expect(fetcher.counts.bytesRead).toBe(values.byteLength)
  // In another type, it is read elsewhere, and converted.
  const wide = work.take(2 * values.byteLength)
  putArray({ dtype: 'f32', shape: [70_000], tiles: [tile] }, 'f64', wide, context)
  expect(into[1].buffer).not.toBe(work.memory.buffer)
  expect(new Float64Array(work.u8.slice(wide, wide + 2 * values.byteLength).buffer)).toEqual(
    Float64Array.from(values),
  )
  fetcher.close()
})

it('leaves no read behind when another one fails', async () => {
  const work = Workspace.alone()
  const at = work.take(8)
  let finish = () => {}
  let written = false
  const slow = new Promise<void>(resolve => {
    finish = resolve
  }).then(() => {
    written = true
  })
  const read = ({ file }: { file: string }) => (file === 'slow' ? slow : Promise.reject(new Error('broken')))
  const context = { work, position: 0, chosen: new Map(), random: () => undefined as never, read }
  const tiles = ['slow', 'bad'].map((file, i) => ({
    data: { file, offset: 0, length: 4 },
    at: [4 * i],
    shape: [4],
  }))
  const pending = putArray({ dtype: 'u8', shape: [8], tiles }, 'u8', at, context)
  let ended = false
  const outcome = (pending as Promise<void>).then(
    () => 'fine',
    error => `${(ended = true)} ${error.message}`,
  )
  await new Promise(resolve => setImmediate(resolve))
  expect(ended).toBe(false)
  finish()
  expect(await outcome).toBe('true broken')
  expect(written).toBe(true)
})

it('reads the rows of a block apart where the block can’t be read: only the bad one is bad', async () => {
  const ROWS = 512
  const reads: number[] = []
  addStore('torn', {
    attach: () => ({
      merge: { gap: 0, most: 2 ** 20 },
      stat: async () => ({ bytes: 4 * ROWS, version: '1' }),
      read: async () => {},
      readNow(_name, offset, into) {
        reads.push(into.length)
        if (offset <= 20 && offset + into.length > 20) throw new Error('a scratch')
        for (let i = 0; i < into.length; i++) into[i] = Math.floor((offset + i) / 4)
        return true
      },
      close() {},
    }),
  })
  const source = {
    count: ROWS,
    columns: ['x'],
    runs: Float64Array.of(0),
    need: (row: number, _epoch: number, _columns: string[], { ranges }: Need) =>
      ranges.push({ file: 'torn://x', offset: 4 * row, length: 4 }),
    sample: (_row: number, _epoch: number, _columns: string[], { ranges: [x] }: Pieces) => ({ x: x[0] }),
  } as unknown as Source
  const order = compileOrder(planOrder({ kind: 'window', window: 256, seed: 1 }, [source]))
  const data = createBlockCache({ bytes: 1 << 20, makers: 400 })
  const fetcher = new Fetcher([source], undefined, 0, { handle: { data, ring: 0 }, order })
  const draws = Array.from({ length: 8 }, (_, row) => ({ source: 0, row, drawn: 0, epoch: 0 }))
  await fetcher.fetch(draws, 8, 0, () => {})
  expect(reads[0]).toBeGreaterThan(4)
  for (const { row } of draws) {
    if (row === 5) expect(() => fetcher.sample(row)).toThrow(/torn:\/\/x.*a scratch/)
    else expect(fetcher.sample(row).x).toBe(row)
  }
  fetcher.close()
})

it('hints nothing of rows whose source fails: that is said when they are made', () => {
  const source = {
    columns: ['x'],
    need() {
      throw new Error('no such row')
    },
  } as unknown as Source
  const fetcher = new Fetcher([source], undefined, 0)
  const draws = [{ source: 0, row: 0, drawn: 0, epoch: 0 }]
  expect(() => fetcher.hint({ draws, count: 1, epoch: 0 }, false)).not.toThrow()
  fetcher.fetch(draws, 1, 0, () => {})
  expect(() => fetcher.sample(0)).toThrow('no such row')
  fetcher.close()
})
