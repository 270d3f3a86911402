/** Pairs while a feed runs: a prompt and two answers, each of its own length, from the kept tokens. */
import { pairColumns } from '../../core/define/check/tokens/chat.js'
import type { PairColumn } from '../../core/define/token-types.js'
import type { ChatJson } from '../../core/define/types.js'
import type {
  Columns,
  IndexColumn,
  Layout,
  Manifest,
  Need,
  Nesting,
  Pieces,
  Source,
} from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'

/** Documents of a pair: prompt, chosen, rejected. */
export const PARTS = 3

export interface PairsManifest extends Manifest {
  kind: 'chat'
  /** The source of the conversations: for ids and places. */
  inner: Manifest
  file: { path: string; version: Version }
  bytes: 2 | 4
  /** First token of each document, and the end. */
  starts: Float64Array
  rows: Uint32Array
  /** Tokens that prompt and answer have at most. */
  length: number
  naming?: ChatJson['naming']
}

const PART: Readonly<Record<PairColumn, number>> = {
  prompt: 0,
  chosen: 1,
  rejected: 2,
  promptMask: 0,
  chosenMask: 1,
  rejectedMask: 2,
}

export class PairsSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs = new Float64Array(1)
  private readonly names: Map<string, PairColumn>
  private innerSource: Source | undefined

  constructor(
    private readonly manifest: PairsManifest,
    private readonly attach: Nesting['attach'],
  ) {
    this.count = manifest.rows.length
    this.names = pairColumns(manifest)
    this.columns = [...this.names.keys()]
  }

  id(row: number): string {
    return this.inner.id(this.manifest.rows[row])
  }

  key(row: number): string {
    return this.inner.key(this.manifest.rows[row])
  }

  index(name: string): IndexColumn | undefined {
    const found = this.inner.index(name)
    return found && { ...found, at: row => found.at(this.manifest.rows[row]) }
  }

  where(row: number): { file: string; offset: number } | undefined {
    return this.inner.where?.(this.manifest.rows[row])
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    const { file, bytes } = this.manifest
    for (const part of this.parts(columns)) {
      const [from, to] = this.range(row, part)
      out.ranges.push({
        file: file.path,
        offset: from * bytes,
        length: (to - from) * bytes,
        was: file.version,
      })
    }
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const parts = this.parts(columns)
    const out: Columns = {}
    for (const name of columns) {
      const column = this.names.get(name)
      if (column === undefined) continue
      const [from, to] = this.range(row, PART[column])
      const shape = [to - from]
      out[name] = column.endsWith('Mask')
        ? { dtype: 'bool', shape, tiles: [{ data: new Uint8Array(to - from).fill(1) }] }
        : {
            dtype: this.manifest.bytes === 2 ? 'u16' : 'i32',
            shape,
            tiles: [{ data: ranges[parts.indexOf(PART[column])] }],
          }
    }
    return out
  }

  layout(): Layout {
    return { schema: this.columns.map(name => ({ name, type: `[≤ ${this.manifest.length}]` })) }
  }

  private get inner(): Source {
    this.innerSource ??= this.attach(this.manifest.inner)
    return this.innerSource
  }

  /** The documents that columns of tokens need, in order. */
  private parts(columns: readonly string[]): number[] {
    const found = columns.map(name => this.names.get(name)).filter(column => column !== undefined)
    return [...new Set(found.filter(column => !column.endsWith('Mask')).map(column => PART[column]))].sort()
  }

  /** [from, to) of the tokens of a part; answers end where the row is full. */
  private range(row: number, part: number): [number, number] {
    const { starts, rows, length } = this.manifest
    const first = PARTS * rows[row]
    const [from, to] = [starts[first + part], starts[first + part + 1]]
    const room = part === 0 ? length : length - (starts[first + 1] - starts[first])
    return [from, Math.min(to, from + room)]
  }
}
