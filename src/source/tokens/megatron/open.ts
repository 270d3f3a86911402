/** Makes the tables of Megatron's order for a file, once, when a feed is opened. */
import { SourceError } from '../../../basics/errors.js'
import type { TokenShape } from '../../../define/check/tokens/fields.js'
import { readRange } from '../../../store/access.js'
import { Stores } from '../../../store/stores.js'
import type { OpenContext } from '../../source.js'
import { goThroughIndex } from '../formats/borders/scan-index.js'
import type { TokenFile, TokenIndex } from '../formats/token-file.js'
import type { MegatronData } from '../rows/megatron-rows.js'
import type { OpenedRows } from '../rows/open-rows.js'
import { gptIndex } from './gpt-index.js'
import { splitRange } from './split.js'

const PARTS = ['train', 'valid', 'test']

type Order = NonNullable<OpenContext['megatron']>

export async function megatronRows(
  files: readonly TokenFile[],
  { length, shift }: TokenShape,
  order: Order,
  context: OpenContext,
): Promise<OpenedRows> {
  const [file] = files
  if (files.length > 1)
    throw new SourceError(
      `Megatron's order: the source has ${files.length} files (${file.path}, ${files[1].path}, …), and Megatron has a dataset for each: ` +
        'make a blend, with an entry for each file as --data-path names them',
    )
  if (file.index === undefined)
    throw new SourceError(
      `${file.path} is ${file.format}, and has no .idx: Megatron's order is one of Megatron's files (millrace tokens convert)`,
      { file: file.path },
    )
  const { split, take, samples, seed, extra, keepPartial } = order
  const { from, to } = splitRange(split, take, file.index.sequences)
  const documents = await documentsOf(file, from, to, context)
  const few = tooFew(file, order, length, documents.tokens, to - from)
  if (documents.tokens === 0) throw few
  const { starts, lengths } = documents
  const { epochs: _, ...index } = gptIndex({
    lengths,
    from,
    to,
    samples,
    length,
    seed,
    extra,
    keepPartial,
  })
  if (index.shuffle.length === 0) throw few
  const tables = { ...index, starts, lengths }
  const rows: MegatronData = {
    pack: 'megatron',
    count: index.shuffle.length,
    tokens: length + (shift === 'here' ? 1 : 0),
    extra: extra ? 1 : 0,
    from,
    tables,
  }
  return {
    rows,
    trained: documents.tokens,
    epochRows: documents.tokens / length,
    cut: { pack: 'megatron', length, sequences: file.index.sequences, ...order },
    told: "Megatron's samples, in Megatron's order",
    bytes: Object.values(tables).reduce((sum, { byteLength }) => sum + byteLength, 0),
  }
}

/** Where the documents of a part lie, in shared memory. */
async function documentsOf(
  file: TokenFile,
  from: number,
  to: number,
  { progress }: OpenContext,
): Promise<{ starts: Float64Array; lengths: Uint32Array; tokens: number }> {
  const starts = new Float64Array(new SharedArrayBuffer(8 * (to - from)))
  const lengths = new Uint32Array(new SharedArrayBuffer(4 * (to - from)))
  let tokens = 0
  using stores = new Stores()
  const { path, version: was, sequences } = file.index as TokenIndex
  const read = (into: Buffer, offset: number): Promise<void> =>
    readRange(stores, { file: path, offset, length: into.length, was }, into)
  await goThroughIndex(file, read, (first, some, begins) => {
    for (let i = Math.max(0, from - first); i < Math.min(some.length, to - first); i++) {
      starts[first + i - from] = begins[i]
      lengths[first + i - from] = some[i]
      tokens += some[i]
    }
    progress?.(first + some.length, sequences, 'reading documents', 'documents')
  })
  return { starts, lengths, tokens }
}

function tooFew(
  { path, index }: TokenFile,
  { split, take }: Order,
  length: number,
  tokens: number,
  documents: number,
): SourceError {
  return new SourceError(
    `${path}: part "${PARTS[take]}" of the split ${split.join(',')} has ${documents} of ${index?.sequences} documents with ` +
      `${tokens} tokens, too few for a sample of ${length}`,
    { file: path },
  )
}
