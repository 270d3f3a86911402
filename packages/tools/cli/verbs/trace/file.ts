/** The file of a trace, for verbs that write one: its size, where it may lie, and what is said of it in the end. */
import { closeSync, existsSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { MillraceError } from '../../../../core/basics/errors.js'
import { openRegular } from '../../../../core/system/files/regular.js'
import { UsageError } from '../../command.js'
import { say } from '../../say.js'
import { counted } from '../../units.js'
import type { EndedTrace } from './recorded.js'

/** In fewer bytes there is room for a few steps at best. */
const LEAST_BYTES = 65_536

/** The size of a trace at the most: an option of `run` and `trace record`. */
export const TRACE_LIMIT = { type: 'bytes', value: 'BYTES', least: LEAST_BYTES } as const

/** Bytes of a file that are looked at to tell whether it is a trace. */
const LOOKED_AT_BYTES = 4096

/** Throws where `path` is no place for a trace: over no file but a trace, and over none of `others`, which the command reads or writes. */
export async function checkTracePlace(
  option: string,
  path: string | undefined,
  others: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  if (path === undefined) return
  const { checkPlace } = await import('../../audit.js')
  checkPlace(option, path, false)
  if (!/\.(json|pfw)(\.gz)?$/.test(path))
    throw new UsageError(`${option} ends in .json, .json.gz, .pfw or .pfw.gz, not as ${path} does`)
  for (const [what, other] of Object.entries(others))
    if (other !== undefined && isSame(path, other))
      throw new UsageError(`${option} ${path} is the same file as ${what}: choose another name`)
  if (existsSync(path) && !isTrace(path))
    throw new MillraceError(
      `${option} ${path}: that file is there and is no trace: remove it, or choose another name`,
    )
}

/** Whether a file begins as a trace does, or holds nothing yet. A recorder that was killed at once leaves a bracket. */
function isTrace(path: string): boolean {
  const { fd } = openRegular(path)
  try {
    const bytes = Buffer.alloc(LOOKED_AT_BYTES)
    const begin = bytes.subarray(0, readSync(fd, bytes))
    const packed = begin[0] === 0x1f && begin[1] === 0x8b
    const text = packed ? gunzipSync(begin, { finishFlush: constants.Z_SYNC_FLUSH }) : begin
    return /^\s*(\[\s*(\]?\s*$|\{[\s\S]*"ph":)|$)/.test(text.toString('latin1'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) return false
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Whether two names lead to one file, over whatever links. */
function isSame(a: string, b: string): boolean {
  if (resolve(a) === resolve(b)) return true
  if (!existsSync(a) || !existsSync(b)) return false // the other one may be no name at all
  const [one, other] = [statSync(a), statSync(b)]
  return one.dev === other.dev && one.ino === other.ino
}

/** Where the trace is, and how to look at it. */
export function traceLine(trace: EndedTrace | undefined): string {
  if (trace === undefined || trace.failed !== undefined) return ''
  const { file, full, lost } = trace
  const missing = [
    ...(full ? ['it ended at --trace-limit, before the run did'] : []),
    ...(lost > 0 ? [`${counted(lost, 'record')} came too fast`] : []),
  ]
  const but = missing.length > 0 ? `; ${missing.join('; ')}` : ''
  const how = /\.json(\.gz)?$/.test(file) ? ' (drop it on ui.perfetto.dev)' : ''
  return `\ntrace: ${file}${how}${but}`
}

/** Tells of a trace that could not be written to its end. The result of the run is printed all the same. Returns the exit status. */
export function tellFailure(trace: EndedTrace | undefined): number {
  if (trace?.failed === undefined) return 0
  const text = `--trace ${trace.file} is not whole: ${trace.failed}. The run itself went on to its end`
  say(`millrace: ${text}`)
  return 1
}
