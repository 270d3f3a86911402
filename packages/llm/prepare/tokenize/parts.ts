/**
 * A part: the tokens of one task, in a file that appears when it is whole.
 *
 *   tokens    u16 where the vocabulary allows it, else u32; all documents, without anything between them
 *   lengths   u32 for each document
 */
import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { SourceError } from '../../../core/basics/errors.js'
import { Draft } from '../../../core/system/files/draft.js'
import { readFrom } from '../../../core/system/files/regular.js'
import { RoomError, type Tokenizer } from '../../tokenize/tokenizer.js'

/** Tokens that are gathered before they are written. */
const GATHERED = 1 << 20
/** Bytes of tokens that are read at a time. */
const BLOCK = 4 << 20

export type PartDtype = 'u16' | 'u32'

export const partDtype = (vocabulary: number): PartDtype => (vocabulary <= 65536 ? 'u16' : 'u32')

const bytesOf = (dtype: PartDtype): number => (dtype === 'u16' ? 2 : 4)

/** A finished part, as the journal has it. */
export interface Part {
  number: number
  documents: number
  tokens: number
  /** Of the whole file. */
  crc: number
  /** Bytes of text, documents without a token, those that were left out, and those with bytes that were replaced. */
  textBytes: number
  empty: number
  skipped: number
  replaced: number
  /** Of the first documents that were left out: file, where in it, and why. */
  faults: BadDocument[]
}

export interface BadDocument {
  file: string
  /** The line, from 1, where it is known; otherwise it begins at this byte. */
  line?: number
  offset?: number
  problem: string
}

const partPath = (folder: string, number: number): string =>
  join(folder, `${String(number).padStart(6, '0')}.part`)

const partBytes = ({ tokens, documents }: Part, dtype: PartDtype): number =>
  tokens * bytesOf(dtype) + 4 * documents

/** Checks that the file is there as the journal says. */
export function isThere(folder: string, part: Part, dtype: PartDtype): boolean {
  const stat = statSync(partPath(folder, part.number), { throwIfNoEntry: false })
  return stat?.size === partBytes(part, dtype)
}

/** Memory of a thread in which tokens and lengths are gathered, one part after the other. */
export class Gathering {
  tokens = new Uint32Array(GATHERED)
  lengths = new Uint32Array(1024)

  /** Makes room for so many tokens. A very long text does not keep it. */
  reserve(tokens: number): void {
    const wanted = Math.max(GATHERED, tokens)
    if (this.tokens.length < wanted || this.tokens.length > 4 * wanted) this.tokens = new Uint32Array(wanted)
  }

  addLength(number: number, length: number): void {
    if (number === this.lengths.length) {
      const more = new Uint32Array(2 * number)
      more.set(this.lengths)
      this.lengths = more
    }
    this.lengths[number] = length
  }
}

export class PartWriter {
  documents = 0
  tokens = 0
  empty = 0
  textBytes = 0
  private crc = 0
  private readonly draft: Draft
  private at = 0

  constructor(
    folder: string,
    number: number,
    private readonly dtype: PartDtype,
    private readonly tokenizer: Tokenizer,
    private readonly gathering: Gathering,
    /** Told how many tokens were written. */
    private readonly reported: (tokens: number) => void,
  ) {
    this.draft = Draft.open(partPath(folder, number))
  }

  /** Adds the tokens of a text. One without a token is counted only. */
  add(text: Uint8Array): void {
    const room = this.tokenizer.room(text.length)
    if (this.gathering.tokens.length - this.at < room) {
      this.flush()
      this.gathering.reserve(room)
    }
    let before = this.at
    try {
      this.at = this.tokenizer.encode(text, this.gathering.tokens, before)
    } catch (error) {
      if (!(error instanceof RoomError)) throw error
      this.flush()
      this.gathering.reserve(error.needed)
      before = 0
      this.at = this.tokenizer.encode(text, this.gathering.tokens, before)
    }
    this.textBytes += text.length
    if (this.at === before) {
      this.empty++
      return
    }
    this.gathering.addLength(this.documents++, this.at - before)
  }

