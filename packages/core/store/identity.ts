/**
 * What a file was when it was indexed, and whether it still is that file.
 *
 *   size or mtime differ                    it was changed
 *   nothing else is kept, or all is equal   it is the same
 *   only ctime or inode differ              a copy, a changed mode, another hard link; or new contents under an old time.
 *                                           The probes decide: stretches of the file whose CRC-32 is known
 */
import { fstatSync, readSync, type Stats } from 'node:fs'
import { crc32 } from 'node:zlib'

/** Bytes of a probe: a tar header and the beginning of the member behind it. */
const PROBE_BYTES = 1024

export interface FileIdentity {
  size: number
  mtimeMs: number
  /** Absent where the index holds nothing of the contents: then size and mtime are all that matters. */
  ctimeMs?: number
  ino?: number
  /** Pairs of offset and CRC-32 of the PROBE_BYTES from there on (or up to the end of the file). */
  probes?: ArrayLike<number>
  /** The index that lists the file, and whether all its files were looked at when the feed was opened. */
  index?: { path: string; checksum: number; checked: boolean }
}

/** All that is known of a local file. */
export type LocalVersion = Required<Pick<FileIdentity, 'size' | 'mtimeMs' | 'ctimeMs' | 'ino'>>

export type Likeness = 'same' | 'moved' | 'changed'

export function likeness(was: FileIdentity, now: LocalVersion): Likeness {
  if (was.size !== now.size || was.mtimeMs !== now.mtimeMs) return 'changed'
  if (was.ctimeMs === undefined) return 'same'
  return was.ctimeMs === now.ctimeMs && was.ino === now.ino ? 'same' : 'moved'
}

/** The probes of a file at some offsets; `read` fills what it is given from an offset on. */
export function takeProbes(
  read: (into: Buffer, offset: number) => void,
  size: number,
  offsets: readonly number[],
): number[] {
  return offsets.flatMap(offset => {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(PROBE_BYTES, size - offset)))
    read(buffer, offset)
    return [offset, crc32(buffer)]
  })
}

/** Whether the contents at the probes are what they were. `most` looks at the first few only. */
export function probesAgree(fd: number, { size, probes = [] }: FileIdentity, most = Infinity): boolean {
  const buffer = Buffer.allocUnsafe(PROBE_BYTES)
  for (let i = 0; i < Math.min(probes.length, 2 * most); i += 2) {
    if (probe(fd, size, probes[i], buffer) !== probes[i + 1]) return false
  }
  return true
}

/** What happened to a file, in words; undefined when it is still the one that was indexed. */
export function changeOf(was: FileIdentity, fd: number, now: Stats = fstatSync(fd)): string | undefined {
  const like = likeness(was, now)
  if (like === 'same' || (like === 'moved' && probesAgree(fd, was))) return undefined
  if (was.size !== now.size) return `it had ${was.size} bytes, now it has ${now.size}`
  return like === 'changed'
    ? 'it has another time of change'
    : 'it has other contents under the same time of change'
}

function probe(fd: number, size: number, offset: number, buffer: Buffer): number {
  const length = Math.max(0, Math.min(PROBE_BYTES, size - offset))
  let filled = 0
  while (filled < length) {
    const got = readSync(fd, buffer, filled, length - filled, offset + filled)
    if (got === 0) break
    filled += got
  }
  return crc32(buffer.subarray(0, filled))
}
