/**
 * Bytes of bad samples' pictures. The notes of an engine say where they lie: a file is read only if it lies where the
 * definition's source is, is no larger than a picture is, and begins as pictures do.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import type { BadNote, RingNote } from '../../../core/engine/ring/ring-note.js'

/** A larger picture is not shown. */
const MOST_BYTES = 8 * 2 ** 20
/** Blocks of a tar file, and members of a sample that are looked at. */
const BLOCK = 512
const MEMBERS = 16
/** Bytes that tell what a picture is. */
const BEGIN = 16

const TYPES: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/png', /^\x89PNG\r\n/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF....WEBP/s],
  ['image/bmp', /^BM/],
]

export interface BadPicture {
  type: string
  bytes: Buffer
}

/** Undefined: there is no picture, or it may not be shown. `probe`: only its beginning is read. */
export function badPicture(
  note: RingNote,
  { file, offset = 0 }: BadNote,
  probe = false,
): BadPicture | undefined {
  if (file === undefined) return undefined
  let fd: number | undefined
  try {
    const path = realpathSync(resolve(note.root, file))
    if (!foldersOf(note).some(folder => path === folder || path.startsWith(folder + sep))) return undefined
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) // a named pipe would make us wait
    const stat = fstatSync(fd)
    if (!stat.isFile()) return undefined
    const isTar = /\.tar$/i.test(path)
    if (isTar) return memberAt(fd, offset, probe)
    return offset === 0 && stat.size <= MOST_BYTES
      ? pictureIn(read(fd, 0, probe ? BEGIN : stat.size))
      : undefined
  } catch {
    return undefined // gone, or not for us to read
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** The folders that the paths of a source name, as they really are; of patterns, the part before the first wildcard. */
function foldersOf({ definition, root }: RingNote): string[] {
  return textsIn(definition?.source).flatMap(text => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return []
    const fixed = text.replace(/[*?{[].*$/s, '*')
    const path = resolve(root, fixed.endsWith('*') ? dirname(fixed) : fixed)
    try {
      return [realpathSync(path)]
    } catch {
      return []
    }
  })
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

/** The first picture of a sample in a tar file that begins at a byte: its members have the same key. */
function memberAt(fd: number, offset: number, probe: boolean): BadPicture | undefined {
  let at = offset
  let key: string | undefined
  for (let i = 0; i < MEMBERS; i++) {
    const head = read(fd, at, BLOCK)
    if (head.length < BLOCK || head.toString('latin1', 257, 262) !== 'ustar') return undefined
    const size = Number.parseInt(head.toString('latin1', 124, 136).replace(/\0.*$/s, '').trim(), 8)
    const name = head.toString('utf8', 0, 100).replace(/\0.*$/s, '')
    if (!(size >= 0)) return undefined
    const isFile = head[156] === 0x30 || head[156] === 0
    const own = name.replace(/^(.*\/)?([^/.]*).*$/s, '$1$2')
    if (isFile) {
      key ??= own
      if (own !== key) return undefined
      const found =
        size <= MOST_BYTES ? pictureIn(read(fd, at + BLOCK, probe ? Math.min(BEGIN, size) : size)) : undefined
      if (found !== undefined) return found
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return undefined
}

function pictureIn(bytes: Buffer): BadPicture | undefined {
  const begin = bytes.toString('latin1', 0, BEGIN)
  const found = TYPES.find(([, begins]) => begins.test(begin))
  return found && { type: found[0], bytes }
}

function read(fd: number, at: number, bytes: number): Buffer {
  const into = Buffer.alloc(bytes)
  let got = 0
  while (got < bytes) {
    const more = readSync(fd, into, got, bytes - got, at + got)
    if (more === 0) break
    got += more
  }
  return into.subarray(0, got)
}
