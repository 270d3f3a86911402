/** Reads texts of files: lines that begin in a range of a plain one, all of a compressed one, those of a block, or the whole file. */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { ChangedError, DecodeError, SourceError } from '../../../../core/basics/errors.js'
import { openRegular, readFrom } from '../../../../core/system/files/regular.js'
import { refuseForeign, TELLING } from '../../../../formats/foreign.js'
import { scanGzip } from '../../../../formats/packed/gzip-scan.js'
import { streamZstd } from '../../../../formats/packed/zstd-scan.js'
import type { Input } from '../inputs.js'
import { type LineMemory, LONGEST, READ } from '../json/line-memory.js'

/** Bytes that are read to find the end of the last line. */
const BEHIND = 64 << 10
const MARK = Uint8Array.of(0xef, 0xbb, 0xbf)
const LF = 0x0a

/** The memory has the line: `memory.line`, `memory.text()`. */
export type EachLine = () => void
/** Told how many more bytes of the file were read. */
export type Report = (bytes: number) => void

/** The lines that begin in bytes [from, to) of a plain file. */
export function readRange(
  input: Input,
  from: number,
  to: number,
  memory: LineMemory,
  each: EachLine,
  report: Report,
): void {
  const { fd, close } = openInput(input)
  try {
    // The byte before tells whether a line begins here.
    let position = Math.max(0, from - 1)
    memory.begin(position)
    let inside = from > 0
    while (position < input.bytes) {
      const room = memory.room()
      const wanted = Math.min(
        position < to ? Math.min(READ, to - position) : BEHIND,
        input.bytes - position,
        room.length,
      )
      const got = readSync(fd, room, 0, wanted, position)
      if (got === 0) throw shortened(input, position)
      memory.filled(got)
      if (position === 0) passHead(memory, input.file)
      position += got
      report(Math.max(0, Math.min(got, to - position + got)))
      while (memory.next()) {
        if (inside) inside = false
        else if (memory.offset >= to) return
        else each()
      }
      // Behind the range, or in the middle of a line that began before it.
      if (inside ? position >= to : memory.position >= to) return
      refuseLong(memory, input.file)
    }
    if (!inside && memory.position < to && memory.last()) each()
  } finally {
    close()
  }
}

export async function readAll(
  input: Input,
  memory: LineMemory,
  each: EachLine,
  report: Report,
): Promise<void> {
  if (input.codec === undefined) return readRange(input, 0, input.bytes, memory, each, report)
  memory.begin(0)
  let first = true
  const lines = (): void => {
    if (first && memory.waiting > 0) passHead(memory, input.file)
    first = false
    while (memory.next()) each()
    refuseLong(memory, input.file)
  }
  // Where a document is bad, the file may be damaged, which its checksum at the end tells: that is the better message.
  let failed: { error: unknown } | undefined
  const found = (piece: Uint8Array): void => {
    try {
      if (failed === undefined) push(memory, piece, lines)
    } catch (error) {
      failed = { error }
    }
  }
  await unpack(input, found, report)
  if (failed !== undefined) throw failed.error
  if (memory.last()) each()
}

export function readBlock(bytes: Uint8Array, memory: LineMemory, each: EachLine): void {
  memory.begin(0)
  push(memory, bytes, () => {
    while (memory.next()) each()
  })
  if (memory.last()) each()
}

function push(memory: LineMemory, piece: Uint8Array, then: () => void): void {
  for (let at = 0; at < piece.length; ) {
    const room = memory.room()
    const some = piece.subarray(at, at + Math.min(READ, room.length))
    room.set(some)
    memory.filled(some.length)
    at += some.length
    then()
  }
}

