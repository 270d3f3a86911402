/**
 * Tokenised conversations on disk, in the user's cache folder: tokens and their documents as Megatron-LM has them, a byte of loss
 * mask for each token, and a summary, which is written last. What is not as it was written is made anew.
 */
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { cacheFolder } from '../../core/system/files/cache-folder.js'
import { Draft, writeWhole } from '../../core/system/files/draft.js'

/** What is known of the conversations. */
export interface ChatSummary {
  /** Rows of the source inside. */
  conversations: number
  tokens: number
  /** Tokens that are trained on. */
  trained: number
  /** Rows that were left out: how many, and the first of them. */
  dropped: number
  examples: string[]
  /** Rows whose contents have the name of a special token. */
  named: number
}

export interface KeptChat extends ChatSummary {
  bin: string
  idx: string
  mask: string
}

const ENDINGS = ['bin', 'idx', 'mask'] as const
/** Files of up to this size in all are compared with their checksums when they are opened, larger ones by their sizes. In bytes. */
const CHECKED = 96 << 20

interface SummaryFile extends ChatSummary {
  files: Record<(typeof ENDINGS)[number], { size: number; md5: string }>
}

/** Where the tokens of some conversations are kept, without an ending. */
export function keptPath(key: string): string {
  return join(cacheFolder(), 'chat', key)
}

/** What is kept; undefined where there is none that can be believed. */
export function readKept(path: string): KeptChat | undefined {
  let summary: SummaryFile
  try {
    summary = JSON.parse(readFileSync(`${path}.json`, 'utf8'))
    const sizes = ENDINGS.map(ending => statSync(`${path}.${ending}`).size)
    if (sizes.some((size, i) => size !== summary.files[ENDINGS[i]].size)) return undefined
    const all = sizes.reduce((sum, size) => sum + size, 0)
    if (all <= CHECKED && ENDINGS.some(ending => md5Of(`${path}.${ending}`) !== summary.files[ending].md5))
      return undefined
  } catch {
    return undefined
  }
  const { files: _, ...reported } = summary
  return { ...reported, bin: `${path}.bin`, idx: `${path}.idx`, mask: `${path}.mask` }
}

function md5Of(path: string): string {
  const hash = createHash('md5')
  const fd = openSync(path, 'r')
  try {
    const piece = Buffer.allocUnsafe(1 << 20)
    for (;;) {
      const got = readSync(fd, piece)
      if (got === 0) return hash.digest('hex')
      hash.update(piece.subarray(0, got))
    }
  } finally {
    closeSync(fd)
  }
}

/** Writes them; nothing has a name before all is there. */
export class ChatWriter {
  private readonly drafts: Draft[] = []
  private readonly hashes = ENDINGS.map(() => createHash('md5'))
  private readonly lengths: Uint32Array[] = []

  constructor(
    private readonly path: string,
    private readonly dtype: 'u16' | 'i32',
  ) {
    try {
      mkdirSync(dirname(path), { recursive: true })
      for (const ending of ENDINGS) this.drafts.push(Draft.open(`${path}.${ending}`))
    } catch (cause) {
      this.discard()
      throw new SourceError(
        `can't keep tokenised conversations in ${dirname(path)}: ${(cause as Error).message}; set MILLRACE_CACHE to a folder that can be written`,
        { file: path, cause },
      )
    }
  }

  add(tokens: Uint32Array, mask: Uint8Array, lengths: Uint32Array): void {
    const stored = this.dtype === 'u16' ? Uint16Array.from(tokens) : Int32Array.from(tokens)
    this.write(0, new Uint8Array(stored.buffer))
    this.write(2, mask)
    this.lengths.push(lengths)
  }

  commit(summary: ChatSummary): KeptChat {
    const index = megatronIndex(this.lengths, this.dtype)
    this.write(1, index)
    const files = Object.fromEntries(
      ENDINGS.map((ending, i) => [ending, { size: this.drafts[i].bytes, md5: this.hashes[i].digest('hex') }]),
    )
    for (const draft of this.drafts) draft.commit()
    writeWhole(`${this.path}.json`, `${JSON.stringify({ ...summary, files })}\n`)
    return { ...summary, bin: `${this.path}.bin`, idx: `${this.path}.idx`, mask: `${this.path}.mask` }
  }

  discard(): void {
    for (const draft of this.drafts) draft.discard()
  }

  private write(file: number, bytes: Uint8Array): void {
    this.drafts[file].write(bytes)
    this.hashes[file].update(bytes)
  }
}

/** Bytes before the lengths: magic, version, type of tokens, counts of sequences and of borders of documents. */
const HEADER = 34

/** The .idx of Megatron-LM: a sequence is a document. */
function megatronIndex(parts: readonly Uint32Array[], dtype: 'u16' | 'i32'): Buffer {
  const count = parts.reduce((sum, { length }) => sum + length, 0)
  const bytes = dtype === 'u16' ? 2 : 4
  const index = Buffer.alloc(HEADER + 12 * count + 8 * (count + 1))
  index.write('MMIDIDX\0\0', 'latin1')
  index.writeBigUInt64LE(1n, 9)
  index.writeUInt8(dtype === 'u16' ? 8 : 4, 17)
  index.writeBigUInt64LE(BigInt(count), 18)
  index.writeBigUInt64LE(BigInt(count + 1), 26)
  let [i, pointer] = [0, 0]
  for (const part of parts) {
    for (const length of part) {
      index.writeUInt32LE(length, HEADER + 4 * i)
      index.writeBigUInt64LE(BigInt(pointer), HEADER + 4 * count + 8 * i)
      pointer += length * bytes
      i++
    }
  }
  for (let border = 0; border <= count; border++)
    index.writeBigUInt64LE(BigInt(border), HEADER + 12 * count + 8 * border)
  return index
}
