/** Makes the tables of Megatron's order for a file, once, when a feed is opened. */
import { SourceError } from '../../../core/basics/errors.js'
import type { TokenShape } from '../../../core/define/check/tokens/fields.js'
import type { OpenContext } from '../../../core/source/source.js'
import { Stores, schemeOf } from '../../../core/store/stores.js'
import { goThroughIndex } from '../formats/borders/indexed.js'
import { bordersDigest } from '../formats/documents.js'
import type { TokenFile, TokenIndex } from '../formats/token-file.js'
import type { MegatronData } from '../rows/megatron-rows.js'
import type { OpenedRows } from '../rows/open-rows.js'
import { gptIndex } from './gpt-index.js'
import { type MegatronMeta, type MegatronTables, obtainOrder } from './kept.js'
import { splitRange } from './split.js'

const PARTS = ['train', 'valid', 'test']

/** Documents and samples from which on tables are kept: they take some seconds to make. */
const LARGE = 1 << 22

type Order = NonNullable<OpenContext['megatron']>

export async function megatronRows(
  files: readonly TokenFile[],
  { length, shift }: TokenShape,
  order: Order,
  context: OpenContext,
  large = LARGE,
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
  const { split, take, samples, extra } = order
  const { from, to } = splitRange(split, take, file.index.sequences)
  const make = () => makeTables(file, order, length, from, to, context)
  const entries = to - from + (samples ?? file.tokens / length)
  let made: { tables: MegatronData['tables']; meta: MegatronMeta; bytes: number }
  if (entries >= large) {
    const { path, sequences: count } = file.index
    const borders = schemeOf(path) === undefined ? bordersDigest([{ by: 'index', count, file }]) : []
    const { index, meta } = await obtainOrder(file, [order, length, borders], make, context)
    const { bytes, checksum } = index.header
    made = { tables: { path: index.path, checksum }, meta, bytes }
  } else {
    const { tables, meta } = await make()
    const bytes = Object.values(tables).reduce((sum, { byteLength }) => sum + byteLength, 0)
    made = { tables, meta, bytes }
  }
  const { tables, meta, bytes } = made
  const { count, tokens: trained } = meta
  const tokens = length + (shift === 'here' ? 1 : 0)
  return {
    rows: { pack: 'megatron', count, tokens, extra: extra ? 1 : 0, from, tables },
    trained,
    epochRows: trained / length,
    cut: { pack: 'megatron', length, sequences: file.index.sequences, ...order },
    reported: "Megatron's samples, in Megatron's order",
    bytes,
  }
}

async function makeTables(
  file: TokenFile,
  order: Order,
  length: number,
  from: number,
  to: number,
  context: OpenContext,
): Promise<{ tables: MegatronTables; meta: MegatronMeta }> {
  const { samples, seed, extra, keepPartial } = order
  const { starts, lengths, tokens } = await documentsOf(file, from, to, context)
  const few = tooFew(file, order, length, tokens, to - from)
  if (tokens === 0) throw few
  const { epochs: _, ...index } = gptIndex({ lengths, from, to, samples, length, seed, extra, keepPartial })
  if (index.shuffle.length === 0) throw few
  return { tables: { ...index, starts, lengths }, meta: { count: index.shuffle.length, tokens } }
}

/** Reads where the documents of a part lie, into shared memory. */
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
  const { sequences } = file.index as TokenIndex
  await goThroughIndex(file, stores, (first, some, begins) => {
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
