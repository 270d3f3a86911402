/** From token files to rows: cuts their stream, or packs their documents; and what is to be told of it. */
import { SourceError } from '../../../core/basics/errors.js'
import type { TokenShape } from '../../../core/define/check/tokens/fields.js'
import type { TokensJson } from '../../../core/define/token-types.js'
import { IndexFile } from '../../../core/source/index/file.js'
import type { OpenContext } from '../../../core/source/source.js'
import { attachDocuments, bordersDigest, type OpenedDocuments } from '../formats/documents.js'
import type { TokenFile } from '../formats/token-file.js'
import { type Choice, chooseDocuments } from '../pack/choice.js'
import { readCorpus } from '../pack/corpus.js'
import { obtainPack } from '../pack/kept-pack.js'
import { packRules } from '../pack/places.js'
import { type ConcatData, concatCount } from './concat-rows.js'
import type { MegatronData } from './megatron-rows.js'
import type { KeptRows } from './packed-rows.js'
import { type StreamRuns, streamOf } from './stream.js'

export interface OpenedRows {
  rows: ConcatData | KeptRows | MegatronData
  /** Tokens that are trained on in an epoch: places that are only filled up are not among them. */
  trained: number
  /** Rows of one epoch, where there are several behind each other. */
  epochRows?: number
  /** What decides which rows there are, besides the files: part of the order hash. */
  cut: unknown
  /** How rows are made, in a few words, for `inspect`. */
  reported: string
  /** Memory of its tables. */
  bytes: number
}

/** Rows of one stream of all files. */
type Streamed = OpenedRows & { rows: ConcatData | KeptRows }

export async function openRows(
  json: TokensJson,
  shape: TokenShape,
  files: readonly TokenFile[],
  documents: OpenedDocuments | undefined,
  context: OpenContext,
): Promise<OpenedRows> {
  const choice = json.documents && choiceOf(json, files, documents!)
  const opened =
    shape.pack === 'concat'
      ? concatRows(
          json,
          shape,
          streamRuns(files, choice && { choice, documents: documents! }),
          files,
          context,
        )
      : await packedRows(json, shape, files, documents!, choice, context)
  const { runs } = opened.rows
  return {
    ...opened,
    bytes: opened.bytes + runs.starts.byteLength + runs.files.byteLength + runs.offsets.byteLength,
  }
}

function choiceOf(json: TokensJson, files: readonly TokenFile[], documents: OpenedDocuments): Choice {
  return chooseDocuments(
    json.documents!,
    files.map(({ name }, i) => ({ name, count: documents[i].count })),
  )
}

/** The files one after the other, or of them the documents that were chosen. */
function streamRuns(
  files: readonly TokenFile[],
  chosen?: { choice: Choice; documents: OpenedDocuments },
): StreamRuns {
  if (chosen === undefined) return streamOf(files.map(({ tokens }, file) => ({ file, offset: 0, tokens })))
  return streamOf(chosenRuns(chosen.choice, chosen.documents))
}

function* chosenRuns(
  choice: Choice,
  opened: OpenedDocuments,
): Generator<{ file: number; offset: number; tokens: number }> {
  let number = 0
  for (const [file, documents] of attachDocuments(opened).entries()) {
    for (let i = 0; i < documents.count; i++) {
      if (!choice.has(number++)) continue
      const offset = documents.start(i)
      yield { file, offset, tokens: documents.end(i) - offset }
    }
  }
}

