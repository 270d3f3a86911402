/** Where an HDF5 file begins: its signature, the sizes of its numbers, and its root group. */
import { inFile } from '../../../core/basics/errors.js'
import { lookup3 } from '../../../core/codec/checksum.js'
import { type Cursor, type Hdf5Bytes, NOWHERE } from './bytes.js'

const SIGNATURE = '\x89HDF\r\n\x1a\n'
/** A user may keep a block of his own before the file: of 512 bytes, or of any power of two above. */
const FIRST_USER_BLOCK = 512
/** Bytes that the longest superblock takes. */
const MOST = 128

/** Flags of version 3. */
const OPEN_FOR_WRITING = 1
const OPEN_BY_SWMR = 4

/** Reads it, tells `file` what it says, and gives the address of the root group. */
export async function readSuperblock(file: Hdf5Bytes): Promise<number> {
  const start = await findSignature(file)
  if (start === undefined) {
    throw inFile(
      file.file,
      `is no HDF5 file: it does not begin with HDF5's signature; classic netCDF (version 3) and HDF4 files are others: ` +
        'convert them (`nccopy -k nc4 old.nc new.nc`)',
      { offset: 0 },
    )
  }
  file.base = start
  const cursor = await file.cursor(0, Math.min(MOST, file.size - start))
  cursor.skip(8)
  const version = cursor.u8()
  if (version > 3) throw cursor.fault(`its superblock has version ${version}, and 0 to 3 are known`)
  return version < 2 ? oldSuperblock(cursor, version) : newSuperblock(cursor, version)
}

async function findSignature(file: Hdf5Bytes): Promise<number | undefined> {
  for (let at = 0; at + SIGNATURE.length <= file.size; at = at === 0 ? FIRST_USER_BLOCK : 2 * at) {
    const bytes = await file.at(at, SIGNATURE.length)
    if (bytes.toString('latin1') === SIGNATURE) return at
  }
  return undefined
}

function sizes(cursor: Cursor): void {
  const { file } = cursor
  const [offsetSize, lengthSize] = [cursor.u8(), cursor.u8()]
  for (const size of [offsetSize, lengthSize])
    if (![2, 4, 8].includes(size))
      throw cursor.fault(`its addresses or lengths have ${size} bytes, not 2, 4 or 8`)
  file.offsetSize = offsetSize
  file.lengthSize = lengthSize
}

function oldSuperblock(cursor: Cursor, version: number): number {
  cursor.skip(4)
  sizes(cursor)
  cursor.skip(1 + 2 + 2 + 4) // reserved, sizes of nodes, flags
  if (version === 1) cursor.skip(4)
  const base = cursor.where()
  cursor.skip(cursor.file.offsetSize)
  const end = cursor.where()
  cursor.skip(cursor.file.offsetSize)
  cursor.skip(cursor.file.offsetSize) // the root's name
  const root = cursor.where()
  places(cursor, base, end)
  return root
}

function newSuperblock(cursor: Cursor, version: number): number {
  sizes(cursor)
  const flags = cursor.u8()
  const base = cursor.where()
  cursor.file.extension = cursor.where()
  const end = cursor.where()
  const root = cursor.where()
  const sum = lookup3(cursor.bytes.subarray(0, cursor.at))
  if (cursor.u32() !== sum) throw cursor.fault('the checksum of its superblock is wrong', 0)
  if (version === 3 && (flags & (OPEN_FOR_WRITING | OPEN_BY_SWMR)) !== 0) {
    const how =
      (flags & OPEN_BY_SWMR) !== 0 ? 'open for single-writer-multiple-reader (SWMR)' : 'open for writing'
    throw inFile(
      cursor.file.file,
      `is ${how}, or was not closed by the program that wrote it: close it there, or clear the mark ` +
        'with `h5clear -s`',
      { offset: cursor.file.base },
    )
  }
  places(cursor, base, end)
  return root
}

/**
 * Addresses count from the superblock's place. Where a block of the user's was put before the file later, or taken away, the
 * base address in the superblock is another one, and all moved with it.
 */
function places(cursor: Cursor, base: number, end: number): void {
  const { file } = cursor
  const last = end - Math.max(0, base) + file.base
  if (end !== NOWHERE && last <= file.size) return
  throw inFile(
    file.file,
    `has ${file.size} bytes, and its superblock says that it ends at byte ${last}: it is cut short, or was not ` +
      'closed by the program that wrote it; copy or write it again',
    { offset: file.base },
  )
}
