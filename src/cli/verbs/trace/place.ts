/** Where a trace may be written: over no file but a trace, and over none that the same command reads or writes. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { MillraceError } from '../../../basics/errors.js'
import { UsageError } from '../../command.js'

/** Throws where `path` is no place for a trace. `others`: files of the command, by what they are to it. */
export async function checkTracePlace(
  option: string,
  path: string | undefined,
  others: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  if (path === undefined) return
  const [{ checkTrace }, { isTrace }] = await Promise.all([
    import('../../audit.js'),
    import('../../../observe/trace/read/file.js'),
  ])
  checkTrace(option, path)
  for (const [what, other] of Object.entries(others))
    if (other !== undefined && isSame(path, other))
      throw new UsageError(`${option} ${path} is the same file as ${what}: choose another name`)
  if (existsSync(path) && !(await isTrace(path)))
    throw new MillraceError(
      `${option} ${path}: that file is there and is no trace: remove it, or choose another name`,
    )
}

/** Whether two names lead to one file, over whatever links. */
function isSame(a: string, b: string): boolean {
  if (resolve(a) === resolve(b)) return true
  if (!existsSync(a) || !existsSync(b)) return false // the other one may be no name at all
  const [one, other] = [statSync(a), statSync(b)]
  return one.dev === other.dev && one.ino === other.ino
}
