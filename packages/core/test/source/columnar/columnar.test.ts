/** Columns of a unit as they lie in the cache: what a loader writes is what a view reads, and it fits into the room. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ColumnRoom, columnBytes, splitUnit, unitBytesOf } from '../../../source/columnar/room.js'
import { hasBit, layColumn, putNull, setBit, setBits } from '../../../source/columnar/space.js'
import { ColumnView, viewsOf } from '../../../source/columnar/view.js'
import type { ArrayColumn } from '../../../source/source.js'

/** Memory that holds what others left there. */
const used = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0xaa)

function laid(room: ColumnRoom) {
  const piece = used(columnBytes(room))
  return { space: layColumn(room, piece), view: () => new ColumnView(piece) }
}

const textOf = (value: unknown): string => Buffer.from(value as Uint8Array).toString()

describe('a column of numbers', () => {
  it('gives each type exactly, 64 bits as bigint', () => {
    const i64 = laid({ rows: 2, items: 'i64' })
    new BigInt64Array(i64.space.values.buffer, i64.space.values.byteOffset, 2).set([-1n, 2n ** 62n])
    expect([i64.view().at(0), i64.view().at(1)]).toEqual([-1n, 2n ** 62n])
    const f16 = laid({ rows: 1, items: 'f16' })
    f16.space.values.set([0x00, 0x3e])
    expect(f16.view().at(0)).toBe(1.5)
    const u8 = laid({ rows: 3, items: 'u8' })
    u8.space.values.set([1, 2, 255])
    expect(u8.view().at(2)).toBe(255)
  })

  it('has no value where the bit of a row is 0', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.double()), { minLength: 1 }), values => {
        const { space, view } = laid({ rows: values.length, items: 'f64', nulls: true })
        const numbers = new Float64Array(space.values.buffer, space.values.byteOffset, values.length)
        values.forEach((value, row) => {
          numbers[row] = value ?? 7
          if (value !== null) setBit(space.validity, row)
        })
        const read = view()
        expect(values.map((_, row) => read.at(row) ?? null)).toEqual(values)
        expect(read.isNull(0)).toBe(values[0] === null)
      }),
    )
  })
})

describe('a column of text', () => {
  const words = ['', 'grün', 'a', '日本']
  const bytes = Buffer.from(words.join(''))

  it('gives views by offsets', () => {
    const { space, view } = laid({ rows: 4, items: 'text', bytes: 100 })
    let at = 0
    words.forEach((word, row) => {
      at += Buffer.byteLength(word)
      space.valueOffsets[row + 1] = at
    })
    space.values.set(bytes)
    expect(words.map((_, row) => textOf(view().at(row)))).toEqual(words)
    expect(view().textAt(3)).toBe('日本')
  })

  it('gives the entry of each code', () => {
    const { space, view } = laid({ rows: 3, items: 'bytes', bytes: bytes.length, dictionary: 4, nulls: true })
    let at = 0
    words.forEach((word, entry) => {
      at += Buffer.byteLength(word)
      space.valueOffsets[entry + 1] = at
    })
    space.values.set(bytes)
    space.codes.set([3, 1, 0])
    setBits(space.validity, 0, 2)
    expect([0, 1].map(row => textOf(view().at(row)))).toEqual(['日本', 'grün'])
    expect(view().at(2)).toBeUndefined()
  })

  it('may have a gap before each value', () => {
    const { space, view } = laid({ rows: 3, items: 'text', bytes: 11, gap: 4, nulls: true })
    space.values.set(Buffer.from('....ab....c'))
    space.valueOffsets.set([0, 6, 6, 11])
    setBit(space.validity, 0)
    setBit(space.validity, 2)
    const values = [0, 1, 2].map(row => view().at(row))
    expect([textOf(values[0]), values[1], textOf(values[2])]).toEqual(['ab', undefined, 'c'])
  })

  it('of one width needs no offsets', () => {
    const { space, view } = laid({ rows: 2, items: 'bytes', width: 3 })
    space.values.set([1, 2, 3, 4, 5, 6])
    expect([...(view().at(1) as Uint8Array)]).toEqual([4, 5, 6])
  })
})

