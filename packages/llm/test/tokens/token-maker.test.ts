/** The reads of a claim of tokens: how many, in which order files are looked at, and whether slow ones are found slow. */
import { expect, it } from 'vitest'
import { layoutSlot } from '../../../core/batch/layout.js'
import { Slot } from '../../../core/batch/slot.js'
import type { NormalField } from '../../../core/define/types.js'
import { Ahead } from '../../../core/engine/fetch/ahead.js'
import type { RowStretches } from '../../../core/source/token-rows.js'
import { Reader } from '../../../core/store/reader.js'
import type { Store } from '../../../core/store/store.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { TokenColumns } from '../../tokens/token-columns.js'
import { TokenMaker, tokenMaker } from '../../tokens/token-maker.js'
import type { TokenFileRows } from '../../tokens/token-rows.js'

const LENGTH = 64
const ROWS = 4
const BYTES = 2 * (LENGTH + 1)

/** Rows of two files, 10,000 tokens apart, or one behind the other. */
function rowsOf(apart: number, from = (row: number) => row): TokenFileRows {
  return {
    files: ['a', 'b'].map(path => ({ path, begin: 16, dtype: 'u16', version: `version of ${path}` })),
    length: LENGTH,
    columns: { input: { ahead: 0, trains: false }, target: { ahead: 1, trains: true } },
    padding: 0,
    maker: tokenMaker,
    stretches(row: number, _epoch: number, out: RowStretches) {
      out.add(row % 10 === 9 ? 1 : 0, from(row) * apart, LENGTH + 1, 0)
      out.end = LENGTH
    },
  }
}

/** A store that notes what is asked of it; a read takes so many ms of its own clock. */
function makerOf(rows: TokenFileRows, ms = 0) {
  const asked: string[] = []
  let clock = 0
  const store: Pick<Store, 'readNow'> = {
    readNow(name, offset, into, was) {
      asked.push(into.length === 0 ? `${name} is ${was}?` : `${name} ${offset} ${into.length}`)
      clock += ms
      new Uint16Array(into.buffer, into.byteOffset, into.length / 2).fill(offset % 1000)
      return true
    },
  }
  const layouts = ['input', 'target'].map(name => ({
    name,
    dtype: 'i32' as const,
    shape: [LENGTH],
    form: 'dense' as const,
  }))
  const fields = layouts.map(layout => ({
    name: layout.name,
    from: [layout.name],
    as: 'npy',
    apply: [],
    layout,
  }))
  const layout = layoutSlot(layouts, ROWS)
  const work = Workspace.alone(layout.bytes + (4 << 20))
  const slot = new Slot(work.memory.buffer, work.take(layout.bytes), layout)
  const own = new Workspace(work.memory, work.take(2 << 20), work.u8.length, 2 ** 31)
  const columns = TokenColumns.of(fields as unknown as NormalField[], layout.fields, rows, own)!
  const ahead = new Ahead({ chunks: 1, chunkRows: ROWS, rows: ROWS }, () => clock)
  const reader = new Reader({ of: () => store as Store })
  const maker = new TokenMaker([{ rows, columns }], ROWS, own, reader, ahead)
  const make = (numbers: readonly number[]): string[] => {
    const draws = numbers.map(row => ({ source: 0, row, drawn: 0, epoch: 0 }))
    asked.length = 0
    expect(maker.make(slot, 0, numbers.length, draws)).toBe(true)
    return [...asked]
  }
  const input = (row: number): Int32Array =>
    new Int32Array(slot.buffer, slot.at + layout.fields[0].at + row * 4 * LENGTH, LENGTH)
  return { make, ahead, reader, input }
}

it('reads rows that lie behind each other at once, and others one by one; then each file is looked at', () => {
  const { make, reader, input } = makerOf(rowsOf(LENGTH))
  expect(make([0, 1, 2, 3])).toEqual([`a 16 ${2 * (4 * LENGTH + 1)}`, 'a is version of a?'])
  expect(reader.counts).toEqual({ reads: 1, bytesRead: 514, bytesUsed: 514 })
  const apart = makerOf(rowsOf(10_000))
  expect(apart.make([2, 9, 1, 4])).toEqual([
    `a ${16 + 40_000} ${BYTES}`,
    `b ${16 + 180_000} ${BYTES}`,
    `a ${16 + 20_000} ${BYTES}`,
    `a ${16 + 80_000} ${BYTES}`,
    'a is version of a?',
    'b is version of b?',
  ])
  expect([0, 1, 2, 3].map(row => apart.input(row)[5])).toEqual([16, 16, 16, 16])
  expect(input(0)).toHaveLength(LENGTH)
})

it.each([
  [1, true],
  [0.004, false],
])('finds reads of %f ms slow, so that later ones are hinted: %s', (ms, slow) => {
  const { make, ahead } = makerOf(rowsOf(10_000), ms)
  for (let claim = 0; claim < 400; claim++) {
    ahead.begin(claim)
    make([1, 2, 3, 4])
  }
  expect(ahead.slow).toBe(slow)
})
