/**
 * Tokenised conversations on disk, in the user's cache folder: tokens and their documents as Megatron-LM has them, a byte of loss
 * mask for each token, and a summary, which is written last. What is not as it was written is made anew.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { cacheFolder } from '../../core/system/files/cache-folder.js'
import { Draft, writeWhole } from '../../core/system/files/draft.js'
import { openTokenWriter } from '../prepare/tokens/write/open.js'
import type { TokenWriter } from '../prepare/tokens/write/writer.js'

/** Facts about the conversations. */
export interface ChatSummary {
  /** Rows of the source inside. */
  conversations: number
  tokens: number
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
  return { ...reported, ...pathsOf(path) }
}

function pathsOf(path: string): Record<(typeof ENDINGS)[number], string> {
  return { bin: `${path}.bin`, idx: `${path}.idx`, mask: `${path}.mask` }
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

/** Writes them; the summary appears last. */
export class ChatWriter {
  private readonly tokens: TokenWriter
  private readonly mask: Draft

  constructor(
    private readonly path: string,
    dtype: 'u16' | 'i32',
  ) {
    try {
      this.mask = Draft.open(`${path}.mask`)
      this.tokens = openTokenWriter(path, { format: 'megatron', dtype, overwrite: true })
    } catch (cause) {
      throw new SourceError(
        `can't keep tokenised conversations in ${dirname(path)}: ${(cause as Error).message}; set MILLRACE_CACHE to a folder that can be written`,
        { file: path, cause },
      )
    }
  }

  add(tokens: Uint32Array, mask: Uint8Array, lengths: Uint32Array): void {
    let at = 0
    for (const length of lengths) this.tokens.document(tokens, at, (at += length))
    this.mask.write(mask)
  }

  async commit(summary: ChatSummary): Promise<KeptChat> {
    await this.tokens.finish()
    this.mask.commit()
    const files = Object.fromEntries(
      ENDINGS.map(ending => {
        const file = `${this.path}.${ending}`
        return [ending, { size: statSync(file).size, md5: md5Of(file) }]
      }),
    )
    writeWhole(`${this.path}.json`, `${JSON.stringify({ ...summary, files })}\n`)
    return { ...summary, ...pathsOf(this.path) }
  }

  discard(): void {
    this.tokens.abort()
    this.mask.discard()
  }
}
