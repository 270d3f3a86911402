/**
 * Walks over a tar file from header to header and tells a sink about each regular member. Reads large pieces in
 * sequence and jumps over large bodies. The walk is a state machine over the bytes that it is given; other code reads them.
 */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import type { ReadAt } from '../../core/source/index/read-at.js'
import { BLOCK, isZero, type Pax, readPax, readTarHeader, TarFault, type TarHeader } from './header.js'

/** Pieces grow from the first size to the last while headers follow one another closely: 1 MiB reads are sequential speed on any disk. */
export const PIECE = { first: 64 << 10, last: 1 << 20 }
/** Largest PAX header or long name that is believed. */
const GREATEST_EXTENSION = 1 << 20
/** Longest name of a member, as long as a path may be: a name for all members at once would multiply. */
const LONGEST_NAME = 4096
/** Members up to this size are handed to the sink with their bytes: they lie in the block after their header. */
export const SMALL = 64

export interface TarSink {
  /** A regular member. `small` has its bytes if there are at most 64; valid during the call only. `key`: see `Pax`. */
  member(name: string, offset: number, size: number, small: Uint8Array | undefined, key?: string): void
  /** A hard or symbolic link, which has no bytes of its own. */
  link?(name: string): void
}

/** Scans a whole tar file of `size` bytes. `file` is its name for messages; `first` is the least that is read at a time. */
export async function scanTar(
  read: ReadAt,
  size: number,
  file: string,
  sink: TarSink,
  progress?: (done: number) => void,
  first = PIECE.first,
): Promise<void> {
  const walk = new TarWalk(file, size, sink)
  const last = Math.max(first, PIECE.last)
  let buffer = Buffer.allocUnsafeSlow(Math.min(first, size))
  let piece = first
  let end = 0
  while (!walk.ended) {
    // After a jump over a large body begin small again, since what follows may be another one.
    piece = walk.at - end > piece ? first : Math.min(last, 2 * piece)
    const length = Math.min(Math.max(piece, walk.needs), size - walk.at)
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length)
    const got = length === 0 ? 0 : await read(buffer.subarray(0, length), walk.at)
    if (got < length) throw walk.fault(`the file ends at byte ${walk.at + got}, it had ${size} bytes before`)
    end = walk.at + got
    walk.step(buffer.subarray(0, got))
    progress?.(walk.at)
  }
}

class TarWalk {
  /** Where the next header stands. */
  at = 0
  /** Bytes that must be at hand there. */
  needs = BLOCK
  ended = false
  private readonly header: TarHeader = { name: '', size: 0, type: '0' }
  private readonly everywhere: Pax = {}
  private here: Pax = {}
  private longName: string | undefined
  private last = ''
  /** Where the zeros began that have to reach to the end. */
  private zerosFrom = -1

  constructor(
    private readonly file: string,
    private readonly size: number,
    private readonly sink: TarSink,
  ) {}

  /** Goes on over the bytes at `this.at`, as far as they reach. */
  step(bytes: Buffer): void {
    const start = this.at
    this.needs = BLOCK
    for (;;) {
      const left = start + bytes.length - this.at
      if (this.at === this.size) {
        this.end()
        return
      }
      if (left < BLOCK) {
        if (this.at + BLOCK > this.size) throw this.bad(bytes, 'the file ends within a header')
        return
      }
      const at = this.at - start
      if (isZero(bytes, at)) {
        if (this.zerosFrom < 0) this.zerosFrom = this.at
        this.at += BLOCK
        if (this.size - this.at < BLOCK) this.at = this.size // padding of an odd length
      } else {
        if (this.zerosFrom >= 0) throw this.hole()
        if (!this.block(bytes, at, left)) return
      }
    }
  }

  /** An error at the next header, or wherever `offset` says, naming the file and the member before it. */
  fault(problem: string, offset = this.at, member = ''): SourceError {
    const place = member !== '' ? ` in member "${member}"` : this.last ? ` after member "${this.last}"` : ''
    return inFile(
      this.file,
      `: ${problem} (at byte ${offset}${place}): the archive is damaged or was cut short; ` +
        'copy or write it again',
      { offset },
    )
  }

