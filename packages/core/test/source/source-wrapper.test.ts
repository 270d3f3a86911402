/**
 * Every wrapper around a source that has every member of the contract: none is lost, rows and columns are translated, and
 * units are handed on as they are. A member that is added to the contract makes `FullSource` and `CHECKS` fail to compile until they say what
 * it does and how a wrapper is checked for it.
 */
import { describe, expect, it } from 'vitest'
import { Random } from '../../basics/random.js'
import { allFormats } from '../../define/format.js'
import { concat } from '../../source/combine/concat.js'
import { named } from '../../source/combine/named.js'
import { attachSelected, type Selection, selectedManifest } from '../../source/combine/selected.js'
import { zip } from '../../source/combine/zip.js'
import { hashKey } from '../../source/index/key-hash.js'
import { needOf } from '../../source/row-reader.js'
import type {
  ByteRange,
  Column,
  Layout,
  Leaf,
  Manifest,
  Need,
  Nesting,
  Pieces,
  Source,
} from '../../source/source.js'
import type { TokenRows } from '../../source/token-rows.js'
import { asText } from './conformance.js'

/** A row has ten bytes of its own and a unit, both in column `a`, and its number, `b`. Loading says of which unit bytes are. */
class FullSource implements Required<Source> {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  readonly unitStarts: Float64Array
  readonly leaves: readonly Leaf[]
  readonly movesWithEpoch = true
  readonly asInUnits = true
  readonly tokenRows: TokenRows
  readonly runs: Float64Array
  readonly enqueued: unknown[] = []

  constructor(
    readonly count: number,
    private readonly together = 1,
    private readonly name = 'x',
    private readonly columnNames = ['a', 'b'],
  ) {
    this.columns = columnNames
    this.indexed = [columnNames[1]]
    this.unitStarts = Float64Array.from({ length: count / together }, (_, unit) => unit * together)
    this.leaves = [this]
    this.tokenRows = {
      columns: { [columnNames[0]]: { ahead: 0, trains: true } },
      stretches: (row, epoch, out) => out.add(0, 10 * row + epoch, 4, 0),
      maker: () => undefined,
    }
    this.runs = Float64Array.of(0, count / 2)
  }

  id(row: number): string {
    return `${this.name}-${row}`
  }

  key(row: number): string {
    return `key ${row}`
  }

  keyHash(row: number): number {
    return hashKey(this.key(row))
  }

  index(name: string): { type: 'number'; at(row: number): number } | undefined {
    return name === this.columnNames[1] ? { type: 'number', at: row => row } : undefined
  }

  unitColumns(): [] {
    return []
  }

  where(row: number): { file: string; offset: number } {
    return { file: this.name, offset: 10 * row }
  }

  wholeFile(row: number) {
    const [column, reported] = this.columnNames
    return { column, extension: `e${row}`, byExtension: true, reported: [reported] }
  }

  present(row: number) {
    return { columns: [this.columnNames[0]], why: `It is row ${row} of ${this.name}` }
  }

  need(row: number, epoch: number, columns: readonly string[], { ranges, units }: Need): void {
    if (!columns.includes(this.columnNames[0])) return
    ranges.push({ file: this.name, offset: 10 * row + epoch, length: 10 })
    units.push({ leaf: this, unit: Math.floor(row / this.together), columns })
  }

  planUnit(unit: number, columns: readonly string[]): ByteRange[] {
    if (!columns.includes(this.columnNames[0])) return []
    return [{ file: this.name, offset: 10 * unit * this.together, length: 10 * this.together }]
  }

  unitBytes(unit: number): number {
    return 1000 + unit
  }

  load(unit: number, pieces: Uint8Array[]): Uint8Array[] {
    return pieces.map(piece => Buffer.from(`unit ${unit}: ${asText(piece)}`))
  }

