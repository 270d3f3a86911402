/**
 * Opens .safetensors files: a header in JSON that names tensors, then their bytes.
 *
 *   length (u64)  {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …}  bytes
 */
import type { StoredDtype } from '../../core/basics/array.js'
import { bytesOfStored, countOf } from '../../core/basics/array.js'
import { DecodeError } from '../../core/basics/errors.js'
import type { SourceKind } from '../../core/source/source.js'
import { attachArrays } from '../arrays/attach.js'
import type { ArrayFormat } from '../arrays/index-file.js'
import type { ArrayFilesJson } from '../arrays/manifest.js'
import type { Member } from '../arrays/member.js'
import { openArrays } from '../arrays/open.js'
import { namingFile, piecesOf, type ReadPiece } from '../arrays/read-file.js'

/** The limit of the reference implementation. */
const MOST_HEADER = 100_000_000
/** Bytes that are read at first: the headers of small files. */
const FIRST_READ = 4096
const MAX_RANK = 64

const DTYPES: Readonly<Record<string, StoredDtype>> = {
  BOOL: 'bool',
  U8: 'u8',
  I8: 'i8',
  U16: 'u16',
  I16: 'i16',
  F16: 'f16',
  BF16: 'bf16',
  U32: 'u32',
  I32: 'i32',
  F32: 'f32',
  U64: 'u64',
  I64: 'i64',
  F64: 'f64',
}

const format: ArrayFormat = {
  kind: 'safetensors',
  read: (file, stores) =>
    namingFile(
      file,
      async () => {
        const { start, text } = await readHeader(piecesOf(file, stores), file.bytes)
        return tensorsIn(text, start, file.bytes)
      },
      () => 0,
    ),
}

async function readHeader(read: ReadPiece, bytes: number): Promise<{ start: number; text: string }> {
  const first = await read(0, FIRST_READ)
  if (first.length < 8) throw new DecodeError(`is no safetensors file: it has ${bytes} bytes`)
  const length = Number(first.readBigUInt64LE(0))
  const start = 8 + length
  if (length > MOST_HEADER)
    throw new DecodeError(
      `safetensors header has ${length} bytes, more than ${MOST_HEADER}, the format's limit: it is no such file, or damaged`,
    )
  if (start > bytes)
    throw new DecodeError(
      `safetensors header of ${length} bytes does not fit into a file of ${bytes}: it is cut off`,
    )
  const header = start <= first.length ? first.subarray(8, start) : await read(8, length)
  return { start, text: header.toString() }
}

function tensorsIn(text: string, start: number, bytes: number): Member[] {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new DecodeError(`safetensors header is no JSON: ${(cause as Error).message}`, { cause })
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new DecodeError('safetensors header is no JSON object')
  const members = Object.entries(json)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, about]) => tensor(name, about, start, bytes))
  const sorted = [...members].sort((a, b) => a.at - b.at)
  sorted.forEach(({ column, at, length }, i) => {
    if (i + 1 < sorted.length && at + length > sorted[i + 1].at)
      throw new DecodeError(
        `safetensors tensors "${column}" and "${sorted[i + 1].column}" overlap: it is damaged`,
      )
  })
  return members
}

function tensor(name: string, about: unknown, start: number, bytes: number): Member {
  const { dtype: kind, shape, data_offsets: offsets } = (about ?? {}) as Record<string, unknown>
  const counts = (list: unknown, most: number): list is number[] =>
    Array.isArray(list) && list.length <= most && list.every(n => Number.isSafeInteger(n) && n >= 0)
  if (typeof kind !== 'string' || !counts(shape, MAX_RANK) || !counts(offsets, 2) || offsets.length < 2)
    throw new DecodeError(`safetensors tensor "${name}" is malformed in the header`)
  const [begin, end] = offsets
  const place = { column: name, at: start + begin, length: end - begin }
  if (!(begin <= end && start + end <= bytes))
    throw new DecodeError(
      `safetensors tensor "${name}" lies at bytes ${begin} to ${end} of ${bytes - start}: the file is cut off, or damaged`,
    )
  if (!Object.hasOwn(DTYPES, kind)) {
    const refused = `tensor of type ${kind.slice(0, 20)}, which can't be fed: save it as one of ${Object.keys(DTYPES).join(', ')}`
    return { ...place, type: { refused, shape, item: 0 } }
  }
  const dtype = DTYPES[kind]
  const item = bytesOfStored(dtype)
  if (countOf(shape) * item !== end - begin)
    throw new DecodeError(
      `safetensors tensor "${name}" of ${kind} [${shape}] has ${end - begin} bytes, and not ${countOf(shape) * item}: it is damaged`,
    )
  return { ...place, type: { dtype, shape, item } }
}

export const safetensors: SourceKind<ArrayFilesJson> = {
  open: (json, context) => openArrays(format, json, context),
  attach: attachArrays,
}
