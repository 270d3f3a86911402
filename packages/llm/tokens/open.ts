/** Opens token files as rows: finds them, packs their documents where that is asked for, and says how many rows there are. */
import { SourceError } from '../../core/basics/errors.js'
import {
  type TokenShape,
  tokenColumns,
  tokenSchema,
  tokenShape,
} from '../../core/define/check/tokens/fields.js'
import type { TokenColumn, TokensJson } from '../../core/define/token-types.js'
import { findDataFiles } from '../../core/source/find/data-files.js'
import type { Fingerprint, Layout, OpenContext } from '../../core/source/source.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { openDocuments } from './formats/documents.js'
import { openTokenFiles } from './formats/open.js'
import type { SideFile, TokenFile } from './formats/token-file.js'
import { digest } from './kept-tables.js'
import { type OpenedRows, openRows } from './rows/open-rows.js'
import type { TokensManifest } from './tokens-source.js'

export async function openTokens(json: TokensJson, context: OpenContext): Promise<TokensManifest> {
  const { format, dtype, vocabulary, name, insert } = json
  const files = await openTokenFiles(json.path, { format, dtype, vocabulary }, context)
  checkTypes(files)
  const shape = tokenShape(json)
  const masks = json.mask === undefined ? undefined : await openMasks(json.mask, files, context)
  const documents = areWanted(json, shape, files, context)
    ? await openDocuments(files, { eod: json.eod, eodAt: json.eodAt }, context)
    : undefined
  const opened =
    context.megatron === undefined
      ? await openRows(json, shape, files, documents, context)
      : await (await import('./megatron/open.js')).megatronRows(files, shape, context.megatron, context)
  const pad = json.eod ?? insert?.eod ?? 0
  return {
    kind: 'tokens',
    fingerprint: fingerprintOf(files, shape, opened),
    stamp: digest(files.map(({ version }) => version)),
    content: digest([shape.shift, pad, masks?.map(({ size }) => size) ?? null]),
    trained: opened.trained,
    ...(opened.epochRows !== undefined && { epochRows: opened.epochRows }),
    indexBytes: opened.bytes,
    files,
    ...(masks && { masks }),
    shape,
    rows: opened.rows,
    ...(documents && { documents }),
    pad,
    ...(vocabulary !== undefined && { vocabulary }),
    ...(name !== undefined && { name }),
    layout: layoutOf(files, shape, opened),
  }
}

function checkTypes(files: readonly TokenFile[]): void {
  const other = files.find(({ dtype }) => dtype !== files[0].dtype)
  if (other === undefined) return
  throw new SourceError(
    `${other.path} has tokens of type ${other.dtype}, and ${files[0].path} of type ${files[0].dtype}: files of one source have the same; ` +
      'convert one of them (millrace tokens convert), or make a blend of two sources',
    { file: other.path },
  )
}

/** Columns for which the borders of documents must be known. */
const WITH_BORDERS: readonly TokenColumn[] = [
  'positionIds',
  'segments',
  'cuSeqlens',
  'cuCount',
  'cuLongest',
  'seqLens',
]

/** Whether documents are to be known: they are at hand, or decide over rows, or a column tells of them. */
function areWanted(
  json: TokensJson,
  shape: TokenShape,
  files: readonly TokenFile[],
  { wanted }: OpenContext,
): boolean {
  const atHand = files.every(({ index }) => index !== undefined && schemeOf(index.path) === undefined)
  if (atHand || shape.pack !== 'concat' || json.documents !== undefined) return true
  const columns = tokenColumns(shape)
  return wanted.some(name => WITH_BORDERS.includes(columns.get(name) as TokenColumn))
}

/** What selects rows: names, sizes and tokens of the files, and how rows are made of them. */
function fingerprintOf(
  files: readonly TokenFile[],
  { length }: TokenShape,
  { rows, cut }: OpenedRows,
): Fingerprint {
  const parts = files.map(({ name, tokens, size }) => ({
    name,
    count: Math.floor(tokens / length),
    bytes: size,
  }))
  const kinds = files.map(({ begin, dtype, tokens }) => [begin, dtype, tokens])
  return {
    kind: 'tokens',
    count: rows.count,
    digest: digest([parts, kinds, cut]),
    parts: parts.slice(0, MOST_PARTS),
  }
}

/** Lines that a fingerprint keeps at most. */
const MOST_PARTS = 4096

function layoutOf(files: readonly TokenFile[], shape: TokenShape, { rows, reported }: OpenedRows): Layout {
  const tokens = files.reduce((sum, file) => sum + file.tokens, 0)
  const many = files.length === 1 ? '1 file' : `${files.length} files`
  return {
    schema: tokenSchema(shape),
    chunks: `${rows.count} rows of ${shape.length} from ${tokens} tokens of type ${files[0].dtype} in ${many}: ${reported}`,
  }
}

async function openMasks(
  path: string | string[],
  files: readonly TokenFile[],
  { root }: Pick<OpenContext, 'root'>,
): Promise<SideFile[]> {
  using stores = new Stores()
  const found = await findDataFiles(path, root, stores, { source: 'tokens', what: 'mask' })
  if (found.length !== files.length)
    throw new SourceError(
      `"mask" names ${found.length} files, and "path" ${files.length}: each file of tokens has a mask of its own`,
    )
  return found.map(({ file, bytes, version }, i) => {
    const { path: tokens, tokens: count } = files[i]
    if (bytes !== count)
      throw new SourceError(
        `${file} has ${bytes} bytes, and ${tokens} ${count} tokens: a mask has one byte a token, and stands at the place of its file`,
        { file },
      )
    return { path: file, size: bytes, version }
  })
}
