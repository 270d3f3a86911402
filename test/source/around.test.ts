/**
 * Every wrapper around a source that has every member of the contract: none is lost, and rows, units and columns are
 * translated. A member that is added to the contract makes `FullSource` and `CHECKS` fail to compile until they say what
 * it does and how a wrapper is checked for it.
 */
import { describe, expect, it } from 'vitest'
import { Random } from '../../src/basics/random.js'
import { COMBINATORS } from '../../src/define/nested.js'
import { inBlocks } from '../../src/source/combine/blocks.js'
import { concat } from '../../src/source/combine/concat.js'
import { named } from '../../src/source/combine/named.js'
import { attachSelected, type Selection, selectedManifest } from '../../src/source/combine/selected.js'
import { zip } from '../../src/source/combine/zip.js'
import { hashKey } from '../../src/source/index/key-hash.js'
import type { ByteRange, Column, Manifest, Nesting, Source } from '../../src/source/source.js'
import { asText } from './conformance.js'

/** A row has a column of ten bytes, `a`, and its number, `b`. Loading says of which unit the bytes are. */
class FullSource implements Required<Source> {
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  readonly units: number
  readonly runs: Float64Array
  readonly foreseen: unknown[] = []

  constructor(
    readonly count: number,
    private readonly together = 1,
    private readonly name = 'x',
    private readonly columnNames = ['a', 'b'],
  ) {
    this.columns = columnNames
    this.indexed = [columnNames[1]]
    this.units = count / together
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

  where(row: number): { file: string; offset: number } {
    return { file: this.name, offset: 10 * row }
  }

  wholeFile(row: number) {
    const [column, told] = this.columnNames
    return { column, extension: `e${row}`, byExtension: true, told: [told] }
  }

  present(row: number) {
    return { columns: [this.columnNames[0]], why: `It is row ${row} of ${this.name}` }
  }

  unitOf(row: number): number {
    return Math.floor(row / this.together)
  }

  plan(unit: number, columns: readonly string[]): ByteRange[] {
    if (!columns.includes(this.columnNames[0])) return []
    return [{ file: this.name, offset: 10 * unit * this.together, length: 10 * this.together }]
  }

  load(unit: number, pieces: Uint8Array[]): Uint8Array[] {
    return pieces.map(piece => Buffer.from(`unit ${unit}: ${asText(piece)}`))
  }

  loadedBytes(unit: number): number {
    return 1000 + unit
  }

  foresee(row: number, columns: readonly string[], epoch: number, random: Random): void {
    this.foreseen.push([row, [...columns], epoch, random])
  }

  sample(row: number, pieces: readonly Uint8Array[], columns: readonly string[]): Record<string, Column> {
    const [a, b] = this.columnNames
    const out: Record<string, Column> = {}
    if (columns.includes(a)) out[a] = `${asText(pieces[0])} of row ${row}`
    if (columns.includes(b)) out[b] = row
    return out
  }
}

/** One that is like it, but does not load. */
function unloaded(...of: ConstructorParameters<typeof FullSource>): FullSource {
  return Object.assign(new FullSource(...of), { load: undefined, loadedBytes: undefined })
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
  /** The wrapper keeps what was read, and loads a row when it is asked for. */
  loadsLate?: true
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
  blocks: () => {
    const below = new FullSource(12)
    const source = inBlocks(below, Float64Array.of(0, 5, 9, 12))
    return {
      source,
      parts: [below],
      below: row => ({ part: 0, row }),
      column: same,
      id: same,
      loadsLate: true,
    }
  },
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
  // A zip takes no sources that load: that has a test of its own.
  zip: () => {
    const parts = [unloaded(12, 1, 'x'), unloaded(12, 1, 'y', ['c', 'd'])]
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
  units: ({ source }, row) => expect(source.units).toBeGreaterThan(source.unitOf(row)),
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
    const { column: bytes, told, ...file } = part.wholeFile(below)
    expect(source.wholeFile?.(row)).toEqual({ column: column(bytes), told: told.map(column), ...file })
  },
  present: ({ source, column }, row, { part, row: below }) => {
    expect(source.present?.(row).columns).toContain(column('a'))
    expect(source.present?.(row).why).toContain(part.present(below).why)
  },
  unitOf: ({ source }, row) => {
    const last = row === 0 ? 0 : source.unitOf(row - 1)
    expect([last, last + 1]).toContain(source.unitOf(row))
  },
  plan: ({ source }, row, { part, row: below, wanted }) => {
    const [own] = part.plan(part.unitOf(below), ['a'])
    const [range] = source.plan(source.unitOf(row), wanted)
    expect(range.file).toBe(own.file)
    expect(range.offset).toBeLessThanOrEqual(own.offset)
    expect(range.offset + range.length).toBeGreaterThanOrEqual(own.offset + own.length)
  },
  load: ({ source, column }, row, { part, row: below, wanted }) => {
    const unit = source.unitOf(row)
    const pieces = source.plan(unit, wanted).map(read)
    const value = source.sample(row, source.load?.(unit, pieces) ?? pieces, wanted)[column('a')]
    expect(value).toBe(asText(wholeWay(part, below)))
  },
  loadedBytes: ({ source, loadsLate }, row, { part, row: below }) => {
    const kept = loadsLate ? undefined : part.loadedBytes?.(part.unitOf(below))
    expect(source.loadedBytes?.(source.unitOf(row))).toBe(kept)
  },
  foresee: ({ source }, row, { part, row: below, wanted }) => {
    const random = new Random()
    source.foresee?.(row, wanted, 7, random)
    expect(part.foreseen.at(-1)).toEqual([below, expect.arrayContaining(['a', 'b']), 7, random])
    expect((part.foreseen.at(-1) as unknown[])[3]).toBe(random)
  },
  sample: ({ source, column }, row, { row: below }) => {
    expect(source.sample(row, [], [column('b')])).toEqual({ [column('b')]: below })
  },
}

function wholeWay(source: Source, row: number): Column {
  const unit = source.unitOf(row)
  const pieces = source.plan(unit, ['a']).map(read)
  return source.sample(row, source.load?.(unit, pieces) ?? pieces, ['a']).a
}

it('is done for every kind of source that holds others', () => {
  const done = Object.keys(WRAPPERS).map(name => name.split(':')[0])
  expect([...new Set(done)].sort()).toEqual(['blocks', ...COMBINATORS].sort())
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

    it('names all of its units', () => {
      const { source } = wrap()
      expect(source.unitOf(source.count - 1)).toBe(source.units - 1)
    })
  })
}

it('blend renames what tells of a file', () => {
  const { source } = WRAPPERS['blend: an entry']()
  expect(source.columns).toEqual(['picture', 'b', 'source'])
  expect(source.wholeFile?.(0)?.column).toBe('picture')
  expect(source.sample(0, [Buffer.from('!')], ['a', 'picture', 'source'])).toEqual({
    picture: '! of row 0',
    source: 'n',
  })
})

it('concat has a hash of keys only where every part has', () => {
  const lacking = Object.assign(new FullSource(6), { keyHash: undefined })
  const manifest = manifestOf(0, { children: [manifestOf(0, {}), manifestOf(1, {})] })
  const source = concat.attach(manifest, nestingOf([new FullSource(6), lacking]))
  expect(source.keyHash).toBeUndefined()
})

it('zip refuses sources that load', async () => {
  const parts = [new FullSource(6), new FullSource(6, 1, 'y', ['c', 'd'])]
  const nesting = { ...nestingOf(parts), open: async (json: unknown) => manifestOf(json as number, {}) }
  const opened = zip.open([0, 1] as never, { root: '', wanted: [] }, nesting as Nesting)
  await expect(opened).rejects.toThrow('zip needs sources whose samples are read one by one')
})
