/** Opens .npz files: ZIP archives of .npy arrays. Members of other names are columns of bytes. */

import { DecodeError } from '../../core/basics/errors.js'
import { MOST_HEADER, readNpyFront } from '../../core/basics/npy/front.js'
import { crc32 } from '../../core/codec/checksum.js'
import { inflateBeginning } from '../../core/codec/inflate.js'
import type { SourceKind } from '../../core/source/source.js'
import { attachArrays } from '../arrays/attach.js'
import type { ArrayFormat } from '../arrays/index-file.js'
import type { ArrayFilesJson } from '../arrays/manifest.js'
import { type ArrayType, bytesOfType, type Member } from '../arrays/member.js'
import { columnsOf, frontOf } from '../arrays/npy-columns.js'
import { openArrays } from '../arrays/open.js'
import { namingFile, piecesOf, type ReadPiece } from '../arrays/read-file.js'
import { dataStart, readZip, type ZipMember } from './zip.js'

/** Bytes of a deflated member that are read for its header: enough for one of NumPy's limit that does not shrink. */
const PACKED_HEADER = [512, MOST_HEADER + 64]
/** Bytes that are read at a time to compare a checksum. */
const PIECE = 4 << 20

const format: ArrayFormat = {
  kind: 'npz',
  read: (file, stores, check) => {
    let at: number | undefined
    return namingFile(
      file,
      async () => {
        const read = piecesOf(file, stores)
        const members: Member[] = []
        for (const member of await readZip(read, file.bytes)) {
          at = member.header
          members.push(...(await columnsIn(read, member, file.bytes)))
          if (check && !member.deflated) await checkStored(read, member)
        }
        return members
      },
      () => at ?? file.bytes,
    )
  },
}

/** The columns of one member. */
async function columnsIn(read: ReadPiece, member: ZipMember, bytes: number): Promise<Member[]> {
  const { name, packed, size, crc, deflated } = member
  const at = await dataStart(read, member)
  if (at + packed > bytes)
    throw new DecodeError(`zip member "${name}" ends behind the file's end: the archive is cut off`)
  const inside: ReadPiece = (offset, length) =>
    read(at + offset, Math.min(length, Math.max(0, packed - offset)))
  if (!name.endsWith('.npy')) {
    const type = { raw: true, shape: [], item: size }
    const unpack = deflated ? { deflated: { size, skip: 0, crc } } : { sum: { header: 0, crc } }
    return [{ column: name, type, at, length: packed, ...unpack }]
  }
  const front = deflated ? readNpyFront(await unpackedFront(inside)) : await frontOf(inside)
  const column = name.slice(0, -'.npy'.length)
  const sum = deflated ? undefined : { header: crc32(await inside(0, front.start)), crc }
  const stored = (type: ArrayType): Pick<Member, 'at' | 'length' | 'sum'> => {
    const length = bytesOfType(type)
    return { at: at + front.start, length, ...(length === size - front.start && { sum }) }
  }
  return columnsOf(front, size - front.start).map(({ field, type }) => ({
    column: field === '' ? column : `${column}.${field}`,
    type,
    ...(deflated ? { at, length: packed, deflated: { size, skip: front.start, crc } } : stored(type)),
  }))
}

/** Compares the checksum of a stored member: for `verify`, since a run reads large arrays and single rows straight into batches. */
async function checkStored(read: ReadPiece, member: ZipMember): Promise<void> {
  const at = await dataStart(read, member)
  let crc = 0
  for (let from = 0; from < member.size; from += PIECE)
    crc = crc32(await read(at + from, Math.min(PIECE, member.size - from)), crc)
  if (crc === member.crc) return
  throw new DecodeError(
    `zip member "${member.name}" has another checksum (CRC-32) than the archive says: it is damaged, copy or write the file again`,
  )
}

/** The first unpacked bytes: all of the header. */
async function unpackedFront(read: ReadPiece): Promise<Uint8Array> {
  let begun: Uint8Array = new Uint8Array(0)
  for (const length of PACKED_HEADER) {
    begun = inflateBeginning(await read(0, length), MOST_HEADER)
    if (begun.length >= 128) break
  }
  return begun
}

export const npz: SourceKind<ArrayFilesJson> = {
  open: (json, context) => openArrays(format, json, context),
  attach: attachArrays,
}
