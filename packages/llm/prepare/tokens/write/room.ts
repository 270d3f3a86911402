/** Room on the disk: what is foreseen is told before anything is written, what comes later in plain words. */
import { statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SourceError } from '../../../../core/basics/errors.js'

const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Throws where a file of so many bytes does not fit beside what is there. Its folder must be there. */
export function checkRoom(file: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(resolve(file)))
  const free = bavail * bsize
  if (bytes > free)
    throw new SourceError(
      `no room for ${file}: it takes ${bytes} bytes, but ${free} are free: make room, or choose another place (--out)`,
      { file },
    )
}

/** An error that says that the disk is full, in plain words; others stay as they are. */
export function explainRoom(error: unknown): unknown {
  const { code = '', path } = error as NodeJS.ErrnoException
  if (!NO_ROOM.includes(code) || path === undefined) return error
  const problem =
    code === 'EFBIG'
      ? `${path} reached the limit on the size of files: raise \`ulimit -f\``
      : `disk full while writing ${path}: make room, or choose another place (--out)`
  return new SourceError(`${problem}. Nothing was left behind`, { file: path, cause: error })
}
