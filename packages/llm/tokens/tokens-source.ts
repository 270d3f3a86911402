/** Rows of tokens while a feed runs: their byte ranges, and their columns. Which tokens stand in which row, rows/ says. */
import { type TokenShape, tokenColumns } from '../../core/define/check/tokens/fields.js'
import type { TokenColumn } from '../../core/define/token-types.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Manifest,
  Need,
  Pieces,
  Source,
} from '../../core/source/source.js'
import type { ByteRange } from '../../core/store/store.js'
import { attachDocuments, type Documents, type OpenedDocuments } from './formats/documents.js'
import { type SideFile, TOKEN_BYTES, type TokenFile } from './formats/token-file.js'
import { type ConcatData, ConcatRows } from './rows/concat-rows.js'
import { type MegatronData, MegatronRows } from './rows/megatron-rows.js'
import { BinRows, DocumentRows, type KeptRows } from './rows/packed-rows.js'
import { filledPlaces, INSERTED, RowColumns } from './rows/row-columns.js'
import type { RowPlaces } from './rows/row-places.js'
import { Segments } from './rows/segments.js'
import { tokenMaker } from './token-maker.js'
import { Stretches, type TokenFileRows } from './token-rows.js'

export interface TokensManifest extends Manifest {
  kind: 'tokens'
  files: TokenFile[]
  /** One byte a token, beside each file. */
  masks?: SideFile[]
  shape: TokenShape
  rows: ConcatData | KeptRows | MegatronData
  /** Borders of documents, where they are at hand or something asks for them. */
  documents?: OpenedDocuments
  pad: number
  vocabulary?: number
  /** The corpus' name, where it has one: documents are then counted through all files. */
  name?: string
  layout: Layout
}

/** The tokens, and what they train: in this order. */
const TOKENS: readonly TokenColumn[] = ['input', 'target', 'tokens', 'labels']
/** Columns that need the bytes of tokens. */
const FROM_TOKENS: readonly TokenColumn[] = [...TOKENS, 'lossMask']
/** Columns that a mask changes. */
const MASKED: readonly TokenColumn[] = ['target', 'labels', 'lossMask']

function rowsOf(data: TokensManifest['rows']): RowPlaces {
  if (data.pack === 'concat') return new ConcatRows(data)
  if (data.pack === 'megatron') return new MegatronRows(data)
  return data.pack === 'bestFit' ? new BinRows(data) : new DocumentRows(data)
}

/** What a list of wanted columns comes down to. */
interface Wanted {
  columns: (readonly [string, TokenColumn])[]
  tokens: boolean
  mask: boolean
}

