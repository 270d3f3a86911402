/** Damaged Arrow files: whatever is in them, nothing but an error that names the file comes out, and little memory is asked for. */
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { readRow } from '../../../core/test/source/conformance.js'
import { FlatBuffer, type Table } from '../../arrow/metadata/flatbuffer.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrow')
const home = temporaryFolder()
process.env.MILLRACE_CACHE = join(home, 'cache')
afterAll(() => rmSync(home, { recursive: true, force: true }))

let folders = 0

/** Opens the file and reads all of its rows: those that are bad say so one by one. */
async function readAll(bytes: Uint8Array): Promise<void> {
  const folder = join(home, String(folders++))
  mkdirSync(folder)
  const file = join(folder, 'damaged.arrow')
  writeFileSync(file, bytes)
  utimesSync(file, 1e9, 1e9) // of a file that was changed just now, the index waits for the clock to move on
  try {
    const source = attachSource(await openSource({ arrow: file }, { root: folder, wanted: [] }))
    expect(source.count).toBeLessThanOrEqual(2 ** 31 * 16)
    for (let row = 0; row < Math.min(source.count, 12); row++) {
      for (const column of source.columns) {
        try {
          readRow(source, row, [column])
        } catch (error) {
          if (!(error instanceof SourceError || error instanceof DecodeError)) throw error
          expect(error.message).toMatch(/damaged\.arrow|column "/)
        }
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('damaged files', () => {
  it.each([
    ['one.arrow', 100],
    ['types.stream', 60],
    ['types.lz4.arrow', 40],
    ['types.zstd.stream', 40],
    ['delta.stream', 100],
    ['wide.stream', 30],
    ['saved/test/data-00000-of-00001.arrow', 100],
  ])('%s', async (name, runs) => {
    const bytes = readFileSync(join(golden, name))
    await survives(bytes, readAll, { most: 64 << 20, runs, says: /damaged\.arrow/ })
  })
})

describe('tables', () => {
  it('that are reached by very many ways are refused, and it ends', () => {
    // 40 tables in a row, each with two offsets to the next one: 2^40 ways lead to the last.
    const bytes = new Uint8Array(8 + 32 * 41)
    const view = new DataView(bytes.buffer)
    const place = (i: number): number => 8 + 32 * i
    view.setUint32(0, place(0) + 8, true)
    view.setUint16(place(40), 4, true)
    view.setInt32(place(40) + 8, 8, true)
    for (let i = 0; i < 40; i++) {
      const at = place(i)
      view.setUint16(at, 6, true)
      view.setUint16(at + 2, 8, true)
      view.setUint16(at + 4, 4, true)
      const table = at + 8
      view.setInt32(table, 8, true)
      view.setUint32(table + 4, 4, true)
      view.setUint32(table + 8, 2, true)
      for (const k of [12, 16]) view.setUint32(table + k, place(i + 1) + 8 - (table + k), true)
    }
    let tables = 0
    const all = (table: Table): void => {
      tables++
      for (const inner of table.tables(0)) all(inner)
    }
    expect(() => all(new FlatBuffer(bytes, 'x.arrow', 100).root())).toThrow(
      /x\.arrow: the Arrow metadata at offset \d+ is damaged: it has more tables than it has room for/,
    )
    expect(tables).toBeGreaterThan(30)
  })
})
