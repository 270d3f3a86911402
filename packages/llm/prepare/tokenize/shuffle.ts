/**
 * Shuffles documents within a limit of memory. A document's place follows from the seed and its number among all documents alone: it has a
 * random key, and documents are sorted by their keys. How much memory there is decides only how that is done: documents are
 * dealt into buckets, files of neighbouring keys, and each bucket is sorted in memory.
 *
 *   bucket   words of 32 bits. For each document: its number (low half, high half), its length, its tokens
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import { hashText, Random } from '../../../core/basics/random.js'
import { type EachDocument, readWhole } from './parts.js'

/** Bytes of memory for each document, besides its tokens: its key, its place, its rank. */
const PER_DOCUMENT = 32
/** Files that are open at the same time. */
const MOST_BUCKETS = 512
/** Bytes of a bucket that a memory of JavaScript holds on every version. */
const MOST_BYTES = 2 ** 31
/** Buckets differ in size; so much larger than the average at most. */
const UNEVEN = 1.25
/** Words before the tokens of a document. */
const HEADER = 3
/** Words that are gathered for a bucket at least. */
const LEAST_BUFFER = 1024

export interface ShuffleOptions {
  seed: number
  memory: number
  documents: number
  tokens: number
  folder: string
}

/** Takes documents in their order, and gives them out in another. */
export class Shuffle {
  private readonly random = new Random()
  private readonly stream = hashText('tokenize shuffle')
  private readonly buckets: Bucket[]
  private next = 0

  constructor(private readonly options: ShuffleOptions) {
    const { documents, tokens, memory, folder } = options
    const bytes = (4 * tokens + (PER_DOCUMENT + 4 * HEADER) * documents) * UNEVEN
    const count = Math.max(1, Math.ceil(bytes / Math.min(memory / 2, MOST_BYTES)))
    if (count > MOST_BUCKETS)
      throw new SourceError(
        `${memory} bytes of memory are too little to shuffle ${documents} documents of ${tokens} tokens: give --memory ` +
          `${Math.ceil((2 * bytes) / MOST_BUCKETS / 2 ** 20)}MiB or more`,
      )
    const room = Math.max(LEAST_BUFFER, Math.floor(memory / 16 / count))
    this.buckets = Array.from({ length: count }, (_, i) => new Bucket(join(folder, `${i}.bucket`), room))
  }

  get files(): number {
    return this.buckets.length
  }

  add(tokens: Uint32Array, from: number, to: number): void {
    const number = this.next++
    const bucket = this.buckets[Math.floor(this.key(number) * this.buckets.length)]
    bucket.add(number, tokens, from, to)
  }

  /** All documents, in their new order. `then` is called after each bucket. */
  async each(document: EachDocument, then: () => Promise<void>): Promise<void> {
    for (const bucket of this.buckets) bucket.flush()
    for (const bucket of this.buckets) {
      const words = bucket.take()
      const places = new Uint32Array(bucket.documents)
      const keys = new Float64Array(bucket.documents)
      for (let i = 0, at = 0; i < places.length; i++) {
        places[i] = at
        keys[i] = this.key(words[at] + words[at + 1] * 2 ** 32)
        at += HEADER + words[at + 2]
      }
      // Equal keys stay in the order of their numbers.
      const order = Uint32Array.from(places, (_, i) => i).sort((a, b) => keys[a] - keys[b] || a - b)
      for (const i of order) {
        const from = places[i] + HEADER
        document(words, from, from + words[from - 1])
      }
      await then()
    }
  }

  close(): void {
    for (const bucket of this.buckets) bucket.close()
  }

  private key(number: number): number {
    return this.random.key(this.options.seed, 0, number, this.stream).next()
  }
}

class Bucket {
  documents = 0
  private readonly fd: number
  private buffer: Uint32Array
  private filled = 0
  private bytes = 0

  constructor(
    private readonly path: string,
    room: number,
  ) {
    this.fd = openSync(path, 'w+')
    this.buffer = new Uint32Array(room)
  }

  add(number: number, tokens: Uint32Array, from: number, to: number): void {
    this.documents++
    this.put(Uint32Array.of(number, Math.floor(number / 2 ** 32), to - from), 0, HEADER)
    this.put(tokens, from, to)
  }

  /** Everything is in the file; nothing more is added. */
  flush(): void {
    this.write(this.buffer, 0, this.filled)
    this.filled = 0
  }

  take(): Uint32Array {
    this.buffer = new Uint32Array(0)
    const words = new Uint32Array(this.bytes / 4)
    readWhole(this.fd, new Uint8Array(words.buffer), 0, this.path)
    return words
  }

  close(): void {
    closeSync(this.fd)
    rmSync(this.path, { force: true })
  }

  private put(words: Uint32Array, from: number, to: number): void {
    const count = to - from
    if (this.filled + count > this.buffer.length) this.flush()
    if (count > this.buffer.length) this.write(words, from, to)
    else for (let i = from; i < to; i++) this.buffer[this.filled++] = words[i]
  }

  private write(words: Uint32Array, from: number, to: number): void {
    const bytes = new Uint8Array(words.buffer, words.byteOffset + 4 * from, 4 * (to - from))
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.fd, bytes, at)
    } catch (error) {
      throw Object.assign(error as Error, { path: this.path })
    }
    this.bytes += bytes.length
  }
}
