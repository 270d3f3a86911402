/**
 * Damaged HDF5 files: each is refused by an error that names the file and the byte, or read as what it says. Newer files have checksums over
 * their structure, which would find nearly all damage: here any checksum is right.
 */
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, vi } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import type { IndexTools } from '../../../core/source/index/of-file.js'
import { RowReader } from '../../../core/source/row-reader.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import { HDF5_INDEX } from '../../hdf5/index-build.js'
import { GOLDEN, openHdf5 } from './support.js'

vi.mock('../../../core/codec/checksum.js', async original => ({
  ...(await original<typeof import('../../../core/codec/checksum.js')>()),
  /** The checksum that stands behind the bytes. */
  lookup3: (bytes: Uint8Array) => {
    const behind = new DataView(bytes.buffer, bytes.byteOffset + bytes.length)
    return behind.byteLength < 4 ? 0 : behind.getUint32(0, true)
  },
}))

/** Tables have room for 2²⁰ chunks that were never written: 8 MiB each. */
const MOST = 16 << 20
/** A unit may say that it is larger. Whether there is room for it is the cache's affair. */
const READ = 8 << 20

const STRUCTURES = [
  'layouts-earliest.h5',
  'layouts-v110.h5',
  'layouts-v200.h5',
  'groups-earliest.h5',
  'groups-latest.h5',
  'types.h5',
  'user-block.h5',
  'edges.h5',
  'shared-messages.h5',
  'weather.nc',
]

it.each(STRUCTURES)('the structure of %s', { timeout: 120_000 }, async name => {
  const golden = readFileSync(join(GOLDEN, name))
  const attempt = async (damaged: Uint8Array): Promise<void> => {
    const bytes = Buffer.from(damaged)
    const read: IndexTools['read'] = async (into, at) => bytes.copy(into, 0, at, at + into.length)
    using stores = new Stores()
    const file = { file: `/${name}`, name, bytes: bytes.length, version: 'x' }
    await HDF5_INDEX.build(file, { read, stores, piece: 0, local: true })
  }
  await attempt(golden)
  await survives(golden, attempt, { most: MOST, says: new RegExp(name) })
})

it.each(['filters.h5', 'types.h5', 'layouts-earliest.h5', 'layouts-v110.h5', 'masked.h5'])(
  'the data of %s',
  { timeout: 120_000 },
  async name => {
    const golden = readFileSync(join(GOLDEN, name))
    const folder = temporaryFolder()
    const path = join(folder, name)
    const attempt = async (damaged: Uint8Array): Promise<void> => {
      writeFileSync(path, damaged)
      utimesSync(path, 1e9, 1e9)
      rmSync(join(folder, `.${name}.millrace`), { force: true })
      const { source } = await openHdf5(name, folder)
      const large = source.leaves?.some(leaf => leaf.unitBytes(0, leaf.columns) > READ)
      if (large) return
      using stores = new Stores()
      const rows = new RowReader(source, new Reader(stores))
      for (let row = 0; row < Math.min(source.count, 8); row++) await rows.read(row, source.columns)
    }
    await attempt(golden)
    await survives(golden, attempt, { most: MOST, runs: 40 })
  },
)
