/** Reads a trace from a file, compressed or not, whole or cut short, in any of the formats that `scan.ts` knows. */
import { closeSync, createReadStream, readSync } from 'node:fs'
import { createGunzip, constants as zlib } from 'node:zlib'
import { MillraceError } from '../../../basics/errors.js'
import { openRegular } from '../../../system/files/regular.js'
import { EventReader, type ReadEvent } from './events.js'
import { EventScanner } from './scan.js'

/** What a file lacks. */
export interface ReadNotes {
  events: number
  /** Events that can't be read, that never ended, and of kinds that are not shown. */
  bad: number
  unfinished: number
  other: number
  /** The file ends before the trace does: it is being written, its writer was killed, or a part is missing. */
  cut: boolean
  /** What is wrong with its compression. */
  damage?: string
}

/** Gives out all events of a trace. Throws where the file has none. */
export async function readTrace(path: string, out: (event: ReadEvent) => void): Promise<ReadNotes> {
  let events = 0
  const reader = new EventReader(event => {
    events++
    out(event)
  })
  const scanner = new EventScanner(reader.read)
  const damage = await pieces(path, piece => scanner.add(piece))
  if (events === 0)
    throw new MillraceError(
      `${path} holds no events of a trace${damage ? `: ${damage}` : ''} (\`millrace run --trace\` and \`millrace trace record\` write them)`,
    )
  return {
    events,
    bad: scanner.bad + reader.bad,
    unfinished: reader.unfinished,
    other: reader.other,
    cut: !scanner.ended || damage !== undefined,
    ...(damage !== undefined && { damage }),
  }
}

/** The bytes of a file, unpacked. Returns what is wrong with their compression. */
async function pieces(path: string, add: (piece: Uint8Array) => void): Promise<string | undefined> {
  const packed = isPacked(path)
  // Where compressed bytes are damaged, those that were read with them are lost: small pieces.
  const file = createReadStream(path, { highWaterMark: packed ? 1 << 14 : 1 << 18 })
  if (!packed) {
    for await (const piece of file) add(piece as Buffer)
    return undefined
  }
  // A member that is cut short gives what it has.
  const unpacked = createGunzip({ finishFlush: zlib.Z_SYNC_FLUSH })
  file.on('error', error => unpacked.destroy(error))
  file.pipe(unpacked)
  try {
    for await (const piece of unpacked) add(piece as Buffer)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !code.startsWith('Z_')) throw error
    return `its compression is damaged (${(error as Error).message})`
  } finally {
    file.destroy()
  }
}

function isPacked(path: string): boolean {
  const { fd } = openRegular(path)
  try {
    const head = Buffer.alloc(2)
    return readSync(fd, head, 0, 2, 0) === 2 && head[0] === 0x1f && head[1] === 0x8b
  } finally {
    closeSync(fd)
  }
}