describe('a column of lists', () => {
  it('of any length gives arrays over the values', () => {
    const { space, view } = laid({ rows: 3, items: 'i16', list: { elements: 4 } })
    space.offsets.set([0, 3, 3, 4])
    space.values.set([1, 0, 2, 0, 3, 0, 4, 0])
    const lists = [0, 1, 2].map(row => view().at(row) as ArrayColumn)
    expect(lists.map(({ shape }) => shape)).toEqual([[3], [0], [1]])
    expect([...(lists[2].tiles[0].data as Uint8Array)]).toEqual([4, 0])
    expect(lists[0].dtype).toBe('i16')
  })

  it('of one size has no offsets', () => {
    const { space, view } = laid({ rows: 2, items: 'u8', list: { elements: 0, size: 2 } })
    space.values.set([1, 2, 3, 4])
    expect([...((view().at(1) as ArrayColumn).tiles[0].data as Uint8Array)]).toEqual([3, 4])
  })

  it('has NaN for null floats, and an error for null integers', () => {
    const floats = laid({ rows: 1, items: 'f32', list: { elements: 2, nulls: true } })
    floats.space.offsets.set([0, 2])
    setBit(floats.space.itemValidity, 0)
    floats.space.values.set([0, 0, 0x80, 0x3f])
    putNull(floats.space.values, 'f32', 1)
    const data = (floats.view().at(0) as ArrayColumn).tiles[0].data as Uint8Array
    expect([...new Float32Array(data.slice().buffer)]).toEqual([1, Number.NaN])
    const integers = laid({ rows: 1, items: 'i32', list: { elements: 2, nulls: true } })
    integers.space.offsets.set([0, 2])
    setBit(integers.space.itemValidity, 0)
    expect(() => integers.view().at(0)).toThrow('element 1 of the list is null, and i32 has no NaN')
  })

  it('of text is JSON', () => {
    const { space, view } = laid({ rows: 1, items: 'text', list: { elements: 3, nulls: true }, bytes: 2 })
    space.offsets.set([0, 3])
    setBits(space.itemValidity, 0, 2)
    space.valueOffsets.set([0, 1, 2, 2])
    space.values.set(Buffer.from('a"'))
    expect(view().at(0)).toBe('["a","\\"",null]')
  })
})

describe('a unit', () => {
  it('has its columns behind each other, each within its room', () => {
    const rooms: ColumnRoom[] = [
      { rows: 3, items: 'u8', nulls: true },
      { rows: 3, items: 'text', bytes: 5 },
      { rows: 3, items: 'f64', list: { elements: 7 } },
    ]
    const pieces = splitUnit(rooms, used(unitBytesOf(rooms)))
    rooms.forEach((room, i) => void layColumn(room, pieces[i]).values.fill(i + 1))
    expect(viewsOf(pieces)).toBe(viewsOf(pieces))
    expect(viewsOf(pieces).map(({ items }) => items)).toEqual(['u8', 'text', 'f64'])
    expect(pieces.every(({ byteOffset }) => byteOffset % 64 === 0)).toBe(true)
  })

  it('refuses a column of more than 4 GiB', () => {
    expect(() => columnBytes({ rows: 2 ** 30, items: 'f64' })).toThrow('more than 4 GiB')
  })
})

it('bits are set from any bit on', () => {
  const bit = fc.nat({ max: 40 })
  fc.assert(
    fc.property(bit, bit, (count, to) => {
      const set = new Uint8Array(12)
      setBits(set, to, count)
      for (let i = 0; i < 96; i++) expect(hasBit(set, i)).toBe(i >= to && i < to + count)
    }),
  )
})
