/**
 * Reads the directory of a ZIP archive: which members it has, where their bytes lie, and how they are packed. Only the central
 * directory counts, as for Python's zipfile: sizes stand there even where a member was written as a stream.
 *
 *   local header, name, extra, bytes │ … │ central directory │ zip64 end │ zip64 locator │ end, comment
 *
 * Members that are stored or deflated can be read. Archives in several parts and encrypted members are refused. Members must not
 * overlap, nor claim to unpack to more than deflate can: such archives are made to do harm.
 */
import { DecodeError } from '../../core/basics/errors.js'
import type { ReadPiece } from '../arrays/read-file.js'

export interface ZipMember {
  name: string
  /** Offset of its local header: the bytes begin behind that, at `dataStart`. */
  header: number
  /** Bytes in the archive, and after unpacking. */
  packed: number
  size: number
  crc: number
  deflated: boolean
}

const END = 0x06054b50
const END_BYTES = 22
const LOCATOR_64 = 0x07064b50
const LOCATOR_BYTES = 20
const END_64 = 0x06064b50
const END_64_BYTES = 56
const ENTRY = 0x02014b50
const ENTRY_BYTES = 46
const LOCAL = 0x04034b50
const LOCAL_BYTES = 30
/** A comment may stand behind the end. */
const MOST_COMMENT = 0xffff
/** Bytes that are looked at first for the end: enough for archives without a long comment, and for small directories. */
const FIRST_LOOK = 4096
/** Bytes of a central directory: some two million members. */
const MOST_DIRECTORY = 256 << 20
/** Deflate packs 258 bytes into 2 bits at best. */
const MOST_RATIO = 1032
const ENCRYPTED = 1
const UTF8 = 0x800
const IN_EXTRA = 0xffffffff
const STORED = 0
const DEFLATED = 8

/** Of several members of one name none is right, or the last: it was written in place of the others. */
export type Repeats = 'refused' | 'last'

/** All members of an archive of `bytes` bytes that are no folders, in the order of the directory. */
export async function readZip(
  read: ReadPiece,
  bytes: number,
  repeats: Repeats = 'refused',
): Promise<ZipMember[]> {
  const { offset, length, count } = await findDirectory(read, bytes)
  if (length > MOST_DIRECTORY)
    throw new DecodeError(`zip directory has ${length} bytes, more than ${MOST_DIRECTORY}: it is damaged`)
  if (!(offset + length <= bytes) || count * ENTRY_BYTES > length)
    throw new DecodeError(
      `zip directory of ${count} members and ${length} bytes at offset ${offset} does not fit into a file of ${bytes} bytes: it is cut off`,
    )
  const members = readEntries(await read(offset, length), count, repeats)
  checkPlaces(members, offset)
  const last = new Map(members.map(member => [member.name, member]))
  return [...last.values()].filter(({ name }) => !name.endsWith('/'))
}

interface Directory {
  offset: number
  length: number
  count: number
}

async function findDirectory(read: ReadPiece, bytes: number): Promise<Directory> {
  for (const look of [FIRST_LOOK, MOST_COMMENT + END_BYTES + LOCATOR_BYTES]) {
    const from = Math.max(0, bytes - look)
    const tail = await read(from, bytes - from)
    for (let at = tail.length - END_BYTES; at >= 0; at--) {
      if (tail[at] !== 0x50 || tail.readUInt32LE(at) !== END) continue
      // The comment reaches to the end of the file: these bytes may also stand within it.
      if (at + END_BYTES + tail.readUInt16LE(at + 20) !== tail.length) continue
      const last = readEnd(tail, at)
      const locator = at >= LOCATOR_BYTES ? at - LOCATOR_BYTES : -1
      if (locator >= 0 && tail.readUInt32LE(locator) === LOCATOR_64)
        return readEnd64(read, Number(tail.readBigUInt64LE(locator + 8)))
      return last
    }
    if (from === 0) break
  }
  throw new DecodeError('is no zip archive, or its end is missing: copy or write it again')
}

function readEnd(tail: Buffer, at: number): Directory {
  if (tail.readUInt16LE(at + 4) !== tail.readUInt16LE(at + 6))
    throw new DecodeError('is one part of a zip archive in several: join them first (zip -s 0)')
  return {
    count: tail.readUInt16LE(at + 10),
    length: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
  }
}