export class TokensSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly indexed: readonly string[]
  readonly movesWithEpoch: Source['movesWithEpoch']
  readonly runs: Float64Array
  readonly tokenRows: TokenFileRows | undefined
  private readonly rows: RowPlaces
  private readonly shape: TokenShape
  private readonly files: readonly TokenFile[]
  private readonly names: Map<string, TokenColumn>
  private readonly maker: RowColumns
  private readonly row = new Stretches()
  private readonly starts: Int32Array
  private documentsOf: readonly Documents[] | undefined
  /** By the very array of names: the engine uses the same one for every row. */
  private readonly resolved = new WeakMap<readonly string[], Wanted>()

  constructor(private readonly manifest: TokensManifest) {
    const { files, shape, pad, vocabulary, masks } = manifest
    this.files = files
    this.shape = shape
    this.rows = rowsOf(manifest.rows)
    this.count = this.rows.count
    this.movesWithEpoch = this.rows.moves ? 'own' : undefined
    this.names = tokenColumns(shape)
    this.columns = [...this.names.keys()]
    this.indexed = shape.ragged ? ['file', 'row', 'length'] : ['file', 'row']
    const maskFirst = shape.shift === 'model' && shape.pack !== 'concat'
    this.maker = new RowColumns(shape, files[0].dtype, pad, maskFirst, vocabulary)
    this.runs = this.runStarts()
    this.starts = new Int32Array(shape.length + 2)
    const plain = masks === undefined && !shape.ragged && !maskFirst
    if (plain) this.tokenRows = this.asArithmetic()
  }

  id(row: number, epoch = 0): string {
    const { name } = this.manifest
    if (this.rows.id !== undefined) return `${name ?? this.files[0].name}${this.rows.id(row)}`
    const { file, offset } = this.rows.begin(row, epoch)
    const { document, within } = this.documentAt(file, offset)
    if (name === undefined) return `${this.files[file].name}:${document}+${within}`
    const before = this.documents?.slice(0, file).reduce((sum, { count }) => sum + count, 0) ?? 0
    return `${name}:${before + document}+${within}`
  }

  /** What splits go by: all pieces of a document have the same. */
  key(row: number): string {
    if (this.shape.pack === 'document') {
      const { file, offset } = this.rows.begin(row, 0)
      return `${this.files[file].name}:${this.documentAt(file, offset).document}`
    }
    return `${this.manifest.name ?? this.files[0].name}#${row}`
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'row') return { type: 'number', at: row => row }
    const { rows } = this
    if (name === 'length' && this.shape.ragged && rows.places !== undefined)
      return { type: 'number', at: row => rows.places!(row), lengthOf: this.columns }
    if (name !== 'file') return undefined
    return { type: 'string', at: row => this.files[this.rows.begin(row, 0).file].name }
  }

  where(row: number): { file: string; offset: number } {
    const { file, offset } = this.rows.begin(row, 0)
    return { file: this.files[file].path, offset: rangeOf(this.files[file], offset, 0).offset }
  }

  need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    const { tokens, mask } = this.resolve(columns)
    if (!tokens) return
    const { row: stretches, files } = this
    stretches.clear()
    this.rows.stretches(row, epoch, stretches)
    const { count, file, offset, tokens: many } = stretches
    for (let i = 0; i < count; i++)
      if (file[i] !== INSERTED) out.ranges.push(rangeOf(files[file[i]], offset[i], many[i]))
    if (!mask) return
    for (let i = 0; i < count; i++) {
      if (file[i] === INSERTED) continue
      const { path, version } = this.manifest.masks![file[i]]
      out.ranges.push({ file: path, offset: offset[i], length: many[i], was: version })
    }
  }

  sample(row: number, epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const wanted = this.resolve(columns)
    const { row: stretches } = this
    stretches.clear()
    this.rows.stretches(row, epoch, stretches)
    let next = 0
    const take = (): (Uint8Array | undefined)[] =>
      Array.from({ length: stretches.count }, (_, i) =>
        stretches.file[i] === INSERTED ? undefined : ranges[next++],
      )
    const tokens = wanted.tokens ? take() : []
    const mask = wanted.mask ? take() : undefined
    const got = { tokens, ...(mask && { mask }) }
    return this.maker.make(
      wanted.columns,
      stretches,
      got,
      () => this.segmentsOf(stretches),
      (i, j) => this.nameToken(stretches.file[i], stretches.offset[i] + j),
    )
  }

  layout(): Layout {
    return this.manifest.layout
  }

  // ---------------------------------------------------------------- documents

  private get documents(): readonly Documents[] | undefined {
    const { documents } = this.manifest
    if (documents !== undefined) this.documentsOf ??= attachDocuments(documents)
    return this.documentsOf
  }

  /** A token's document and its place there; where documents are not known, the file is one. */
  private documentAt(file: number, offset: number): { document: number; within: number } {
    const documents = this.documents?.[file]
    if (documents === undefined || documents.count === 0) return { document: 0, within: offset }
    const document = documents.find(offset)
    return { document, within: offset - documents.start(document) }
  }

  private nameToken(file: number, offset: number): string {
    const { document, within } = this.documentAt(file, offset)
    const { path } = this.files[file]
    return `token ${offset} of ${path} (document ${document}, offset ${within})`
  }

  /** The segments of the row whose stretches these are. */
  private segmentsOf(row: Stretches): Segments {
    const { starts, shape } = this
    const filled = filledPlaces(row, shape.shift === 'here' ? 1 : 0)
    const length = shape.ragged ? filled : shape.length
    const count = this.findSegments(row, filled, length, starts)
    return new Segments(starts, count, shape.varlen === undefined ? filled : length, length)
  }

  /** Writes the first place of each segment to `out`, and says how many there are. */
  private findSegments(row: Stretches, filled: number, length: number, out: Int32Array): number {
    let count = 0
    for (let i = 0; i < row.count; i++) {
      const place = row.place[i]
      if (place >= filled) break
      if (row.joined[i] === 0 || this.rows.crosses || this.rows.parted) out[count++] = place
      if (this.rows.crosses) count = this.bordersWithin(row, i, filled, out, count)
    }
    if (count === 0 || (filled < length && this.shape.varlen === undefined)) out[count++] = filled
    return count
  }

  /** Adds the places at which documents begin within a stretch. */
  private bordersWithin(row: Stretches, i: number, filled: number, out: Int32Array, count: number): number {
    const documents = this.documents?.[row.file[i]]
    if (documents === undefined) return count
    const offset = row.offset[i]
    const place = row.place[i]
    const end = Math.min(offset + row.tokens[i], offset + filled - place)
    for (let document = documents.find(offset) + 1; document < documents.count; document++) {
      const start = documents.start(document)
      if (start >= end) break
      const at = place + start - offset
      if (start > offset && out[count - 1] !== at) out[count++] = at
    }
    return count
  }

  // ---------------------------------------------------------------- rows

  private asArithmetic(): TokenFileRows {
    const { files, shape, rows, manifest } = this
    const { length, shift } = shape
    const [input, target] = [...this.names].filter(([, column]) => TOKENS.includes(column))
    const extra = shift === 'here' ? 1 : 0
    return {
      files,
      length,
      columns: {
        [input[0]]: { ahead: 0, trains: false },
        [target[0]]: { ahead: extra, trains: true },
      },
      padding: manifest.pad,
      ...(manifest.vocabulary !== undefined && { vocabulary: manifest.vocabulary }),
      stretches: (row, epoch, out: Stretches) => {
        rows.stretches(row, epoch, out)
        out.end = filledPlaces(out, extra)
      },
      maker: tokenMaker,
    }
  }

  private resolve(columns: readonly string[]): Wanted {
    let wanted = this.resolved.get(columns)
    if (wanted === undefined) {
      const found = columns.flatMap(name => {
        const column = this.names.get(name)
        return column === undefined ? [] : [[name, column] as const]
      })
      const tokens = found.some(([, column]) => FROM_TOKENS.includes(column))
      const mask = this.manifest.masks !== undefined && found.some(([, column]) => MASKED.includes(column))
      wanted = { columns: found, tokens, mask }
      this.resolved.set(columns, wanted)
    }
    return wanted
  }

  /** First row of each file, as far as rows lie in the order of the files. */
  private runStarts(): Float64Array {
    const starts = [0]
    let file = this.rows.begin(0, 0).file
    if (!this.rows.crosses) return Float64Array.from(starts)
    for (const { at, of } of this.fileStarts()) {
      if (of === file || at >= this.count || at <= starts[starts.length - 1]) continue
      starts.push(at)
      file = of
    }
    return Float64Array.from(starts)
  }

  private *fileStarts(): Generator<{ at: number; of: number }> {
    const { rows } = this.manifest
    if (rows.pack === 'megatron') return
    const { starts, files } = rows.runs
    for (let run = 1; run < files.length; run++)
      if (files[run] !== files[run - 1])
        yield { at: Math.ceil(starts[run] / this.shape.length), of: files[run] }
  }
}

function rangeOf({ path, begin, dtype, version }: TokenFile, offset: number, tokens: number): ByteRange {
  const bytes = TOKEN_BYTES[dtype]
  return { file: path, offset: begin + offset * bytes, length: tokens * bytes, was: version }
}
