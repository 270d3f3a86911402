/** Reads a trace from a file, compressed or not, whole or cut short, in any of the formats that `scan.ts` knows. */
import { MillraceError } from '../../../basics/errors.js'
import { EventReader, type ReadEvent } from './events.js'
import { EventScanner } from './scan.js'
import { unpack } from './unpack.js'

/** So many bytes of a file are looked at to tell whether it is a trace. */
const LOOKED_AT = 4 << 20

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
  const damage = await unpack(path, piece => {
    scanner.add(piece)
    return false
  })
  if (events + reader.other + reader.unfinished === 0)
    throw new MillraceError(
      `${path} holds no events of a trace${damage ? `: ${damage}` : ''} (\`millrace run --trace\` and \`millrace trace record\` write them)`,
    )
  if (scanner.baseMs !== undefined) out({ type: 'clock', monotonicMs: 0, realtimeMs: scanner.baseMs })
  return {
    events,
    bad: scanner.bad + reader.bad,
    unfinished: reader.unfinished,
    other: reader.other,
    cut: !scanner.ended || damage !== undefined,
    ...(damage !== undefined && { damage }),
  }
}

/** Whether a file is a trace, by its first events; or holds nothing yet. */
export async function isTrace(path: string): Promise<boolean> {
  let found = 0
  const reader = new EventReader(() => found++)
  const scanner = new EventScanner(reader.read)
  let seen = 0
  let text = ''
  await unpack(path, piece => {
    scanner.add(piece)
    text = (text + Buffer.from(piece.subarray(0, 16)).toString('latin1')).slice(0, 16)
    seen += piece.length
    return seen > LOOKED_AT || found + reader.other + reader.unfinished > 0
  })
  // A recorder that was killed at once leaves a bracket.
  return found + reader.other + reader.unfinished > 0 || /^\s*\[?\s*\]?\s*$/.test(text)
}