async function readEnd64(read: ReadPiece, at: number): Promise<Directory> {
  const end = await read(at, END_64_BYTES)
  if (end.length < END_64_BYTES || end.readUInt32LE(0) !== END_64)
    throw new DecodeError(
      `zip64 end of the directory is not at offset ${at}, where it should be: it is damaged`,
    )
  return {
    count: Number(end.readBigUInt64LE(32)),
    length: Number(end.readBigUInt64LE(40)),
    offset: Number(end.readBigUInt64LE(48)),
  }
}

function readEntries(directory: Buffer, count: number, repeats: Repeats): ZipMember[] {
  const members: ZipMember[] = []
  const names = new Set<string>()
  let at = 0
  for (let i = 0; i < count; i++) {
    if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY)
      throw new DecodeError(
        `zip directory is damaged at its byte ${at}: member ${i} of ${count} should be there`,
      )
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28)
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30)
    const end = extraEnd + directory.readUInt16LE(at + 32)
    if (end > directory.length) throw new DecodeError(`zip directory is cut off in member ${i} of ${count}`)
    const flags = directory.readUInt16LE(at + 8)
    const name = directory.toString(flags & UTF8 ? 'utf8' : 'latin1', at + ENTRY_BYTES, nameEnd)
    if (repeats === 'last') names.delete(name)
    checkName(name, names)
    members.push(readEntry(directory, at, name, flags, directory.subarray(nameEnd, extraEnd)))
    at = end
  }
  return members
}

function readEntry(directory: Buffer, at: number, name: string, flags: number, extra: Buffer): ZipMember {
  const method = directory.readUInt16LE(at + 10)
  if (flags & ENCRYPTED)
    throw new DecodeError(`zip member "${name}" is encrypted: write it without a password`)
  if (method !== STORED && method !== DEFLATED)
    throw new DecodeError(
      `zip member "${name}" is packed by method ${method}: only stored and deflated ones can be read; ` +
        'write it by numpy.savez or savez_compressed',
    )
  // Sizes that need more than 32 bits stand in the extra field, in this order, those that do alone.
  const wide = zip64Of(extra)
  const number = (place: number): number => {
    const short = directory.readUInt32LE(at + place)
    return short === IN_EXTRA ? (wide.shift() ?? short) : short
  }
  const [size, packed, header] = [number(24), number(20), number(42)]
  const member = {
    name,
    header,
    packed,
    size,
    crc: directory.readUInt32LE(at + 16),
    deflated: method === DEFLATED,
  }
  if (method === STORED && packed !== size)
    throw new DecodeError(`zip member "${name}" is stored in ${packed} bytes, and has ${size}: it is damaged`)
  if (size > packed * MOST_RATIO + 64)
    throw new DecodeError(
      `zip member "${name}" of ${packed} bytes claims to unpack to ${size}, which deflate can't do: it is made to do harm`,
    )
  return member
}

function zip64Of(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    const end = at + 4 + extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) !== 1 || end > extra.length) continue
    const numbers: number[] = []
    for (let i = at + 4; i + 8 <= end; i += 8) numbers.push(Number(extra.readBigUInt64LE(i)))
    return numbers
  }
  return []
}

/** Names are names of columns, never paths. Those that would lead elsewhere are refused all the same. */
function checkName(name: string, names: Set<string>): void {
  if (names.has(name)) throw new DecodeError(`zip has two members "${name}": it can't be told which is meant`)
  names.add(name)
  if (name === '' || name.startsWith('/') || /(^|[/\\])\.\.([/\\]|$)|\0/.test(name))
    throw new DecodeError(
      `zip has a member named "${name}", which leads out of the archive: it is made to do harm`,
    )
}

function checkPlaces(members: readonly ZipMember[], directory: number): void {
  const sorted = [...members].sort((a, b) => a.header - b.header)
  sorted.forEach(({ name, header, packed }, i) => {
    const next = sorted[i + 1]?.header ?? directory
    if (header + LOCAL_BYTES + packed <= next) return
    throw new DecodeError(
      `zip member "${name}" of ${packed} bytes at offset ${header} overlaps what follows at ${next}: it is damaged, or made to do harm`,
    )
  })
}

/** Where the bytes of a member begin, by its local header, whose name and extra field may be longer than the directory's. */
export async function dataStart(read: ReadPiece, { name, header }: ZipMember): Promise<number> {
  const local = await read(header, LOCAL_BYTES)
  if (local.length < LOCAL_BYTES || local.readUInt32LE(0) !== LOCAL)
    throw new DecodeError(`zip member "${name}" does not begin at offset ${header}: the archive is damaged`)
  return header + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28)
}
