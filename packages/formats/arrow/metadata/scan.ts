/**
 * Goes through the messages of an Arrow file. There are two forms, told apart by how they begin:
 *
 *   file     "ARROW1", messages, a footer that says where they are, "ARROW1" (also Feather, version 2)
 *   stream   a schema, then messages, one behind the other: what Hugging Face's datasets write
 *
 * A message is FF FF FF FF, i32 bytes of its metadata, the metadata, its body. Old streams lack the FF FF FF FF.
 *
 * LitData keeps either form inside of its chunks: other bytes, the Arrow file, u32 its bytes, "LDARW01\0".
 */
import { inFile, type SourceError } from '../../../core/basics/errors.js'
import { inParallel } from '../../../core/basics/parallel.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { FlatBuffer } from './flatbuffer.js'
import { checkVersion, type Message, parseMessage } from './message.js'
import { parseSchema, type Schema } from './schema.js'

const MAGIC = 'ARROW1'
/** The end of a chunk of LitData that holds Arrow, and the bytes that it takes with the length before it. */
const CHUNK_MAGIC = 'LDARW01\0'
export const CHUNK_END = 12
/** Bytes of a message that are read at first: the metadata of some 20 columns, mostly all of it. */
const FIRST_READ = 4096
/** Metadata of one message that is read at most: some million columns. */
const MOST_METADATA = 256 << 20
/** Messages of a file that are read at the same time. */
const AT_ONCE = 32

/** What is told of a file, in this order: the schema, then dictionaries and batches. */
export interface ArrowSink {
  schema(schema: Schema): void
  /** `at` is where the body begins in the file. */
  dictionary(message: Message, at: number): Promise<void>
  batch(message: Message, at: number): void
}

export type ArrowForm = 'file' | 'stream'

export async function scanArrow(
  read: ReadAt,
  bytes: number,
  file: string,
  sink: ArrowSink,
  progress?: (bytes: number) => void,
): Promise<ArrowForm> {
  const bytesAt = readerOf(read, bytes, file)
  const begin = bytes < 8 ? Buffer.alloc(0) : await bytesAt(0, 8)
  const text = begin.toString('latin1')
  const inside = text.startsWith(MAGIC) || bytes < CHUNK_END ? undefined : await insideChunk(bytesAt, bytes)
  if (inside !== undefined) return scanInside(read, inside, file, sink, progress)
  if (text.startsWith(MAGIC)) {
    await scanFile(bytesAt, bytes, file, sink, progress)
    return 'file'
  }
  if (text.startsWith('FEA1'))
    throw wrongFile(
      file,
      'it is Feather version 1: write it again with pyarrow.feather.write_feather(table, path)',
    )
  const length = begin.length < 8 ? 0 : begin.readInt32LE(0)
  if (text === 'PAR1' || text.startsWith('PAR1'))
    throw wrongFile(file, 'it is Parquet: use the source "parquet"')
  if (!(length === -1 || (length > 0 && length < bytes)))
    throw wrongFile(file, 'it begins neither as an Arrow file nor as a stream: check the path')
  await scanStream(bytesAt, bytes, file, sink, progress)
  return 'stream'
}

/** Where a chunk of LitData keeps its Arrow file, as its last bytes tell; undefined where it has none. */
export function arrowInChunk(end: Buffer, bytes: number): { at: number; bytes: number } | undefined {
  if (end.toString('latin1', 4) !== CHUNK_MAGIC) return undefined
  const length = end.readUInt32LE(0)
  return length > 0 && length + CHUNK_END <= bytes
    ? { at: bytes - CHUNK_END - length, bytes: length }
    : undefined
}

async function insideChunk(
  bytesAt: BytesAt,
  bytes: number,
): Promise<{ at: number; bytes: number } | undefined> {
  return arrowInChunk(await bytesAt(bytes - CHUNK_END, CHUNK_END), bytes)
}

/** Scans what lies inside a file: what is told of it counts from the beginning of the file. */
function scanInside(
  read: ReadAt,
  { at: from, bytes }: { at: number; bytes: number },
  file: string,
  sink: ArrowSink,
  progress?: (bytes: number) => void,
): Promise<ArrowForm> {
  const moved: ArrowSink = {
    schema: schema => sink.schema(schema),
    dictionary: (message, at) => sink.dictionary(message, from + at),
    batch: (message, at) => sink.batch(message, from + at),
  }
  return scanArrow((into, position) => read(into, from + position), bytes, file, moved, progress)
}

type BytesAt = (offset: number, length: number) => Promise<Buffer>

function readerOf(read: ReadAt, bytes: number, file: string): BytesAt {
  return async (offset, length) => {
    if (!(offset >= 0 && length >= 0 && offset + length <= bytes)) throw cutShort(file, offset, length, bytes)
    const into = Buffer.allocUnsafeSlow(length)
    if ((await read(into, offset)) < length) throw cutShort(file, offset, length, bytes)
    return into
  }
}

