/** Joins the parts into the output, in their order or shuffled. */
import type { TokenWriter } from '../tokens/write/writer.js'
import type { TokenizeOptions } from './options.js'
import { type Part, type PartDtype, PartReader } from './parts.js'
import { Shuffle } from './shuffle.js'

export async function joinParts(
  parts: readonly Part[],
  folder: string,
  dtype: PartDtype,
  writer: TokenWriter,
  { shuffle, onProgress }: Pick<TokenizeOptions, 'shuffle' | 'onProgress'>,
): Promise<void> {
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0)
  const documents = parts.reduce((sum, part) => sum + part.documents, 0)
  /** Ctrl-C and progress get their turn. */
  const breathe = (what: 'joining' | 'shuffling', done: number): Promise<void> => {
    onProgress?.({ what, done, total: tokens, unit: 'tokens', tokens: done })
    return new Promise(setImmediate)
  }
  const reader = new PartReader(folder, dtype)
  let done = 0
  const each = async (what: 'joining' | 'shuffling', take: TokenWriter['document']): Promise<void> => {
    for (const part of parts) {
      reader.read(part, take)
      await breathe(what, (done += part.tokens))
    }
  }
  const write = writer.document.bind(writer)
  if (shuffle === undefined) return each('joining', write)
  const shuffled = new Shuffle({ ...shuffle, documents, tokens, folder })
  try {
    await each('shuffling', shuffled.add.bind(shuffled))
    let written = 0
    await shuffled.each(
      (tokens, from, to) => {
        write(tokens, from, to)
        written += to - from
      },
      () => breathe('joining', written),
    )
  } finally {
    shuffled.close()
  }
}
