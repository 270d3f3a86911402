/** HDF5 files that are damaged, cut short or made to do harm: the error names file, dataset and byte. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { needOf } from '../../../core/source/row-reader.js'
import { failure, goldenCopies, openHdf5, readAll } from './support.js'
import { writeHdf5 } from './write.js'

describe('files that are no good', () => {
  it('are named: not HDF5, cut short, still open, gone', async () => {
    const folder = goldenCopies('types.h5', 'unclosed.h5', 'layouts-v110.h5')
    writeFileSync(join(folder, 'text.h5'), 'no such thing'.repeat(100))
    expect((await failure('text.h5', folder)).message).toContain('text.h5 is no HDF5 file')
    expect((await failure('unclosed.h5', folder)).message).toContain('h5clear -s')
    truncateSync(join(folder, 'types.h5'), 100_000)
    expect((await failure('types.h5', folder)).message).toContain('it is cut short')
    expect((await failure('none.h5', folder)).message).toContain('none.h5 is missing')
    const bytes = readFileSync(join(folder, 'layouts-v110.h5'))
    bytes[bytes.indexOf('OHDR') + 20] ^= 1
    writeFileSync(join(folder, 'layouts-v110.h5'), bytes)
    const damaged = await failure('layouts-v110.h5', folder)
    expect(damaged.message).toMatch(/is damaged at byte \d+: the checksum of its object's header is wrong/)
    expect(damaged.offset).toBeGreaterThan(0)
  })

  it('can say that a chunk is far larger than its dataset: its unit then takes as much of the cache', async () => {
    const folder = goldenCopies('layouts-earliest.h5')
    const file = join(folder, 'layouts-earliest.h5')
    const bytes = readFileSync(file)
    // The layout of dataset "one": its only chunk has the sides 23, 5, 7; then the bytes of an element.
    const sides = Buffer.from(Uint32Array.of(23, 5, 7, 4).buffer)
    bytes.writeUInt32LE(65536, bytes.indexOf(sides) + 8)
    writeFileSync(file, bytes)
    const { source } = await openHdf5({ path: 'layouts-earliest.h5', datasets: { x: 'one' } }, folder)
    expect(source.leaves![0].unitBytes(0, ['x'])).toBe(23 * 5 * 65536 * 4)
    await expect(readAll(source, ['x'])).rejects.toThrow(/a chunk has 3220 bytes, and should have 30146560/)
  })

  it('have no more chunks in all than their bytes can tell of, written or not', async () => {
    const folder = temporaryFolder()
    const chunked = (name: string) => ({ name, dims: [2 ** 20], offset: 0, data: [], chunk: [1] })
    writeHdf5(join(folder, 'much.h5'), ['a', 'b', 'c'].map(chunked))
    const notices: string[] = []
    const { source } = await openHdf5('much.h5', folder, { notice: text => notices.push(text) })
    expect([source.count, source.columns]).toEqual([2 ** 20, ['a']])
    expect(notices.join()).toContain(
      '/b (with the shape [1048576] it has more chunks than can be in the file',
    )
    expect(statSync(join(folder, '.much.h5.millrace')).size).toBeLessThan(8 << 20)
  })

  it('have chunks of references whose damage names the file and the byte', async () => {
    const folder = goldenCopies('types.h5')
    const bytes = readFileSync(join(folder, 'types.h5'))
    // Every beginning of data that gzip made.
    for (let at = bytes.indexOf('785e', 0, 'hex'); at >= 0; at = bytes.indexOf('785e', at, 'hex'))
      bytes[at] = 0
    writeFileSync(join(folder, 'types.h5'), bytes)
    expect((await failure('types.h5', folder)).message).toMatch(
      /types\.h5 is damaged at byte \d+: the zlib data/,
    )
  })

  it('have chunks whose damage names the dataset and the byte', async () => {
    const folder = goldenCopies('filters.h5')
    const { source } = await openHdf5({ path: 'filters.h5', datasets: { x: 'fletcher/7x33' } }, folder)
    const [range] = needOf(source, 0, ['x']).units.flatMap(({ leaf, unit }) => leaf.planUnit(unit, []))
    const file = join(folder, 'filters.h5')
    const bytes = readFileSync(file)
    bytes[range.offset + 5] ^= 1
    writeFileSync(file, bytes)
    const { source: again } = await openHdf5({ path: 'filters.h5', datasets: { x: 'fletcher/7x33' } }, folder)
    await expect(readAll(again, ['x'])).rejects.toThrow(
      `dataset "fletcher/7x33", chunk at byte ${range.offset}: the checksum (fletcher32) of a chunk is wrong`,
    )
  })
})
