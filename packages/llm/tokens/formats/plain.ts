/** Files that are one stream: arrays of one axis as numpy.save writes them, and raw tokens of nanoGPT and OLMo. */
import { SourceError } from '../../../core/basics/errors.js'
import { columnsOf, frontOf } from '../../../formats/arrays/npy-columns.js'
import { namingFile } from '../../../formats/arrays/read-file.js'
import { checkDtype, filled, type ReadFormat } from './found.js'
import { TOKEN_BYTES, TOKEN_DTYPES, type TokenDtype } from './token-file.js'

/** Raw tokens, whose type is known from elsewhere. */
export const readNanogpt: ReadFormat = async (found, _, { dtype }, { notice }) => {
  if (dtype === undefined)
    notice?.(
      `${found.file} has no header: its tokens are taken as u16, as nanoGPT writes them; "dtype" says otherwise`,
    )
  return filled(found, 'nanogpt', 0, dtype ?? 'u16')
}

export const readNpy: ReadFormat = async (found, read, options) => {
  const { file, bytes } = found
  const refuse = (problem: string): SourceError => new SourceError(`${file} ${problem}`, { file })
  return namingFile(found, async () => {
    const front = await frontOf(read)
    const { descr, shape, start } = front
    const [{ type }] = columnsOf(front, bytes - start)
    if (type.refused !== undefined) throw refuse(`: ${type.refused}`)
    const dtype = TOKEN_DTYPES.find(dtype => dtype === type.dtype)
    if (typeof descr !== 'string' || dtype === undefined || type.bigEndian) {
      const reported = typeof descr === 'string' ? `type "${descr}"` : 'several fields'
      throw refuse(
        `has elements of ${reported}: tokens are ${TOKEN_DTYPES.join(', ')}, little-endian. Convert them with NumPy's astype`,
      )
    }
    if (shape.length !== 1) {
      throw refuse(
        `has the shape (${shape.join(', ')}): tokens are one stream, of one axis. Flatten it (numpy.ravel), or feed its rows ` +
          'as they are by the source "npy"',
      )
    }
    checkDtype(file, dtype as TokenDtype, options.dtype)
    const end = start + shape[0] * TOKEN_BYTES[dtype]
    if (end !== bytes)
      throw refuse(
        `has ${bytes} bytes, but its array of ${shape[0]} tokens ends at ${end}: copy or write it again`,
      )
    return filled(found, 'npy', start, dtype)
  })
}

/**
 * Raw tokens in files that are .npy by name only. A .csv.gz of the same name may say where documents lie, a line for each:
 * `start,end,…`, in tokens.
 */
export const readOlmo: ReadFormat = async (found, _, { dtype }) => {
  const { file, borders } = found
  if (dtype === undefined) {
    throw new SourceError(
      `${file} has no header (OLMo's files are .npy by name only), so the type of its tokens must be told: "dtype": "u32", or ` +
        '"u16" where the vocabulary has less than 65,536 tokens',
      { file },
    )
  }
  return {
    ...filled(found, 'olmo', 0, dtype),
    ...(borders && { borders: { path: borders.file, size: borders.bytes, version: borders.version } }),
  }
}
