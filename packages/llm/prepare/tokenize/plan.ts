/**
 * Cuts the inputs into tasks, each a part of the output. The cut follows from the inputs alone, never from the number of threads or machines.
 *
 *   lines, plain       ranges of bytes; a line belongs to the range in which it begins
 *   compressed, text   whole files
 *   rows               ranges of rows, cut where units (row groups) begin
 *
 * Small files share a task.
 */

import { SourceError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import type { Manifest, Source } from '../../../core/source/source.js'
import type { Input } from './inputs.js'

/** What one thread reads without a break: bytes [from, to) of a file, or those rows of a source. */
export type Piece =
  | { kind: 'json' | 'lines'; input: Input; from: number; to: number }
  | { kind: 'text'; input: Input }
  | { kind: 'rows'; source: number; from: number; to: number; bytes: number }
  /** A stretch of lines from stdin, whose first has this number. */
  | { kind: 'block'; bytes: Uint8Array; json: boolean; line: number }

export interface Task {
  /** Of the part that it makes, from 0. */
  number: number
  pieces: Piece[]
  bytes: number
}

export interface Plan {
  tasks: Task[]
  /** Of inputs with columns. */
  sources: Manifest[]
  bytes: number
}

/** Bytes of a task: large enough that its overhead is nothing, small enough that little is lost by a kill. */
const LEAST = 1 << 20
const MOST = 64 << 20
/** Tasks, as long as they are not too large: each thread gets many, so that all end at the same time. */
const TASKS = 256

export interface PlanOptions {
  key: string
  root: string
  /** This machine's share: from 1. */
  part?: { number: number; of: number }
  notice?: (text: string) => void
}

export async function planTasks(inputs: readonly Input[], options: PlanOptions): Promise<Plan> {
  const bytes = inputs.reduce((sum, input) => sum + input.bytes, 0)
  const size = taskBytes(bytes)
  const sources: Manifest[] = []
  const pieces: [Piece, number][] = []
  for (let i = 0; i < inputs.length; ) {
    const { format } = inputs[i]
    if (format === undefined) {
      pieces.push(...piecesOf(inputs[i++], size))
      continue
    }
    const first = i
    while (i < inputs.length && inputs[i].format === format) i++
    const files = inputs.slice(first, i)
    const { manifest, source } = await openRows(format, files, options)
    pieces.push(...rowPieces(source, sources.length, files, size))
    sources.push(manifest)
  }
  const tasks = grouped(pieces, size)
  return { tasks: share(tasks, bytes, options.part), sources, bytes }
}

/** A pure function of the inputs, so that the parts are the same in every run. */
function taskBytes(total: number): number {
  const even = Math.ceil(total / TASKS / LEAST) * LEAST
  return Math.max(LEAST, Math.min(MOST, even))
}

function* piecesOf(input: Input, size: number): Generator<[Piece, number]> {
  const { kind, bytes, codec } = input
  if (kind === 'text') yield [{ kind, input }, bytes]
  else if (codec !== undefined) yield [{ kind, input, from: 0, to: bytes } as Piece, bytes]
  else
    for (let from = 0; from < bytes; from += size) {
      const to = Math.min(bytes, from + size)
      yield [{ kind, input, from, to } as Piece, to - from]
    }
}

async function openRows(
  format: string,
  files: readonly Input[],
  { root, key, notice }: PlanOptions,
): Promise<{ manifest: Manifest; source: Source }> {
  const json = { [format]: files.map(({ file }) => file) } as unknown as Parameters<typeof openSource>[0]
  const manifest = await openSource(json, { root, wanted: [key], check: 'files', notice })
  return { manifest, source: attachSource(manifest) }
}

function* rowPieces(
  { count, unitStarts }: Source,
  source: number,
  files: readonly Input[],
  size: number,
): Generator<[Piece, number]> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const perRow = bytes / count
  const wanted = Math.max(1, Math.floor(size / perRow))
  let unit = 0
  for (let from = 0; from < count; ) {
    let to = Math.min(count, from + wanted)
    if (unitStarts !== undefined) {
      while (unit < unitStarts.length && unitStarts[unit] < to) unit++
      to = unit < unitStarts.length ? unitStarts[unit] : count
    }
    const share = (to - from) * perRow
    yield [{ kind: 'rows', source, from, to, bytes: share }, share]
    from = to
  }
}

function grouped(pieces: readonly [Piece, number][], size: number): Task[] {
  const tasks: Task[] = []
  let open: Task | undefined
  for (const [piece, bytes] of pieces) {
    if (open === undefined || open.bytes + bytes > size) {
      open = { number: tasks.length, pieces: [], bytes: 0 }
      tasks.push(open)
    }
    open.pieces.push(piece)
    open.bytes += bytes
  }
  return tasks
}

/** The tasks of one machine: those whose middle lies in its share of the bytes. */
function share(tasks: Task[], total: number, part: PlanOptions['part']): Task[] {
  if (part === undefined) return tasks
  let before = 0
  return tasks.filter(task => {
    const middle = before + task.bytes / 2
    before += task.bytes
    return Math.min(part.of - 1, Math.floor((middle * part.of) / Math.max(1, total))) === part.number - 1
  })
}

/** Bytes of a block, more where a line is longer. */
const BLOCK = 8 << 20
const LF = 0x0a

export async function* blocksOf(stream: AsyncIterable<Uint8Array>, json: boolean): AsyncGenerator<Task> {
  let pieces: Uint8Array[] = []
  let bytes = 0
  let number = 0
  let line = 1
  const task = (given: Buffer): Task => {
    const block = number === 0 ? withoutMark(given) : given
    const shared = new Uint8Array(new SharedArrayBuffer(block.length))
    shared.set(block)
    const made: Task = { number, pieces: [{ kind: 'block', bytes: shared, json, line }], bytes: block.length }
    number++
    for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) line++
    return made
  }
  let first = true
  for await (const piece of stream) {
    if (first) refusePacked(piece)
    first = false
    pieces.push(piece)
    bytes += piece.length
    if (bytes < BLOCK || !piece.includes(LF)) continue
    const all = Buffer.concat(pieces)
    const end = all.lastIndexOf(LF) + 1
    yield task(all.subarray(0, end))
    pieces = end < all.length ? [all.subarray(end)] : []
    bytes = all.length - end
  }
  if (bytes > 0) yield task(Buffer.concat(pieces))
}

/** Without the byte order mark that a file may begin with. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function refusePacked(head: Uint8Array): void {
  const gzip = head[0] === 0x1f && head[1] === 0x8b
  const zstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd
  if (gzip || zstd)
    throw new SourceError(
      `stdin is compressed: pipe it through ${gzip ? 'zcat' : 'zstdcat'}, or give the file instead`,
    )
}
