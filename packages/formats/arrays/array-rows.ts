/** What the two ways to take rows from files with arrays have in common. */
import { DecodeError, SeveralError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import type { Layout } from '../../core/source/layout.js'
import { ArraysIndexFile } from './arrays-index.js'
import type { ArraysManifest } from './manifest.js'
import type { ArrayType } from './member.js'

/** From so many bytes on, a value is read straight into the slot; smaller ones are read together with their neighbours. */
export const DIRECT = 256 << 10

/** A wanted column of a file. */
export interface Part {
  column: string
  member: number
  type: ArrayType
  /** Which piece of what is brought for the row or the unit holds it; −1 where it is read later, into the slot. */
  piece: number
}

export class ArrayRows {
  readonly columns: readonly string[]
  protected readonly arrays: ArraysIndexFile
  private readonly numbers = new PerColumns(columns =>
    Int32Array.from(columns, name => this.manifest.names.indexOf(name)),
  )

  private readonly kept: Partial<
    Record<'ranged' | 'shared', { file: number; columns: readonly string[]; parts: Part[] }>
  > = {}

  constructor(protected readonly manifest: ArraysManifest) {
    this.columns = manifest.columns
    this.arrays = new ArraysIndexFile(manifest.index, manifest.checksum)
  }

  layout(): Layout {
    return this.manifest.layout
  }

  /**
   * The members of a file that are wanted. Those for which `brought` holds get the numbers of their pieces: fields of the same
   * records have the same piece. What was last asked for is kept, by `what`: the next row is mostly of the same file.
   */
  protected parts(
    what: 'ranged' | 'shared',
    file: number,
    columns: readonly string[],
    brought: (part: Part) => boolean,
  ): Part[] {
    const kept = this.kept[what]
    if (kept?.file === file && kept.columns === columns) return kept.parts
    const parts = this.partsOfFile(file, columns, brought)
    this.kept[what] = { file, columns, parts }
    return parts
  }

  private partsOfFile(file: number, columns: readonly string[], brought: (part: Part) => boolean): Part[] {
    const { arrays } = this
    const numbers = this.numbers.of(columns)
    const parts: Part[] = []
    let pieces = 0
    for (let i = 0; i < columns.length; i++) {
      const member = numbers[i] < 0 ? -1 : arrays.member(file, numbers[i])
      if (member < 0) continue
      const part: Part = { column: columns[i], member, type: arrays.typeOf(member), piece: -1 }
      if (!this.takes(part.type, file)) continue
      if (part.type.refused === undefined && brought(part)) {
        const same = parts.find(other => other.piece >= 0 && arrays.sameBytes(other.member, member))
        part.piece = same === undefined ? pieces++ : same.piece
      }
      parts.push(part)
    }
    return parts
  }

  /** Whether a member is a column of the rows. */
  protected takes(_type: ArrayType, _file: number): boolean {
    return true
  }

  /** Names of the columns that rows of a file have. */
  protected namesIn(file: number): string[] {
    const { arrays, manifest } = this
    const names: string[] = []
    for (let i = arrays.starts[file]; i < arrays.starts[file + 1]; i++)
      if (this.takes(arrays.typeOf(i), file) && arrays.typeOf(i).refused === undefined)
        names.push(manifest.names[arrays.columnOf(i)])
    return names
  }
}

/** Refuses a column that can't be fed, for the sample that has it. */
export function refusal({ column, type }: Part): DecodeError | undefined {
  if (type.refused === undefined) return undefined
  return new DecodeError(`column "${column}": ${type.refused}`)
}

export function severalTexts({ column, type }: Part): SeveralError {
  return new SeveralError(
    column,
    `column "${column}" has an array of texts of shape [${type.shape}] in one row: only a single text can be fed; ` +
      'save its texts as numbers',
  )
}
