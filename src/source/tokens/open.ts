/** Opens token files as rows: finds them, joins them to one stream, and says how many rows there are. */
import { createHash } from 'node:crypto'
import { SourceError } from '../../basics/errors.js'
import { type TokenShape, tokenColumns, tokenShape } from '../../define/check/tokens/fields.js'
import { shiftOf } from '../../define/check/tokens/source.js'
import { canonicalJson } from '../../define/hash.js'
import type { TokensJson } from '../../define/token-types.js'
import type { Fingerprint, OpenContext } from '../source.js'
import { openTokenFiles } from './formats/open.js'
import type { TokenFile } from './formats/token-file.js'
import { type ConcatData, concatCount } from './rows/concat-rows.js'
import { type StreamRuns, streamOf } from './rows/stream.js'
import type { TokensManifest } from './tokens-source.js'

export async function openTokens(json: TokensJson, context: OpenContext): Promise<TokensManifest> {
  const { format, dtype, vocabulary, name } = json
  const files = await openTokenFiles(json.path, { format, dtype }, context)
  checkTypes(files)
  const shape = tokenShape(json)
  const runs = streamOf(files.map(({ tokens }, file) => ({ file, offset: 0, tokens })))
  const rows = concatRows(json, runs, files, context)
  return {
    kind: 'tokens',
    fingerprint: fingerprintOf(files, json, rows),
    stamp: digest(files.map(({ version }) => version)),
    content: digest([shape.shift, json.eod, json.mask !== undefined]),
    indexBytes: runs.starts.byteLength + runs.files.byteLength + runs.offsets.byteLength,
    files,
    shape,
    rows,
    pad: json.eod ?? 0,
    ...(vocabulary !== undefined && { vocabulary }),
    ...(name !== undefined && { name }),
    layout: {
      schema: [...tokenColumns(shape)].map(([column, is]) => ({ name: column, type: typeOf(is, shape) })),
      chunks: `${rows.count} rows of ${shape.length} from ${tokensOf(runs)} tokens in ${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    },
  }
}

function typeOf(column: string, { length, capacity }: TokenShape): string {
  if (column === 'cuCount' || column === 'cuLongest') return 'i32'
  return column === 'cuSeqlens' || column === 'seqLens' ? `i32 [${capacity}]` : `[${length}]`
}

const tokensOf = ({ starts }: StreamRuns): number => starts[starts.length - 1]

function checkTypes(files: readonly TokenFile[]): void {
  const other = files.find(({ dtype }) => dtype !== files[0].dtype)
  if (other === undefined) return
  throw new SourceError(
    `${other.path} has tokens of type ${other.dtype}, and ${files[0].path} of type ${files[0].dtype}: files of one source have the same; ` +
      'convert one of them (millrace tokens convert), or make a blend of two sources',
    { file: other.path },
  )
}

/** The rows of a stream, and a notice of what they leave out. */
function concatRows(
  json: TokensJson,
  runs: StreamRuns,
  files: readonly TokenFile[],
  { notice }: OpenContext,
): ConcatData {
  const { length, tail = 'drop', phase, seed = 0 } = json
  const moves = phase === undefined
  const tokens = tokensOf(runs)
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
  if (tail === 'drop')
    notice?.(
      `tokens: an epoch has ${count} rows of ${length}; ${left} of ${tokens} tokens are no target in it ` +
        `(${moves ? 'those before the first row, which moves from epoch to epoch, and behind the last' : 'the first, and those behind the last row'}); ` +
        '"tail": "pad" takes the last ones in',
    )
  const extra = shiftOf(json) === 'here' ? 1 : 0
  return { pack: 'concat', runs, length, extra, count, ...(moves && { seed }) }
}

/** What selects rows: names, sizes and tokens of the files, and how they are cut. */
function fingerprintOf(
  files: readonly TokenFile[],
  json: TokensJson,
  { count, seed }: ConcatData,
): Fingerprint {
  const { length, pack = 'concat', tail = 'drop' } = json
  const parts = files.map(({ name, tokens, size }) => ({ name, count: tokens, bytes: size }))
  const cut = { length, pack, tail, seed, dtype: files[0].dtype, begins: files.map(({ begin }) => begin) }
  return { kind: 'tokens', count, digest: digest([parts, cut]), parts: parts.slice(0, MOST_PARTS) }
}

/** Lines that a fingerprint keeps at most. */
const MOST_PARTS = 4096

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 32)
}
