/** Pictures that a GPU decodes: in the slot they are a parameter row and the bytes of a JPEG, which browsers can show. */
import { Form, Word } from '../../../pixels/transform/device/parameter-words.js'

/** A larger one is not sent. */
const MOST_BYTES = 2 ** 18

/** As a data URL. Undefined: there is none, it is too large, or a worker has decoded it. */
export function compressedPicture(row: Buffer, words: number): string | undefined {
  if (row.length < 4 * words || row.readInt32LE(4 * Word.Form) !== Form.Jpeg) return undefined
  const bytes = row.readInt32LE(4 * Word.Bytes)
  if (bytes <= 0 || bytes > MOST_BYTES || 4 * words + bytes > row.length) return undefined
  return `data:image/jpeg;base64,${row.toString('base64', 4 * words, 4 * words + bytes)}`
}
