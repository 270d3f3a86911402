/** Damaged Parquet files: nothing but a SourceError or DecodeError comes out, and no memory is asked for that they don't account for. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { columnBytes } from '../../../core/source/columnar/room.js'
import { ColumnView } from '../../../core/source/columnar/view.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { readCodes, readLevels } from '../../parquet/decode/bits.js'
import { loadColumn } from '../../parquet/decode/chunk.js'
import { readDelta } from '../../parquet/decode/delta.js'
import { PageHeader } from '../../parquet/decode/page-header.js'
import { formOf, roomOf, sizeOf } from '../../parquet/form.js'
import { measureTexts } from '../../parquet/measure.js'
import { type Footer, parseFooter } from '../../parquet/structure/footer.js'
import { unitsOf } from '../../parquet/units.js'
import { type PageIndexes, readPageBounds } from '../../parquet/where.js'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet')
/** Units that announce more than this are left to the cache's budget. In bytes. */
const MOST = 8 << 20

/** The footer of a file in memory, and how to read from it. */
function footerOf(file: Uint8Array): { bytes: Buffer; footer: Footer; read: ReadAt } {
  const bytes = Buffer.from(file)
  const length = bytes.length < 12 ? -1 : bytes.readUInt32LE(bytes.length - 8)
  if (length < 0 || length > bytes.length - 12) throw new SourceError('no footer')
  const footer = parseFooter(bytes.subarray(-8 - length, -8), bytes.length, 'x.parquet')
  const read = async (into: Uint8Array, offset: number): Promise<number> => {
    if (offset + into.length > bytes.length) throw new SourceError('it ends before that')
    into.set(bytes.subarray(offset, offset + into.length))
    return into.length
  }
  return { bytes, footer, read }
}

/** Reads all of a file, from memory. */
async function readAll(file: Uint8Array): Promise<void> {
  const { bytes, footer, read } = footerOf(file)
  await measureTexts(footer, read, 'x.parquet')
  const { leaves, groupRows, chunks } = footer
  for (let chunk = 0; chunk < chunks.start.length; chunk++) {
    const leaf = leaves[chunk % leaves.length]
    const form = formOf(leaf)
    if (typeof form === 'string') continue
    const number = (name: keyof typeof chunks): number => chunks[name].at(chunk)
    const rows = groupRows.at(Math.floor(chunk / leaves.length))
    const size = sizeOf(rows, number('values'), number('raw'), number('text'), number('encodings'))
    const room = roomOf(leaf, form, size)
    const bytesOf = columnBytes(room)
    if (bytesOf > MOST) continue
    const into = new Uint8Array(bytesOf)
    const pages = bytes.subarray(number('start'), number('start') + number('length'))
    const packing = { codec: number('codec'), raw: number('raw') }
    loadColumn(leaf, form, room, packing, [{ bytes: pages, offset: number('start') }], into)
    const view = new ColumnView(into)
    for (let row = 0; row < rows; row++) view.at(row)
  }
}

describe('any damage to a file is an error that says so', () => {
  for (const name of readdirSync(golden).filter(name => /^(?!large).*\.parquet$/.test(name)))
    it(name, () => survives(readFileSync(join(golden, name)), readAll, { most: 4 * MOST }))
})

/** Divides all row groups at their pages, and checks that the parts are the whole, and lie in the file. Gives their number. */
async function walk(file: Uint8Array): Promise<number> {
  const { bytes, footer, read } = footerOf(file)
  const { chunks, leaves, groupRows } = footer
  for (let chunk = 0; chunk < chunks.start.length; chunk++) {
    const names = ['pagesAt', 'pagesLength', 'boundsAt', 'boundsLength'] as const
    const indexes = Object.fromEntries(names.map(name => [name, chunks[name].at(chunk)]))
    const rows = groupRows.at(Math.floor(chunk / leaves.length))
    const found = await readPageBounds(indexes as unknown as PageIndexes, rows, read).catch(refused)
    if (found !== undefined && (found[0].from !== 0 || found.at(-1)!.to !== rows)) throw new Error('rows')
  }
  const { unitRows, columns } = await unitsOf(footer, read, new Map(), 0, 256)
  let rows = 0
  for (let unit = 0; unit < unitRows.length; unit++) {
    rows += unitRows.at(unit)
    for (let leaf = 0; leaf < footer.leaves.length; leaf++) {
      const at = unit * footer.leaves.length + leaf
      const [start, size] = [columns.start.at(at), columns.length.at(at)]
      if (columns.skip === undefined || columns.values.at(at) === 0) continue
      if (!(start >= 4 && size >= 0 && start + size <= bytes.length)) throw new Error(`${start}, ${size}`)
      const [skip, own] = [columns.skip.at(at), columns.rows.at(at)]
      if (!(skip >= 0 && skip + unitRows.at(unit) <= own)) throw new Error(`${skip} of ${own} rows`)
    }
  }
  if (rows !== footer.rows) throw new Error(`${rows} rows in units, ${footer.rows} in the file`)
  return unitRows.length
}

it('parts of a row group have room for the texts of their own pages', async () => {
  const { files } = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
    files: Record<string, { columns: Record<string, (string | null)[]> }>
  }
  const { footer, read } = footerOf(readFileSync(join(golden, 'prefixes-2.parquet')))
  const texts = await measureTexts(footer, read, 'x.parquet')
  const { unitRows, columns } = await unitsOf(footer, read, texts, 0, 256)
  expect(unitRows.length).toBeGreaterThan(4)
  for (const [leaf, name] of [[0, 'same'] as const, [1, 'paths'] as const]) {
    const { [name]: values } = files['prefixes-2'].columns
    let row = 0
    for (let unit = 0; unit < unitRows.length; row += unitRows.at(unit++)) {
      const at = unit * footer.leaves.length + leaf
      const from = row - columns.skip.at(at)
      const own = values.slice(from, from + columns.rows.at(at))
      expect(columns.text.at(at)).toBe(own.reduce((sum, text) => sum + (text?.length ?? 0), 0))
    }
  }
})

/** A page index may be refused: then it says nothing. */
function refused(error: unknown): undefined {
  if (!(error instanceof DecodeError || error instanceof SourceError)) throw error
}

describe('any damage to pages, where row groups are divided at them', () => {
  for (const [name, least] of Object.entries({ 'pages-1': 8, 'pages-2': 8, nulls: 4, 'codec-none': 1 }))
    it(name, async () => {
      const file = readFileSync(join(golden, `${name}.parquet`))
      expect(await walk(file)).toBeGreaterThanOrEqual(least)
      await survives(file, walk, { most: 4 * MOST })
    })
})

/** Runs what must not end in any other way than well, or by a DecodeError. */
function tries(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
}

describe('any bytes at all', () => {
  const bytes = fc.uint8Array({ maxLength: 200 })

  it('are codes, levels, differences or an error, and nothing is written past the end', () => {
    fc.assert(
      fc.property(bytes, fc.nat(40), fc.nat(300), (bytes, width, count) => {
        const out = new Uint32Array(count)
        tries(() => readCodes(bytes, 0, bytes.length, width, count, out, 0))
        tries(() => readLevels(bytes, 0, bytes.length, 1 + (width % 7), count, new Uint8Array(count)))
        tries(() => readDelta(bytes, 0, bytes.length, 1, out, 0, count))
        tries(() => readDelta(bytes, 0, bytes.length, 2, out, 0, count >> 1))
      }),
    )
  })

  it('are a page header or an error', () => {
    fc.assert(fc.property(bytes, bytes => tries(() => void new PageHeader().read(bytes, 0))))
  })
})