/** The rows of a stream, and a notice of what they leave out. */
function concatRows(
  json: TokensJson,
  { length, shift }: TokenShape,
  runs: StreamRuns,
  files: readonly TokenFile[],
  { notice }: OpenContext,
): Streamed {
  const { tail = 'drop', phase, seed = 0, documents } = json
  const moves = phase === undefined
  const tokens = runs.starts[runs.files.length]
  const count = concatCount(tokens, length, moves, tail)
  if (count === 0) {
    const least = tail === 'pad' ? 2 : moves ? 2 * length : length + 1
    throw new SourceError(
      `${files[0].path}: ${tokens} tokens are too few for a row of ${length}: there must be ${least} at least; ` +
        `take a smaller "length"${tail === 'drop' ? ', or "tail": "pad"' : ''}`,
      { file: files[0].path },
    )
  }
  const left = tokens - count * length
  const which = moves
    ? 'those before the first row, which moves from epoch to epoch, and behind the last'
    : 'the first, and those behind the last row'
  if (tail === 'drop')
    notice?.(
      `tokens: an epoch has ${count} rows of ${length}; ${left} of ${tokens} tokens are no target in it (${which}); ` +
        '"tail": "pad" takes the last ones in',
    )
  const rows: ConcatData = {
    pack: 'concat',
    runs,
    length,
    extra: shift === 'here' ? 1 : 0,
    count,
    ...(moves && { seed }),
  }
  const reported = `one stream, cut ${moves ? 'at other places each epoch' : 'at the same places each epoch'}, tail ${tail === 'drop' ? 'dropped' : 'padded'}`
  const marks = documents && [documents, json.eod, json.eodAt]
  const trained = Math.min(count * length, tokens - 1)
  return {
    rows,
    trained,
    cut: { pack: 'concat', length, tail, seed: rows.seed, tokens, marks },
    reported,
    bytes: 0,
  }
}

/** Rows of whole documents, from an index that is made once, and a notice of the padding. */
async function packedRows(
  json: TokensJson,
  shape: TokenShape,
  files: readonly TokenFile[],
  documents: OpenedDocuments,
  choice: Choice | undefined,
  context: OpenContext,
): Promise<Streamed> {
  const { length, capacity, ragged } = shape
  const pack = shape.pack as 'bestFit' | 'document'
  const rules = packRules(json, shape.shift)
  const { index, meta } = await obtainPack(
    {
      pack,
      files,
      rules,
      documents: [json.documents, json.eod, json.eodAt, bordersDigest(documents)],
      corpus: () => readCorpus(documents, choice, context.progress),
    },
    context,
  )
  const { rows: count, padding, full } = meta
  if (count === 0)
    throw new SourceError(
      `${files[0].path}: none of the documents makes a row of ${length}: they have no tokens, or "long" and "documents" leave none`,
      { file: files[0].path },
    )
  const share = (100 * padding) / (count * length)
  const reported = ragged
    ? 'a document each, ragged'
    : `${pack === 'bestFit' ? 'whole documents, best fit' : 'a document each'}, ${percent(share)} padding`
  if (!ragged)
    context.notice?.(`tokens: ${count} rows of ${length}, ${percent(share)} of their places are padding`)
  if (pack === 'bestFit' && json.capacity !== undefined) {
    const [most] = new IndexFile(index.path, false, index.header).numbers('most')
    // Padding is a segment as well.
    const segments = Math.min(length, most + (padding > 0 ? 1 : 0))
    // A batch whose rows all have so many needs a place for its end, too.
    const places = segments + (context.wanted.includes('cuSeqlens') ? 1 : 0)
    if (places > capacity)
      throw new SourceError(
        `"capacity" is ${capacity}, and a row has up to ${segments} segments: raise it to ${places}, or leave it out`,
      )
  }
  const rows: KeptRows = {
    pack,
    runs: streamRuns(files),
    rules,
    count,
    full,
    path: index.path,
    checksum: index.header.checksum,
  }
  const cut = { pack, rules, documents: json.documents, marks: [json.eod, json.eodAt], lengths: meta.lengths }
  return { rows, trained: count * length - padding, cut, reported, bytes: index.header.bytes }
}

function percent(share: number): string {
  return `${share === 0 ? 0 : share < 0.001 ? share.toExponential(0) : Number(share.toPrecision(2))} %`
}