  enqueueRow(row: number, columns: readonly string[], epoch: number, random: Random): void {
    this.enqueued.push([row, [...columns], epoch, random])
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Record<string, Column> {
    const [a, b] = this.columnNames
    const out: Record<string, Column> = {}
    if (columns.includes(a)) {
      const [own, unit] = [got.ranges[0], got.units[0][0]].map(asText)
      out[a] = `${own} and ${unit} of row ${row} in epoch ${epoch}`
    }
    if (columns.includes(b)) out[b] = row
    return out
  }

  layout(): Layout {
    const schema = this.columnNames.map(name => ({ name, type: 'u8' }))
    return { schema, chunks: `units of ${this.together}`, codecs: ['zstd'], slow: 'It is a test.' }
  }
}

/** Files of the letters that their names begin with, and of the numbers of tens. */
function read({ file, offset, length }: ByteRange): Uint8Array {
  return Buffer.from(
    Array.from({ length }, (_, i) => `${file}${Math.floor((offset + i) / 10)}`[i % 2]).join(''),
  )
}

interface Wrapped {
  source: Source
  parts: FullSource[]
  /** What is below a row: the number of the part, and its row there. */
  below: (row: number) => { part: number; row: number }
  /** The name here of a column below. */
  column: (name: string) => string
  /** The id here of a row, by that below. */
  id: (below: string, part: number) => string
}

const same = (name: string): string => name

/** Attaches manifests that are numbers of parts. */
const nestingOf = (parts: readonly Source[]): Nesting => ({
  open: async () => {
    throw new Error('not opened here')
  },
  attach: manifest => parts[manifest.indexBytes],
})

const manifestOf = (part: number, more: object): Manifest => ({
  kind: 'full',
  fingerprint: { kind: 'full', count: 12, digest: '' },
  indexBytes: part,
  ...more,
})

function selected(selection: Selection, at: (row: number) => number, together: number): Wrapped {
  const below = new FullSource(12, together)
  const manifest = selectedManifest('subset', {}, manifestOf(0, {}), below, selection, false)
  const source = attachSelected(manifest, nestingOf([below]))
  return { source, parts: [below], below: row => ({ part: 0, row: at(row) }), column: same, id: same }
}

const WRAPPERS: Record<string, () => Wrapped> = {
  'blend: an entry': () => {
    const below = new FullSource(12, 3)
    const manifest = manifestOf(0, { name: 'n', rename: { a: 'picture' }, child: manifestOf(0, {}) })
    return {
      source: named.attach(manifest, nestingOf([below])),
      parts: [below],
      below: row => ({ part: 0, row }),
      column: name => (name === 'a' ? 'picture' : name),
      id: below => `n/${below}`,
    }
  },
  'subset: a stretch': () => selected({ from: 4, count: 6 }, row => 4 + row, 1),
  'subset: rows in another order': () => {
    const rows = Uint32Array.of(9, 8, 3, 4, 5, 0)
    return selected({ rows, count: 6 }, row => rows[row], 1)
  },
  'split: rows of larger units': () => {
    const rows = Uint32Array.of(9, 10, 3, 4, 5, 0)
    return selected({ rows, count: 6 }, row => rows[row], 3)
  },
  concat: () => {
    const parts = [new FullSource(6, 2, 'x'), new FullSource(12, 3, 'y')]
    const manifest = manifestOf(0, { children: [manifestOf(0, {}), manifestOf(1, {})] })
    return {
      source: concat.attach(manifest, nestingOf(parts)),
      parts,
      below: row => (row < 6 ? { part: 0, row } : { part: 1, row: row - 6 }),
      column: same,
      id: (below, part) => `${part}/${below}`,
    }
  },
  zip: () => {
    const parts = [new FullSource(12, 2, 'x'), new FullSource(12, 3, 'y', ['c', 'd'])]
    const manifest = manifestOf(0, { children: [manifestOf(0, {}), manifestOf(1, {})] })
    const source = zip.attach(manifest, nestingOf(parts))
    return { source, parts, below: row => ({ part: 0, row }), column: same, id: same }
  },
}

type Check = (
  wrapped: Wrapped,
  row: number,
  here: { part: FullSource; row: number; wanted: string[] },
) => void

/** How each member is checked, for every row of a wrapper. */
const CHECKS: { [Name in keyof Required<Source>]: Check } = {
  count: ({ source }, row) => expect(source.count).toBeGreaterThan(row),
  columns: ({ source, column, parts }) =>
    expect(source.columns).toEqual(
      expect.arrayContaining(parts.flatMap(part => part.columns.map(name => column(name)))),
    ),
  indexed: ({ source, column }) => expect(source.indexed).toContain(column('b')),
  runs: ({ source }) => {
    expect(source.runs[0]).toBe(0)
    expect(source.runs.length).toBeGreaterThan(1)
  },
  id: ({ source, id, parts }, row, { part, row: below }) =>
    expect(source.id(row)).toBe(id(part.id(below), parts.indexOf(part))),
  key: ({ source }, row, { part, row: below }) => expect(source.key(row)).toBe(part.key(below)),
  keyHash: ({ source }, row, { part, row: below }) => expect(source.keyHash?.(row)).toBe(part.keyHash(below)),
  index: ({ source, column }, row, { row: below }) => expect(source.index(column('b'))?.at(row)).toBe(below),
  where: ({ source }, row, { part, row: below }) => expect(source.where?.(row)).toEqual(part.where(below)),
  wholeFile: ({ source, column }, row, { part, row: below }) => {
    const { column: bytes, reported, ...file } = part.wholeFile(below)
    expect(source.wholeFile?.(row)).toEqual({
      column: column(bytes),
      reported: reported.map(column),
      ...file,
    })
  },
  present: ({ source, column }, row, { part, row: below }) => {
    expect(source.present?.(row).columns).toContain(column('a'))
    expect(source.present?.(row).why).toContain(part.present(below).why)
  },
  unitStarts: ({ source }, row) => {
    const starts = source.unitStarts!
    expect(starts[0]).toBe(0)
    // Rows of two units of one leaf are never one unit here.
    if (starts.includes(row)) return
    const unit = (at: number) => needOf(source, at, source.columns).units.at(-1)!
    expect(unit(row).unit).toBe(unit(row - 1).unit)
    expect(unit(row).leaf).toBe(unit(row - 1).leaf)
  },
  leaves: ({ source, parts }) => expect(source.leaves).toEqual(parts),
  movesWithEpoch: ({ source }) => expect(source.movesWithEpoch).toBe(true),
  need: ({ source }, row, { part, row: below, wanted }) => {
    const [here, there] = [needOf(source, row, wanted, 5), needOf(part, below, ['a', 'b'], 5)]
    expect(here.ranges[0]).toEqual(there.ranges[0])
    expect(here.units[0]).toEqual({
      leaf: part,
      unit: there.units[0].unit,
      columns: expect.arrayContaining(['a']),
    })
  },
  // A wrapper is no leaf: what it hands on is the leaf's.
  planUnit: ({ source }) => expect(source.planUnit).toBeUndefined(),
  unitBytes: ({ source }) => expect(source.unitBytes).toBeUndefined(),
  load: ({ source }) => expect(source.load).toBeUndefined(),
  unitColumns: ({ source }) => expect(source.unitColumns).toBeUndefined(),
  // A wrapper that only selects rows says what its source says; one that changes samples says nothing.
  asInUnits: ({ source, parts, column }) => {
    const changes = column('a') !== 'a' || source.columns.length > parts[0].columns.length
    expect(source.asInUnits).toBe(changes ? undefined : true)
  },
  // The same rows, under the wrapper's numbers and names of columns. Parts put together have no rows of tokens.
  tokenRows: ({ source, parts, column }, row, { part, row: below }) => {
    const rows = source.tokenRows
    if (parts.length > 1) return expect(rows).toBeUndefined()
    const stretchesOf = (of: TokenRows, number: number): number[][] => {
      const added: number[][] = []
      of.stretches(number, 5, { end: 0, add: (file, offset, tokens) => added.push([file, offset, tokens]) })
      return added
    }
    expect(stretchesOf(rows!, row)).toEqual(stretchesOf(part.tokenRows, below))
    expect(rows!.columns).toEqual({ [column('a')]: { ahead: 0, trains: true } })
    expect(rows!.maker).toBe(part.tokenRows.maker)
  },
  enqueueRow: ({ source }, row, { part, row: below, wanted }) => {
    const random = new Random()
    source.enqueueRow?.(row, wanted, 7, random)
    expect(part.enqueued.at(-1)).toEqual([below, expect.arrayContaining(['a', 'b']), 7, random])
    expect((part.enqueued.at(-1) as unknown[])[3]).toBe(random)
  },
  sample: ({ source, column }, row, { part, row: below, wanted }) => {
    const nothing = { ranges: [], units: [] }
    expect(source.sample(row, 5, [column('b')], nothing)).toEqual({ [column('b')]: below })
    expect(wholeWay(source, row, wanted)[column('a')]).toBe(wholeWay(part, below, ['a']).a)
  },
  layout: ({ source, column, parts }) => {
    const { schema, chunks, codecs, slow } = source.layout!()!
    const names = parts.flatMap(part => part.columns.map(column))
    expect(schema).toEqual([...new Set(names)].map(name => ({ name, type: 'u8' })))
    for (const part of parts) expect(chunks).toContain(part.layout().chunks)
    expect({ codecs, slow }).toEqual({ codecs: ['zstd'], slow: 'It is a test.' })
  },
}

/** A row in epoch 5: all that it needs, read and loaded. */
function wholeWay(source: Source, row: number, columns: string[]): Record<string, Column> {
  const { ranges, units } = needOf(source, row, columns, 5)
  const loaded = units.map(({ leaf, unit, columns }) => {
    const pieces = leaf.planUnit(unit, columns).map(read)
    return (leaf as unknown as FullSource).load(unit, pieces)
  })
  return source.sample(row, 5, columns, { ranges: ranges.map(read), units: loaded })
}

it('is done for every kind of source that holds others', () => {
  const done = Object.keys(WRAPPERS).map(name => name.split(':')[0])
  // Rows of chats are made anew, and keep nothing of the source inside.
  const wrappers = allFormats().flatMap(({ inner, name }) => (inner ? [name] : []))
  expect([...new Set(done), 'chat'].sort()).toEqual(wrappers.sort())
})

for (const [name, wrap] of Object.entries(WRAPPERS)) {
  describe(`${name}, around a source with every member`, () => {
    for (const [member, check] of Object.entries(CHECKS)) {
      it(`keeps ${member}`, () => {
        const wrapped = wrap()
        const wanted = ['a', 'b'].map(wrapped.column)
        for (let row = 0; row < wrapped.source.count; row++) {
          const { part, row: below } = wrapped.below(row)
          check(wrapped, row, { part: wrapped.parts[part], row: below, wanted })
        }
      })
    }
  })
}

it('blend renames what tells of a file', () => {
  const { source } = WRAPPERS['blend: an entry']()
  expect(source.columns).toEqual(['picture', 'b', 'source'])
  expect(source.wholeFile?.(0)?.column).toBe('picture')
  const got = { ranges: [Buffer.from('!')], units: [[Buffer.from('?')]] }
  expect(source.sample(0, 2, ['a', 'picture', 'source'], got)).toEqual({
    picture: '! and ? of row 0 in epoch 2',
    source: 'n',
  })
})

it('concat has a hash of keys only where every part has', () => {
  const lacking = Object.assign(new FullSource(6), { keyHash: undefined })
  const manifest = manifestOf(0, { children: [manifestOf(0, {}), manifestOf(1, {})] })
  const source = concat.attach(manifest, nestingOf([new FullSource(6), lacking]))
  expect(source.keyHash).toBeUndefined()
})
