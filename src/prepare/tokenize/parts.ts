/**
 * A part: the tokens of one task, in a file that appears when it is whole.
 *
 *   tokens    u16 where the vocabulary allows it, else u32; all documents, without anything between them
 *   lengths   u32 for each document
 */
import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { SourceError } from '../../basics/errors.js'
import { Draft } from '../../system/files/draft.js'
import type { Tokenizer } from '../../tokenize/tokenizer.js'

/** Tokens that are gathered before they are written. */
const GATHERED = 1 << 20
/** Bytes of tokens that are read at a time. */
const BLOCK = 4 << 20

export type PartDtype = 'u16' | 'u32'

export const partDtype = (vocabulary: number): PartDtype => (vocabulary <= 65536 ? 'u16' : 'u32')

const bytesOf = (dtype: PartDtype): number => (dtype === 'u16' ? 2 : 4)

/** What the journal keeps of a finished part. */
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

/** Whether the file is there as the journal says. */
export function isThere(folder: string, part: Part, dtype: PartDtype): boolean {
  const stat = statSync(partPath(folder, part.number), { throwIfNoEntry: false })
  return stat?.size === partBytes(part, dtype)
}

export class PartWriter {
  documents = 0
  tokens = 0
  empty = 0
  textBytes = 0
  private crc = 0
  private readonly draft: Draft
  private out = new Uint32Array(GATHERED)
  private at = 0
  private lengths = new Uint32Array(1024)

  constructor(
    folder: string,
    number: number,
    private readonly dtype: PartDtype,
    private readonly tokenizer: Tokenizer,
    /** Told how many tokens were written. */
    private readonly told: (tokens: number) => void,
  ) {
    this.draft = Draft.open(partPath(folder, number))
  }

  /** Adds the tokens of a text. One without a token is counted only. */
  add(text: Uint8Array): void {
    // A text has no more tokens than bytes.
    if (this.out.length - this.at < text.length) {
      this.flush()
      if (this.out.length < text.length) this.out = new Uint32Array(text.length)
    }
    const before = this.at
    this.at = this.tokenizer.encode(text, this.out, before)
    this.textBytes += text.length
    if (this.at === before) {
      this.empty++
      return
    }
    if (this.documents === this.lengths.length) {
      const more = new Uint32Array(2 * this.lengths.length)
      more.set(this.lengths)
      this.lengths = more
    }
    this.lengths[this.documents++] = this.at - before
  }

  /** Gives the part its name; returns its checksum. */
  close(): number {
    this.flush()
    this.write(new Uint8Array(this.lengths.buffer, 0, 4 * this.documents))
    this.draft.commit()
    return this.crc
  }

  /** Gives the part up: nothing of it stays. */
  discard(): void {
    this.draft.discard()
  }

  private flush(): void {
    const tokens = this.out.subarray(0, this.at)
    if (this.dtype === 'u32') this.write(new Uint8Array(tokens.buffer, 0, tokens.byteLength))
    else this.write(new Uint8Array(narrow(tokens).buffer))
    this.tokens += this.at
    this.told(this.at)
    this.at = 0
    if (this.out.length > GATHERED) this.out = new Uint32Array(GATHERED)
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

/** Goes over the documents of a part. One that is not as it was written is an error. */
export function readPart(folder: string, part: Part, dtype: PartDtype, each: EachDocument): void {
  const path = partPath(folder, part.number)
  const width = bytesOf(dtype)
  const fd = openSync(path, 'r')
  try {
    const lengths = new Uint32Array(part.documents)
    const tail = new Uint8Array(lengths.buffer)
    readFully(fd, tail, part.tokens * width, path)
    let longest = BLOCK / width
    for (const length of lengths) longest = Math.max(longest, length)
    const raw = new Uint8Array(longest * width)
    const tokens = dtype === 'u32' ? new Uint32Array(raw.buffer) : new Uint32Array(longest)
    let crc = 0
    for (let document = 0, at = 0; document < part.documents; ) {
      let [last, count] = [document, 0]
      while (last < part.documents && count + lengths[last] <= longest) count += lengths[last++]
      const bytes = raw.subarray(0, count * width)
      readFully(fd, bytes, at * width, path)
      crc = crc32(bytes, crc)
      if (dtype === 'u16') tokens.set(new Uint16Array(raw.buffer, 0, count))
      for (let from = 0; document < last; document++) {
        each(tokens, from, from + lengths[document])
        from += lengths[document]
      }
      at += count
    }
    if (crc32(tail, crc) !== part.crc) throw damaged(path)
  } finally {
    closeSync(fd)
  }
}

export function readFully(fd: number, into: Uint8Array, position: number, path: string): void {
  for (let at = 0; at < into.length; ) {
    const got = readSync(fd, into, at, Math.min(into.length - at, 1 << 30), position + at)
    if (got === 0) throw damaged(path)
    at += got
  }
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
