/**
 * Makes rows of tokens without samples: for feeds whose fields are all columns of sources of tokens. The stretches of all rows of
 * a claim are read into the workspace, and kernels widen them into the slot.
 *
 *   rows ─ token-rows.ts ─► stretches of files ─ merged, read ─► workspace ─ token-columns.ts ─► row of the slot
 *
 * All or nothing: where anything is unusual (a read that fails, a file that changed, a token beyond the vocabulary), the claim is
 * left to the fetcher and the sample maker, which make the same rows one by one, and say what is wrong with which.
 */

import { mostRows } from '../../core/batch/layout.js'
import type { Slot } from '../../core/batch/slot.js'
import type { Draw } from '../../core/order/order.js'
import type { TokenFeed, TokenRowMaker, TokenRows } from '../../core/source/token-rows.js'
import { markSpan } from '../../core/spans/clock.js'
import { SpanKind } from '../../core/spans/span-words.js'
import type { Reader } from '../../core/store/reader.js'
import type { Workspace } from '../../core/system/memory/workspace.js'
import { TOKEN_BYTES } from './formats/token-file.js'
import { TokenColumns } from './token-columns.js'
import { Stretches, type TokenFileRows, type TokenPlace } from './token-rows.js'

/** Stretches that lie this near to each other in a file are read at once: bytes that cost less than a second read. */
const GAP = 4096
/** Bytes of a read that merging makes, at most. */
const MOST = 1 << 20

interface Part {
  rows: TokenFileRows
  columns: TokenColumns
}

/** A read of some stretches of the claim that lie behind each other. */
interface Read {
  file: TokenPlace
  offset: number
  end: number
  /** Where its bytes go in the workspace. */
  at: number
}

/** Makes the maker of rows of token files: what `TokenRows.maker` of each of them is. */
export function tokenMaker(
  sources: readonly TokenRows[],
  { fields, layout, work, reader, timing }: TokenFeed,
): TokenMaker | undefined {
  const parts: Part[] = []
  for (const rows of sources as readonly TokenFileRows[]) {
    if (!rows.files.every(({ path }) => reader.isAtHand(path))) return undefined
    const columns = TokenColumns.of(fields, layout.fields, rows, work)
    if (columns === undefined) return undefined
    parts.push({ rows, columns })
  }
  return new TokenMaker(parts, mostRows(layout), work, reader, timing)
}

export class TokenMaker implements TokenRowMaker {
  /** The stretches of each row of the claim. */
  private readonly stretches: Stretches[]
  /** For each stretch of the claim, where its bytes lie in the workspace. */
  private readonly places: number[] = []
  private readonly reads: Read[] = []
  private readonly touched = new Set<TokenPlace>()

  constructor(
    private readonly parts: readonly Part[],
    chunkRows: number,
    private readonly work: Workspace,
    private readonly reader: Reader,
    private readonly timing: TokenFeed['timing'],
  ) {
    this.stretches = Array.from({ length: chunkRows }, () => new Stretches())
  }

  make(slot: Slot, from: number, to: number, draws: readonly Draw[]): boolean {
    const count = to - from
    try {
      this.plan(draws, count)
      if (!this.read()) return false
    } catch {
      return false // what is wrong is said when they are made one by one
    }
    markSpan(SpanKind.Read)
    let first = 0
    for (let i = 0; i < count; i++) {
      const stretches = this.stretches[i]
      const { columns } = this.parts[draws[i].source]
      if (!columns.write(slot, from + i, stretches, this.places, first)) return false
      first += stretches.count
    }
    return true
  }

  /** Which stretches the rows are made of, by which reads they come, and where those go. */
  private plan(draws: readonly Draw[], count: number): void {
    const { reads, places, work } = this
    reads.length = 0
    work.reset()
    let number = 0
    let last: Read | undefined
    let bytes = 0
    for (let i = 0; i < count; i++) {
      const { source, row, epoch } = draws[i]
      const part = this.parts[source]
      const stretches = this.stretches[i]
      stretches.clear()
      part.rows.stretches(row, epoch, stretches)
      for (let k = 0; k < stretches.count; k++, number++) {
        if (stretches.file[k] < 0) continue // a token that stands in no file
        const file = part.rows.files[stretches.file[k]]
        const size = TOKEN_BYTES[file.dtype]
        const length = stretches.tokens[k] * size
        const offset = file.begin + stretches.offset[k] * size
        if (last === undefined || !follows(last, file, offset, length)) {
          bytes = (bytes + 63) & ~63
          last = { file, offset, end: offset, at: bytes }
          reads.push(last)
        }
        places[number] = last.at + offset - last.offset
        if (offset + length > last.end) last.end = offset + length
        bytes = last.at + last.end - last.offset
      }
    }
    const base = work.take(bytes)
    for (const read of reads) read.at += base
    for (let k = 0; k < number; k++) places[k] += base
  }

  private read(): boolean {
    const { reads, reader, timing, touched } = this
    const { u8 } = this.work
    touched.clear()
    for (const { file, offset, end, at } of reads) {
      timing.mark(reader.counts.bytesRead)
      if (!reader.readNow(file.path, offset, u8.subarray(at, at + end - offset))) return false
      touched.add(file)
    }
    timing.mark(reader.counts.bytesRead)
    // Each file is looked at once, after all was read of it.
    for (const { path, version } of touched) reader.checkUnchanged(path, version)
    return true
  }
}

/** Whether a stretch is read along with the one before it. */
function follows(read: Read, file: TokenPlace, offset: number, length: number): boolean {
  return (
    read.file === file &&
    offset >= read.offset &&
    offset <= read.end + GAP &&
    offset + length - read.offset <= MOST
  )
}
