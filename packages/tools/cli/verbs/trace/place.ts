/** Where a trace may be written: over no file but a trace, and over none that the same command reads or writes. */
import { closeSync, existsSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { MillraceError } from '../../../../core/basics/errors.js'
import { openRegular } from '../../../../core/system/files/regular.js'
import { UsageError } from '../../command.js'

/** Bytes of a file that are looked at to tell whether it is a trace. */
const LOOKED_AT_BYTES = 4096

/** Throws where `path` is no place for a trace. `others`: files of the command, by what they are to it. */
export async function checkTracePlace(
  option: string,
  path: string | undefined,
  others: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  if (path === undefined) return
  const { checkTrace } = await import('../../audit.js')
  checkTrace(option, path)
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
