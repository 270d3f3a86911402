/** nanoGPT's files: raw tokens and nothing else. Their type is known from elsewhere. */
import { filled, type ReadFormat } from './found.js'

export const readNanogpt: ReadFormat = async (found, _, { dtype }, { notice }) => {
  if (dtype === undefined)
    notice?.(
      `${found.file} has no header: its tokens are taken as u16, as nanoGPT writes them; "dtype" says otherwise`,
    )
  return filled(found, 'nanogpt', 0, dtype ?? 'u16')
}