  /** Gives the part its name; returns its checksum. */
  close(): number {
    this.flush()
    this.write(new Uint8Array(this.gathering.lengths.buffer, 0, 4 * this.documents))
    // Not synced: the checksum tells a part that a power failure cut.
    this.draft.commit(false)
    return this.crc
  }

  discard(): void {
    this.draft.discard()
  }

  private flush(): void {
    const tokens = this.gathering.tokens.subarray(0, this.at)
    if (this.dtype === 'u32') this.write(new Uint8Array(tokens.buffer, 0, tokens.byteLength))
    else this.write(new Uint8Array(narrow(tokens).buffer))
    this.tokens += this.at
    this.reported(this.at)
    this.at = 0
  }

  private write(bytes: Uint8Array): void {
    this.crc = crc32(bytes, this.crc)
    this.draft.write(bytes)
  }
}

function narrow(tokens: Uint32Array): Uint16Array {
  const narrow = new Uint16Array(tokens.length)
  let all = 0
  for (let i = 0; i < tokens.length; i++) {
    all |= tokens[i]
    narrow[i] = tokens[i]
  }
  if (all > 0xffff)
    throw new SourceError('the tokenizer gave a token above 65,535, and its vocabulary has none: report this')
  return narrow
}

/** Told the documents of a part in their order: tokens[from] … tokens[to − 1]. The array is used again. */
export type EachDocument = (tokens: Uint32Array, from: number, to: number) => void

/** Reads parts of one folder, one after the other. */
export class PartReader {
  private raw = new Uint8Array(BLOCK)
  private tokens: Uint32Array

  constructor(
    private readonly folder: string,
    private readonly dtype: PartDtype,
  ) {
    this.tokens = this.wide()
  }

  /** Goes over the documents of a part. One that is not as it was written is an error. */
  read(part: Part, each: EachDocument): void {
    const path = partPath(this.folder, part.number)
    const width = bytesOf(this.dtype)
    const fd = openSync(path, 'r')
    try {
      const lengths = new Uint32Array(part.documents)
      const tail = new Uint8Array(lengths.buffer)
      readWhole(fd, tail, part.tokens * width, path)
      const room = this.reserve(lengths) / width
      let crc = 0
      for (let document = 0, at = 0; document < part.documents; ) {
        let [last, count] = [document, 0]
        while (last < part.documents && count + lengths[last] <= room) count += lengths[last++]
        const bytes = this.raw.subarray(0, count * width)
        readWhole(fd, bytes, at * width, path)
        crc = crc32(bytes, crc)
        if (this.dtype === 'u16') this.tokens.set(new Uint16Array(this.raw.buffer, 0, count))
        for (let from = 0; document < last; document++) {
          each(this.tokens, from, from + lengths[document])
          from += lengths[document]
        }
        at += count
      }
      if (crc32(tail, crc) !== part.crc) throw damaged(path)
    } finally {
      closeSync(fd)
    }
  }

  /** Makes room for the longest document; gives the bytes that there are. */
  private reserve(lengths: Uint32Array): number {
    let longest = 0
    for (const length of lengths) longest = Math.max(longest, length)
    const bytes = longest * bytesOf(this.dtype)
    if (bytes > this.raw.length) {
      this.raw = new Uint8Array(bytes)
      this.tokens = this.wide()
    }
    return this.raw.length
  }

  private wide(): Uint32Array {
    return this.dtype === 'u32' ? new Uint32Array(this.raw.buffer) : new Uint32Array(this.raw.length / 2)
  }
}

export function readWhole(fd: number, into: Uint8Array, position: number, path: string): void {
  if (readFrom(fd, into, position) < into.length) throw damaged(path)
}

/** The file is taken away, so that it is made anew. */
function damaged(path: string): SourceError {
  rmSync(path, { force: true })
  return new SourceError(
    `${path} was not what had been written: the disk or another program damaged it. It is removed: give the same command ` +
      'again, which makes it anew and goes on',
    { file: path },
  )
}