/** What a compressed file stands for, piece by piece. A piece is valid during the call only. */
export async function unpack(
  input: Input,
  found: (piece: Uint8Array) => void,
  report: Report,
): Promise<void> {
  const { fd, close } = openInput(input)
  let reported = 0
  const progress = (bytes: number): void => {
    report(bytes - reported)
    reported = bytes
  }
  const read = async (into: Buffer, position: number): Promise<number> => {
    const got = readFrom(fd, into, position)
    if (got < into.length) throw shortened(input, position + got)
    return got
  }
  try {
    if (input.codec === 'zstd') await streamZstd(read, input.bytes, { found, progress })
    else await scanGzip(read, input.bytes, { found, progress, block: () => {} })
    progress(input.bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new SourceError(
      `${input.file} (${input.codec}) ${error.message}: copy or make it again, or leave it out`,
      { file: input.file, cause: error },
    )
  } finally {
    close()
  }
}

/** Opens a file that must still be the one that was planned with; `close` looks again. */
function openInput({ file, bytes, mtimeMs }: Input): { fd: number; close: () => void } {
  const { fd } = openRegular(file)
  const check = (): void => {
    const now = fstatSync(fd)
    if (now.size === bytes && now.mtimeMs === mtimeMs) return
    const how =
      now.size === bytes ? 'it has another time of change' : `it had ${bytes} bytes, now it has ${now.size}`
    throw new ChangedError(`${file} changed while it was tokenised: ${how}`, { file })
  }
  const close = (): void => {
    try {
      check()
    } finally {
      closeSync(fd)
    }
  }
  try {
    check()
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return { fd, close }
}

function shortened({ file, bytes }: Input, at: number): SourceError {
  return new ChangedError(
    `${file} changed while it was tokenised: it had ${bytes} bytes, now it ends at ${at}`,
    { file },
  )
}

/** At the beginning of a file: refuses what is no text, and passes over a byte order mark. */
function passHead(memory: LineMemory, file: string): void {
  const head = memory.head(TELLING)
  refusePacked(file, head)
  if (memory.beginsWith(MARK)) memory.pass(MARK.length)
}

/** Files that are no plain text, by their first bytes. */
function refusePacked(file: string, head: Buffer): void {
  const codec =
    head[0] === 0x1f && head[1] === 0x8b
      ? 'gzip: give it the ending .gz'
      : head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528
        ? 'zstd: give it the ending .zst'
        : undefined
  if (codec !== undefined) throw new SourceError(`${file} is compressed with ${codec}`, { file, offset: 0 })
  refuseForeign(file, head)
}

function refuseLong(memory: LineMemory, file: string): void {
  if (memory.waiting <= LONGEST) return
  throw new SourceError(
    `${file}: at byte ${memory.position} begins a line of more than ${LONGEST >> 20} MiB: is this file made of lines?`,
    { file, offset: memory.position },
  )
}

/** Numbers of lines, by the bytes at which they begin. It goes on from the last one where it can. */
export class LineNumbers {
  private file = ''
  private offset = 0
  private line = 1

  at(file: string, offset: number): number {
    if (file !== this.file || offset < this.offset) Object.assign(this, { file, offset: 0, line: 1 })
    const { fd } = openRegular(file)
    const block = Buffer.allocUnsafe(READ)
    try {
      while (this.offset < offset) {
        const got = readSync(fd, block, 0, Math.min(READ, offset - this.offset), this.offset)
        if (got === 0) break
        for (let found = block.indexOf(LF); found >= 0 && found < got; found = block.indexOf(LF, found + 1))
          this.line++
        this.offset += got
      }
    } finally {
      closeSync(fd)
    }
    return this.line
  }
}

/** All bytes of a file, without a byte order mark. */
export async function readWhole(input: Input, report: Report): Promise<Uint8Array> {
  const bytes = input.codec === undefined ? readPlain(input, report) : await readPacked(input, report)
  refusePacked(input.file, bytes.subarray(0, TELLING))
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function readPlain(input: Input, report: Report): Buffer {
  if (input.bytes > LONGEST) throw tooLong(input.file)
  const { fd, close } = openInput(input)
  try {
    const bytes = Buffer.allocUnsafeSlow(input.bytes)
    for (let at = 0; at < bytes.length; ) {
      const got = readSync(fd, bytes, at, bytes.length - at, at)
      if (got === 0) throw shortened(input, at)
      at += got
      report(got)
    }
    return bytes
  } finally {
    close()
  }
}

async function readPacked(input: Input, report: Report): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  await unpack(
    input,
    piece => {
      bytes += piece.length
      if (bytes > LONGEST) throw tooLong(input.file)
      pieces.push(Buffer.from(piece)) // a copy
    },
    report,
  )
  return Buffer.concat(pieces)
}

function tooLong(file: string): SourceError {
  return new SourceError(
    `${file} is one document of more than ${LONGEST >> 20} MiB: give --lines if each of its lines is one, or cut it into files`,
    { file },
  )
}
