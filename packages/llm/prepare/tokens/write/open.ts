/** Begins to write a token file. */
import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SourceError } from '../../../../core/basics/errors.js'
import { makeFolder } from '../../../../core/system/files/folder.js'
import { LLMC_KINDS } from '../../../tokens/formats/llmc.js'
import { DTYPE_CODES, type MegatronDtype } from '../../../tokens/formats/megatron.js'
import type { TokenDtype } from '../../../tokens/formats/token-file.js'
import { MegatronWriter } from './megatron-writer.js'
import { PlainWriter } from './plain-writer.js'
import { limitOf } from './token-stream.js'
import type { TokenWriter, WriterOptions, WrittenFormat } from './writer.js'

/** Megatron's own limit below which it takes u16. */
const MEGATRON_SHORT = 65500

/** A writer of the file that `out` names; the ending may be left out. Folders are made. */
export function openTokenWriter(out: string, options: WriterOptions): TokenWriter {
  const { format, eod } = options
  const files = filesOf(out, format)
  const dtype = dtypeFor(options, files[0])
  if (eod !== undefined && !(eod < Math.min(limitOf(dtype), options.vocabulary ?? Infinity))) {
    throw new SourceError(
      `${files[0]}: "eod" is ${eod}, which is no token of type ${dtype} in this vocabulary`,
      { file: files[0] },
    )
  }
  if (!options.overwrite) refuseExisting(files)
  makeFolder(dirname(resolve(files[0])))
  return format === 'megatron'
    ? new MegatronWriter(files[0].slice(0, -4), dtype as MegatronDtype, options)
    : new PlainWriter(files[0], dtype, options)
}

export function filesOf(out: string, format: WrittenFormat): string[] {
  if (format === 'npy') return [out.endsWith('.npy') ? out : `${out}.npy`]
  if (format !== 'megatron') return [out.endsWith('.bin') ? out : `${out}.bin`]
  const prefix = out.replace(/\.(bin|idx)$/, '')
  return [`${prefix}.bin`, `${prefix}.idx`]
}

export function refuseExisting(files: readonly string[]): void {
  const there = files.find(file => existsSync(file))
  if (there !== undefined)
    throw new SourceError(`${there} is there already: choose another name, or replace it (--overwrite)`, {
      file: there,
    })
}

function dtypeFor({ format, vocabulary, dtype }: WriterOptions, file: string): TokenDtype {
  const possible = dtypesOf(format)
  if (dtype !== undefined) {
    if (possible.includes(dtype)) return dtype
    throw new SourceError(
      `${file}: files of format ${format} have tokens of type ${possible.join(', ')}, not ${dtype}`,
      { file },
    )
  }
  if (vocabulary === undefined)
    throw new SourceError(`${file}: the size of the vocabulary, or the type of tokens, must be told`, {
      file,
    })
  if (format === 'megatron') return vocabulary < MEGATRON_SHORT ? 'u16' : 'i32'
  return vocabulary <= 2 ** 16 ? 'u16' : 'u32'
}

export function dtypesOf(format: WrittenFormat): TokenDtype[] {
  if (format === 'megatron') return Object.keys(DTYPE_CODES) as MegatronDtype[]
  if (format === 'llmc') return LLMC_KINDS.map(({ dtype }) => dtype)
  return ['u8', 'u16', 'u32', 'i32', 'i64']
}

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
