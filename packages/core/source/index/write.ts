/** Writes the index of a source. The file appears whole or not at all (see Draft); index/file.ts reads it. */
import { crc32 } from '../../codec/checksum.js'
import { Draft } from '../../system/files/draft.js'
import { type ColumnBuilder, NUMBER_ARRAYS, type NumberColumn, TextBuilder } from './columns.js'
import { IndexFile } from './file.js'
import { align, type ColumnPlace, checksumSeed, checksumText, columnEnd, writeFront } from './header.js'

/** From this size on an index is put on the disk before it has its name. Bytes. */
const SYNCED = 1 << 20

/** Where an index is written: a path, or a draft that has no name. */
export type IndexTarget = string | Draft

/** Writes an index. The columns may have different lengths. */
export function writeIndex(
  target: IndexTarget,
  kind: string,
  count: number,
  meta: Record<string, unknown>,
  columns: Readonly<Record<string, ColumnBuilder | NumberColumn>>,
): void {
  const places: Record<string, ColumnPlace> = {}
  let end = 0
  for (const [name, column] of Object.entries(columns)) {
    places[name] = placeColumn(column, end)
    end = columnEnd(places[name])
  }
  // The header has the columns' checksums, which are known when they are written: its room is left free until then.
  const room = writeFront({ kind, count, columns: places, meta }).length
  write(target, draft => {
    draft.write(new Uint8Array(room))
    for (const [name, column] of Object.entries(columns)) {
      let crc = checksumSeed(name, places[name])
      const text = column instanceof TextBuilder
      if (text) crc = writePieces(draft, column.offsets.pieces(offsetType(column)), crc, true)
      places[name].crc = checksumText(writePieces(draft, column.pieces(), crc, false))
    }
    draft.writeAt(writeFront({ kind, count, columns: places, meta }), 0)
  })
}

/** Writes an index again with another `meta`; its columns stay as they are. */
export function rewriteMeta(path: string, meta: Record<string, unknown>): void {
  const index = new IndexFile(path)
  const { kind, count, columns } = index.header
  write(path, draft => {
    draft.write(writeFront({ kind, count, columns, meta }))
    draft.write(index.columnBytes())
  })
}

function write(target: IndexTarget, work: (draft: Draft) => void): void {
  const draft = typeof target === 'string' ? Draft.open(target) : target
  try {
    work(draft)
    // A small one that a power failure tears is found out by its checksums and made again: quicker than to wait for the disk.
    draft.commit(draft.bytes >= SYNCED)
  } catch (error) {
    draft.discard()
    throw error
  }
}

function placeColumn(column: ColumnBuilder | NumberColumn, end: number): ColumnPlace {
  const at = align(end)
  const crc = checksumText(0)
  if (!(column instanceof TextBuilder)) return { type: column.type, at, length: column.length, crc }
  const offsets = offsetType(column)
  const blob = align(at + (column.length + 1) * NUMBER_ARRAYS[offsets].BYTES_PER_ELEMENT)
  return { type: 'text', at, length: column.length, crc, offsets, blob, blobBytes: column.bytes }
}

function offsetType(column: TextBuilder): 'u32' | 'f64' {
  return column.bytes < 2 ** 32 ? 'u32' : 'f64'
}

/** Writes a piece after the other, then zeros up to the next multiple of 64. Goes on with a checksum, of the zeros too if `padded`. */
function writePieces(draft: Draft, pieces: Iterable<Uint8Array>, crc: number, padded: boolean): number {
  let sum = crc
  for (const piece of pieces) {
    draft.write(piece)
    sum = crc32(piece, sum)
  }
  const padding = new Uint8Array(align(draft.bytes) - draft.bytes)
  draft.write(padding)
  return padded ? crc32(padding, sum) : sum
}
