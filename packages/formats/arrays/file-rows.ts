/** Each file is a row, with a column for each of its arrays. A deflated array is unpacked for its row. */
import { DecodeError } from '../../core/basics/errors.js'
import type { Columns } from '../../core/source/column.js'
import type { IndexColumn, Need, Pieces, Present, Source } from '../../core/source/source.js'
import { fileKey } from '../shared/file-key.js'
import { ArrayRows, DIRECT, type Part, refusal, severalTexts } from './array-rows.js'
import { inflateMember } from './inflate-member.js'
import type { ArraysManifest } from './manifest.js'
import { bytesOfType, isPlainType, textOf, wholeArray } from './member.js'

/** Deflated arrays of up to this size are unpacked in any case: that their shape is wrong is then told in words of shapes. */
const ALWAYS_UNPACKED = 64 << 20

export class FileRows extends ArrayRows implements Source {
  readonly count: number
  readonly runs = Float64Array.of(0)
  readonly indexed: readonly string[]
  /** Memory for deflated arrays, by their number in a row. It is used again: rows are made one after the other. */
  private readonly unpacked: Uint8Array[] = []

  constructor(manifest: ArraysManifest) {
    super(manifest)
    this.count = this.arrays.files
    this.indexed = ['key'].filter(name => !manifest.columns.includes(name))
  }

  id(row: number): string {
    return this.arrays.nameOf(row)
  }

  key(row: number): string {
    return fileKey(this.arrays.nameOf(row))
  }

  index(name: string): IndexColumn | undefined {
    return this.indexed.includes(name) ? { type: 'string', at: row => this.key(row) } : undefined
  }

  where(row: number): { file: string; offset: number } {
    return { file: this.arrays.pathOf(row), offset: 0 }
  }

  present(row: number): Present {
    return { columns: this.namesIn(row) }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    let next = 0
    for (const { member, piece } of this.partsOf(row, columns)) {
      if (piece !== next) continue
      out.ranges.push(this.arrays.range(row, member))
      next++
    }
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges }: Pieces): Columns {
    const { arrays } = this
    const out: Columns = {}
    const opened: Uint8Array[] = []
    for (const part of this.partsOf(row, columns)) {
      const { column, member, type, piece } = part
      const problem = refusal(part)
      if (problem) throw problem
      if (piece < 0) {
        out[column] = wholeArray(type, arrays.range(row, member))
        continue
      }
      this.checkSize(part)
      const data = (opened[piece] ??= this.opened(row, member, piece, ranges[piece]))
      if (type.raw) out[column] = data
      else if (type.text === undefined) out[column] = wholeArray(type, data)
      else if (bytesOfType(type) !== type.item || (type.inner ?? []).length > 0) throw severalTexts(part)
      else out[column] = textOf(type, data, column)
    }
    return out
  }

  /** A few bytes may be made to unpack to gigabytes: what no field could take is refused before. */
  private checkSize({ column, member, type }: Part): void {
    const { most } = this.manifest
    if (!Object.hasOwn(most, column) || !isPlainType(type) || !this.arrays.isDeflated(member)) return
    const bytes = bytesOfType(type)
    if (bytes > Math.max(most[column], ALWAYS_UNPACKED))
      throw new DecodeError(
        `column "${column}" unpacks to ${bytes} bytes, and its field takes ${most[column]} at most: raise its "shape", or leave the file out`,
      )
  }

  private partsOf(row: number, columns: readonly string[]): Part[] {
    return this.parts('ranged', row, columns, ({ member, type }) => {
      const later = isPlainType(type) && bytesOfType(type) >= DIRECT && !this.arrays.isDeflated(member)
      return !later
    })
  }

  /** The elements of an array. */
  private opened(row: number, member: number, piece: number, data: Uint8Array): Uint8Array {
    const { arrays } = this
    if (!arrays.isDeflated(member)) {
      arrays.check(row, member, data)
      return data
    }
    const about = arrays.deflated(member)
    if (!(this.unpacked[piece]?.length >= about.size))
      this.unpacked[piece] = Buffer.allocUnsafeSlow(about.size)
    return inflateMember(arrays.range(row, member), data, this.unpacked[piece].subarray(0, about.size), about)
  }
}
