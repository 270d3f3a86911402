/**
 * What every source must do. `make` writes the same data into a fresh folder each time; `variants` are pieces of
 * other content that must give another fingerprint.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import type { SourceJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'
import { needOf } from '../../source/row-reader.js'
import type { ByteRange, Column, Manifest, OpenContext, Source } from '../../source/source.js'

export interface Conformance {
  name: string
  /** Of data in another store, by the folder that it is in: `a` or `b`. */
  json: SourceJson | ((folder: string) => SourceJson)
  /** Where objects of another store lie: `far://x` is the file x of this folder. */
  store?: { scheme: string; folder: string }
  wanted: string[]
  /** Writes the data below `root`. */
  write(root: string): void
  /** Changes the data so that the fingerprint must change; absent where there are no files. */
  change?(root: string): void
  count: number
  /** The columns that row 0 must have, with their values as text. */
  first: Record<string, string>
}

/** Folders of the objects of other stores, by scheme. */
const stores = new Map<string, string>()

/** The file that has the bytes of a name. */
function placeOf(name: string): string {
  const [, scheme, rest] = /^(\w+):\/\/(.*)/.exec(name) ?? []
  return scheme === undefined ? name : join(stores.get(scheme)!, rest)
}

/** Reads as the engine does, without merging. */
export function readPieces(ranges: readonly ByteRange[]): Uint8Array[] {
  return ranges.map(({ file, offset, length }) => {
    const data = readFileSync(placeOf(file))
    expect(offset).toBeGreaterThanOrEqual(0)
    expect(offset + length).toBeLessThanOrEqual(data.length)
    return new Uint8Array(data.subarray(offset, offset + length))
  })
}

/** A row the whole way: plan, read, load, sample. */
export function readRow(source: Source, row: number, columns: readonly string[]): Record<string, Column> {
  const need = needOf(source, row, columns)
  const units = need.units.map(({ leaf, unit, columns }) => {
    const read = readPieces(leaf.planUnit(unit, columns))
    const kept = leaf.load?.(unit, read, new Uint8Array(leaf.unitBytes(unit, columns)), columns) ?? read
    if (kept instanceof Promise) throw new Error('a source that loads later has a suite of its own')
    return kept
  })
  return source.sample(row, 0, columns, { ranges: readPieces(need.ranges), units })
}

export function asText(value: Column): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
}

export function conforms(suite: Conformance): void {
  describe(`${suite.name} conforms`, () => {
    const home = suite.store?.folder ?? temporaryFolder()
    if (suite.store) stores.set(suite.store.scheme, home)
    const { wanted } = suite
    let manifest: Manifest
    let source: Source

    const openAt = (name: string): Promise<Manifest> => {
      const context: OpenContext = { root: join(home, name), wanted }
      return openSource(typeof suite.json === 'function' ? suite.json(name) : suite.json, context)
    }

    beforeAll(async () => {
      process.env.MILLRACE_CACHE = join(home, 'cache')
      mkdirSync(join(home, 'a'))
      suite.write(join(home, 'a'))
      manifest = await openAt('a')
      source = attachSource(manifest)
    })

    it('counts', () => {
      expect(source.count).toBe(suite.count)
      expect(manifest.fingerprint.count).toBe(suite.count)
      expect(manifest.indexBytes).toBeGreaterThanOrEqual(0)
    })

    it('has unique ids', () => {
      const ids = Array.from({ length: source.count }, (_, row) => source.id(row))
      expect(new Set(ids).size).toBe(source.count)
      for (let row = 0; row < source.count; row++) expect(typeof source.key(row)).toBe('string')
    })

    it('has ascending runs from 0', () => {
      expect(source.runs[0]).toBe(0)
      for (let i = 1; i < source.runs.length; i++) expect(source.runs[i]).toBeGreaterThan(source.runs[i - 1])
      expect(source.runs.at(-1)).toBeLessThan(source.count)
    })

    it('has ascending units from 0, none of which reaches into another run', () => {
      const { unitStarts: starts, runs } = source
      if (starts === undefined) return
      expect(starts[0]).toBe(0)
      for (let i = 1; i < starts.length; i++) expect(starts[i]).toBeGreaterThanOrEqual(starts[i - 1])
      expect([...starts]).toEqual(expect.arrayContaining([...runs]))
    })

    it('needs ranges inside the files, and nothing for no columns', () => {
      for (let row = 0; row < source.count; row++) {
        const { ranges, units } = needOf(source, row, wanted)
        const all = [...ranges, ...units.flatMap(({ leaf, unit, columns }) => leaf.planUnit(unit, columns))]
        for (const { file, offset, length } of all)
          expect(offset + length).toBeLessThanOrEqual(statSync(placeOf(file)).size)
        expect(needOf(source, row, [])).toEqual({ ranges: [], units: [] })
      }
    })

    it('gives the columns that were asked for, and no others', () => {
      for (let row = 0; row < source.count; row++) {
        for (const column of Object.keys(readRow(source, row, wanted))) expect(wanted).toContain(column)
      }
      expect(readRow(source, 0, [])).toEqual({})
      const first = readRow(source, 0, wanted)
      const texts = Object.fromEntries(Object.entries(first).map(([name, value]) => [name, asText(value)]))
      expect(texts).toMatchObject(suite.first)
    })

    it('answers for the columns it says are in its index, and for no others', () => {
      for (const name of source.indexed ?? []) {
        const column = source.index(name)
        for (let row = 0; row < source.count; row++) {
          const value = column?.at(row)
          if (value !== undefined) expect(typeof value).toBe(column?.type)
          else expect(readRow(source, row, [name])).toEqual({}) // a null
        }
      }
      expect(source.index('no such column')).toBeUndefined()
    })

    it('names existing files as the place of a row', () => {
      for (let row = 0; row < source.count; row++) {
        const where = source.where?.(row)
        if (where !== undefined) expect(where.offset).toBeLessThanOrEqual(statSync(placeOf(where.file)).size)
      }
    })

    it('is the same when attached from a copy of its manifest', () => {
      const copy = attachSource(structuredClone(manifest))
      expect(copy.count).toBe(source.count)
      expect([...copy.runs]).toEqual([...source.runs])
      for (let row = 0; row < source.count; row++) {
        expect(copy.id(row)).toBe(source.id(row))
        expect(copy.key(row)).toBe(source.key(row))
        expect(needOf(copy, row, wanted).ranges).toEqual(needOf(source, row, wanted).ranges)
        expect(readRow(copy, row, wanted)).toEqual(readRow(source, row, wanted))
      }
    })

    it('is the same when opened again', async () => {
      const again = await openAt('a')
      expect(again.fingerprint).toEqual(manifest.fingerprint)
      expect(attachSource(again).id(0)).toBe(source.id(0))
    })

    it('has a fingerprint of contents, not of places and times', async () => {
      mkdirSync(join(home, 'b'))
      suite.write(join(home, 'b'))
      for (const entry of readdirSync(join(home, 'b'), { recursive: true })) {
        utimesSync(join(home, 'b', String(entry)), 1e9, 1e9)
      }
      expect((await openAt('b')).fingerprint).toEqual(manifest.fingerprint)
    })

    it.skipIf(suite.change === undefined)('has another fingerprint when the data change', async () => {
      suite.change?.(join(home, 'b'))
      expect((await openAt('b')).fingerprint.digest).not.toBe(manifest.fingerprint.digest)
    })
  })
}
