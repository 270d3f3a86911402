/** The index of files with arrays while a feed runs: mapped, the same in every thread. */
import type { NumberArray } from '../../core/source/index/columns.js'
import { attachedIndex, type TextColumn } from '../../core/source/index/file.js'
import type { ByteRange } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { checkMember } from './inflate-member.js'
import type { ArrayType, Deflated } from './member.js'

/** Types that are kept as objects: where each file has another shape, they are read again from the index. */
const TYPES_KEPT = 4096

export class ArraysIndexFile {
  readonly rows: NumberArray
  readonly starts: NumberArray
  private readonly names: TextColumn
  private readonly paths: TextColumn
  private readonly bytes: NumberArray
  private readonly times: NumberArray | undefined
  private readonly versions: TextColumn | undefined
  private readonly columns: NumberArray
  private readonly typeNumbers: NumberArray
  private readonly at: NumberArray
  private readonly lengths: NumberArray
  private readonly sizes: NumberArray
  private readonly skips: NumberArray
  private readonly crcs: NumberArray
  private readonly typeTexts: TextColumn
  private readonly types = new Map<number, ArrayType>()
  private readonly source: { path: string; checksum: number; checked: boolean }
  /** The file that was last asked for. */
  private last = { file: -1, path: '', was: '' as Version }

  constructor(path: string, checksum: number) {
    const index = attachedIndex(path, checksum)
    this.source = { path, checksum, checked: true }
    this.rows = index.numbers('rows')
    this.starts = index.numbers('start')
    this.names = index.text('file')
    this.paths = index.text('path')
    this.bytes = index.numbers('bytes')
    this.times = index.has('time') ? index.numbers('time') : undefined
    this.versions = index.has('version') ? index.text('version') : undefined
    this.columns = index.numbers('column')
    this.typeNumbers = index.numbers('type')
    this.at = index.numbers('at')
    this.lengths = index.numbers('length')
    this.sizes = index.numbers('size')
    this.skips = index.numbers('skip')
    this.crcs = index.numbers('crc')
    this.typeTexts = index.text('types')
  }

  get files(): number {
    return this.rows.length
  }

  nameOf(file: number): string {
    return this.names.at(file)
  }

  pathOf(file: number): string {
    return this.lookAt(file).path
  }

  /** The member of a file that is a column; −1 where it has none. */
  member(file: number, column: number): number {
    const { starts, columns } = this
    for (let i = starts[file]; i < starts[file + 1]; i++) if (columns[i] === column) return i
    return -1
  }

  columnOf(member: number): number {
    return this.columns[member]
  }

  typeOf(member: number): ArrayType {
    const number = this.typeNumbers[member]
    let type = this.types.get(number)
    if (type === undefined) {
      type = JSON.parse(this.typeTexts.at(number)) as ArrayType
      if (this.types.size < TYPES_KEPT) this.types.set(number, type)
    }
    return type
  }

  isDeflated(member: number): boolean {
    return this.sizes[member] > 0
  }

  deflated(member: number): Deflated {
    return { size: this.sizes[member], skip: this.skips[member], crc: this.crcs[member] }
  }

  /** Refuses a stored member, given as a whole, that is not what its checksum says. */
  check(file: number, member: number, data: Uint8Array): void {
    const crc = this.crcs[member]
    if (crc !== 0) checkMember(this.range(file, member), data, { header: this.skips[member], crc })
  }

  /** Where a member begins in its file. */
  offset(member: number): number {
    return this.at[member]
  }

  /** Whether two members of a file are fields of the same records. */
  sameBytes(a: number, b: number): boolean {
    return this.at[a] === this.at[b] && this.lengths[a] === this.lengths[b]
  }

  /** The bytes of a member as they lie in the file; or some of them. */
  range(file: number, member: number, from = 0, length = this.lengths[member]): ByteRange {
    const { path, was } = this.lookAt(file)
    return { file: path, offset: this.at[member] + from, length, was }
  }

  private lookAt(file: number): { path: string; was: Version } {
    if (this.last.file !== file) this.last = { file, path: this.paths.at(file), was: this.version(file) }
    return this.last
  }

  private version(file: number): Version {
    if (this.versions !== undefined) return this.versions.at(file)
    return { size: this.bytes[file], mtimeMs: this.times![file], index: this.source }
  }
}