async function scanFile(
  bytesAt: BytesAt,
  bytes: number,
  file: string,
  sink: ArrowSink,
  progress?: (bytes: number) => void,
): Promise<void> {
  const end = bytes < 20 ? Buffer.alloc(10) : await bytesAt(bytes - 10, 10)
  const length = end.readInt32LE(0)
  if (end.toString('latin1', 4) !== MAGIC || !(length > 0 && length <= bytes - 18))
    throw inFile(
      file,
      ': it begins as an Arrow file, and its footer is missing: it is cut short, or was never closed: write it again',
      { offset: Math.max(0, bytes - 10) },
    )
  const at = bytes - 10 - length
  const footer = new FlatBuffer(await bytesAt(at, length), file, at)
  const root = footer.root()
  const blocksOf = (field: number): Block[] => {
    const places = root.vector(field, 24)
    return Array.from({ length: places.count }, (_, i) => blockAt(footer, places.at + 24 * i, at))
  }
  const blocks = blocksOf(3)
  // How many buffers a type has is a matter of the batches' version. The footer may have another one.
  const ofFooter = checkVersion(root.i16(0), footer)
  const version = blocks.length === 0 ? ofFooter : (await messageAt(bytesAt, blocks[0], file)).version
  const schema = root.table(1)
  if (schema === undefined) return footer.fail('the footer has no schema')
  sink.schema(parseSchema(schema, version))
  for (const block of blocksOf(2)) {
    const message = await messageAt(bytesAt, block, file)
    if (message.kind !== 'dictionary') return footer.fail('the footer has a dictionary that is none')
    await sink.dictionary(message, block.at + block.metadata)
  }
  for (let from = 0; from < blocks.length; from += AT_ONCE) {
    const some = blocks.slice(from, from + AT_ONCE)
    const messages = await inParallel(some, AT_ONCE, block => messageAt(bytesAt, block, file))
    messages.forEach((message, i) => {
      if (message.kind !== 'batch') footer.fail('the footer has a batch that is none')
      sink.batch(message, some[i].at + some[i].metadata)
    })
    progress?.(some.at(-1)!.at)
  }
}

/** Where a message lies: its metadata, with what stands before it, and its body. */
interface Block {
  at: number
  metadata: number
  body: number
}

function blockAt(footer: FlatBuffer, place: number, end: number): Block {
  const block = { at: footer.i64(place), metadata: footer.i32(place + 8), body: footer.i64(place + 16) }
  const { at, metadata, body } = block
  if (!(at >= 8 && metadata >= 8 && body >= 0 && metadata <= MOST_METADATA && at + metadata + body <= end))
    footer.fail(
      `the footer has a message at ${at} of ${metadata} and ${body} bytes, before the footer at ${end}`,
      place,
    )
  return block
}

async function messageAt(bytesAt: BytesAt, { at, metadata, body }: Block, file: string): Promise<Message> {
  const bytes = await bytesAt(at, metadata)
  const front = bytes.readInt32LE(0) === -1 ? 8 : 4
  const length = bytes.readInt32LE(front - 4)
  if (!(length > 0 && front + length <= metadata))
    throw damaged(file, at, `its metadata has ${length} bytes, and the footer says ${metadata}`)
  const message = parseMessage(bytes.subarray(front, front + length), file, at + front)
  if (message.bodyBytes > body)
    throw damaged(file, at, `its body has ${message.bodyBytes} bytes, and the footer says ${body}`)
  return message
}

async function scanStream(
  bytesAt: BytesAt,
  bytes: number,
  file: string,
  sink: ArrowSink,
  progress?: (bytes: number) => void,
): Promise<void> {
  let at = 0
  let known = false
  // A stream that was never closed just ends.
  while (at + 8 <= bytes) {
    const begin = await bytesAt(at, Math.min(FIRST_READ, bytes - at))
    const front = begin.readInt32LE(0) === -1 ? 8 : 4
    const length = begin.readInt32LE(front - 4)
    if (length === 0) break
    if (!(length > 0 && length <= MOST_METADATA)) throw damaged(file, at, `its metadata has ${length} bytes`)
    if (at + front + length > bytes) throw cutShort(file, at, front + length, bytes)
    const metadata =
      front + length <= begin.length
        ? begin.subarray(front, front + length)
        : await bytesAt(at + front, length)
    const message = parseMessage(metadata, file, at + front)
    const body = at + front + length
    if (body + message.bodyBytes > bytes) throw cutShort(file, body, message.bodyBytes, bytes)
    if (!known) {
      if (message.kind !== 'schema')
        throw damaged(file, at, 'a stream begins with its schema, and this does not')
      sink.schema(parseSchema(message.header, message.version))
      known = true
    } else if (message.kind === 'dictionary') await sink.dictionary(message, body)
    else if (message.kind === 'batch') sink.batch(message, body)
    at = body + message.bodyBytes
    progress?.(at)
  }
  if (!known) throw damaged(file, 0, 'it has no schema')
}

function wrongFile(file: string, why: string): SourceError {
  return inFile(file, `is no Arrow file that can be read: ${why}`, { offset: 0 })
}

function damaged(file: string, offset: number, problem: string): SourceError {
  return inFile(file, `: the message at offset ${offset} is damaged: ${problem}: write the file again`, {
    offset,
  })
}

function cutShort(file: string, offset: number, length: number, bytes: number): SourceError {
  return inFile(
    file,
    `: wanted ${length} bytes at offset ${offset}, and the file ends at ${bytes}: it is cut short; copy or write it again`,
    { offset },
  )
}