  /** One header, with as much of its body as is looked at. False: more bytes are needed. */
  private block(bytes: Buffer, at: number, left: number): boolean {
    const header = this.readHeader(bytes, at)
    const { type } = header
    const extension = type === 'x' || type === 'X' || type === 'g' || type === 'L' || type === 'K'
    // Links, devices, directories and pipes have no body, whatever their size says.
    const size = type >= '1' && type <= '6' ? 0 : extension ? header.size : (this.pax('size') ?? header.size)
    const body = this.at + BLOCK
    const next = body + Math.ceil(size / BLOCK) * BLOCK
    if (body + size > this.size) {
      throw this.fault(
        `the file ends at byte ${this.size}, in the middle of this member`,
        this.at,
        this.name(),
      )
    }
    const looked = BLOCK + (extension ? size : type === '0' && size <= SMALL ? size : 0)
    if (extension && size > GREATEST_EXTENSION) throw this.fault(`a header extension of ${size} bytes`)
    if (looked > left) {
      this.needs = looked
      return false
    }
    if (extension) this.extend(type, bytes, at + BLOCK, size)
    else this.member(type, body, size, bytes.subarray(at + BLOCK, at + looked))
    this.at = Math.min(next, this.size)
    return true
  }

  private readHeader(bytes: Buffer, at: number): TarHeader {
    try {
      return readTarHeader(bytes, at, this.header)
    } catch (error) {
      throw error instanceof TarFault ? this.bad(bytes, error.message) : error
    }
  }

  /** A header that says something about the member after it, or about all of them. */
  private extend(type: string, bytes: Buffer, from: number, size: number): void {
    if (type === 'L') {
      const nul = bytes.indexOf(0, from)
      this.longName = bytes.toString('utf8', from, nul < 0 || nul > from + size ? from + size : nul)
    } else if (type !== 'K') {
      try {
        readPax(bytes, from, from + size, type === 'g' ? this.everywhere : this.here)
      } catch (error) {
        if (error instanceof TarFault) throw this.fault(error.message)
        throw error
      }
    }
  }

  private member(type: string, body: number, size: number, small: Uint8Array): void {
    const name = this.name()
    if (name.length > LONGEST_NAME) throw this.fault(`a name of ${name.length} characters`)
    if (type === 'S' || type === 'M') {
      const kind = type === 'S' ? 'is sparse' : 'continues on another volume'
      throw this.fault(`it ${kind}: repack without that`, this.at, name)
    }
    if (type === '1' || type === '2') this.sink.link?.(name)
    if (type === '0') this.sink.member(name, body, size, size <= SMALL ? small : undefined, this.pax('key'))
    this.last = name
    this.here = {}
    this.longName = undefined
  }

  private name(): string {
    return this.longName ?? this.pax('path') ?? this.header.name
  }

  private pax<K extends keyof Pax>(key: K): Pax[K] {
    return this.here[key] ?? this.everywhere[key]
  }

  private end(): void {
    if (this.zerosFrom < 0) throw this.fault('the file ends without the end-of-archive mark')
    this.ended = true
  }

  private hole(): SourceError {
    return this.fault(
      `zeros from byte ${this.zerosFrom} on, and then more data: a hole, or two archives joined`,
      this.at,
    )
  }

  /** A bad header. The very first may be the beginning of another kind of file. */
  private bad(bytes: Buffer, problem: string): SourceError {
    const packed = this.at === 0 ? compression(bytes) : undefined
    if (packed === undefined) return this.fault(problem)
    const unpack = packed === 'gzip' ? 'gunzip' : 'unzstd'
    return inFile(
      this.file,
      `is compressed with ${packed}, so its samples can't be read one by one: unpack it with ` +
        `\`${unpack} -k ${this.file}\` and use the .tar (pictures gain nothing from being packed twice)`,
      { offset: 0 },
    )
  }
}

function compression(bytes: Buffer): string | undefined {
  if (bytes.length < 4) return undefined
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip'
  return bytes.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : undefined
}
