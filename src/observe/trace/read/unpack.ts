/** The bytes of a trace's file, unpacked where they are compressed, as far as they can be. */
import { closeSync, createReadStream, readSync } from 'node:fs'
import { createGunzip, constants as zlib } from 'node:zlib'
import { MillraceError } from '../../../basics/errors.js'
import { openRegular } from '../../../system/files/regular.js'

/** Bytes that are read at once: of a compressed file, and near a place where its compression is damaged. */
const PACKED = 1 << 14
const NEAR = 16
const PLAIN = 1 << 18

/** Takes a piece. True: it was enough. */
type Take = (piece: Uint8Array) => boolean

/** Gives out the bytes of a file. Returns what is wrong with their compression. */
export async function unpack(path: string, take: Take): Promise<string | undefined> {
  if (!isPacked(path)) {
    for await (const piece of createReadStream(path, { highWaterMark: PLAIN }))
      if (take(piece as Buffer)) break
    return undefined
  }
  let given = 0
  const first = await gunzip(path, Number.POSITIVE_INFINITY, piece => {
    given += piece.length
    return take(piece)
  })
  if (first === undefined) return undefined
  // What was read along with damaged bytes is lost. Read once more, in small pieces near the damage, and pass over the rest.
  let passed = 0
  const damage = await gunzip(path, first.packedBytes - 2 * PACKED, piece => {
    const known = Math.min(piece.length, Math.max(0, given - passed))
    passed += piece.length
    return known < piece.length && take(piece.subarray(known))
  })
  return (damage ?? first).what
}

/** Unpacks a file; from `near` on in small pieces. Returns where its compression is damaged. */
async function gunzip(
  path: string,
  near: number,
  take: Take,
): Promise<{ what: string; packedBytes: number } | undefined> {
  // A member that is cut short gives what it has.
  const unpacked = createGunzip({ finishFlush: zlib.Z_SYNC_FLUSH })
  const file = createReadStream(path, { highWaterMark: PACKED })
  const feeding = feed(file, unpacked, near)
  try {
    for await (const piece of unpacked) if (take(piece as Buffer)) break
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined || !code.startsWith('Z_')) throw error
    return { what: `its compression is damaged (${message})`, packedBytes: unpacked.bytesWritten }
  } finally {
    file.destroy()
    await feeding
  }
}

async function feed(file: AsyncIterable<Buffer>, into: ReturnType<typeof createGunzip>, near: number) {
  try {
    let at = 0
    for await (const piece of file) {
      const step = at + piece.length > near ? NEAR : piece.length
      for (let i = 0; i < piece.length; i += step) await write(into, piece.subarray(i, i + step))
      at += piece.length
    }
    into.end()
  } catch (error) {
    into.destroy(error as Error) // nothing, where it is destroyed already
  }
}

/** Writes a piece, and waits until it is unpacked. */
function write(into: ReturnType<typeof createGunzip>, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    into.once('close', resolve) // its readers are told why
    into.write(piece, error => {
      into.off('close', resolve)
      if (error) reject(error)
      else resolve()
    })
  })
}

function isPacked(path: string): boolean {
  const { fd } = openTrace(path)
  try {
    const head = Buffer.alloc(2)
    return readSync(fd, head, 0, 2, 0) === 2 && head[0] === 0x1f && head[1] === 0x8b
  } finally {
    closeSync(fd)
  }
}

function openTrace(path: string): { fd: number } {
  try {
    return openRegular(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EISDIR' || code === 'ENOTREG') throw new MillraceError(`${message}: give a trace`)
    throw error
  }
}
