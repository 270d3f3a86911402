/**
 * Compiled vocabularies on disk, in the user's cache folder: reading one takes milliseconds, compiling one seconds. A file is called by
 * what it was made of; what is not as it was written is made anew.
 */
import { createHash } from 'node:crypto'
import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { cacheFolder } from '../../../core/system/files/cache-folder.js'
import { Draft } from '../../../core/system/files/draft.js'
import { readFrom } from '../../../core/system/files/regular.js'
import type { CompiledVocabulary } from './compile.js'

/** Changes with the tables and the kernel. */
const VERSION = 4
/** The file: u32 bytes of the header, u32 CRC of the header, u32 CRC of the tables, the header as JSON, the tables. */
const FRONT = 12

export function compiledPath(text: Uint8Array, detail: string): string {
  const hash = createHash('sha256').update(`${VERSION} ${detail}\n`).update(text).digest('hex')
  return join(cacheFolder(), 'tokenizers', `${hash.slice(0, 32)}.tables`)
}

/** The compiled vocabulary that is kept; undefined where there is none that can be believed. */
export function readCompiled(path: string): CompiledVocabulary | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return undefined
  }
  const fill = (into: Uint8Array, from: number): boolean => readFrom(file, into, from) === into.length
  try {
    const { size } = fstatSync(file)
    const front = Buffer.alloc(FRONT)
    if (!fill(front, 0)) return undefined
    const length = front.readUInt32LE(0)
    if (FRONT + length > size) return undefined
    const header = Buffer.alloc(length)
    if (!fill(header, FRONT) || crc32(header) !== front.readUInt32LE(4)) return undefined
    // Straight into shared memory: it goes to other threads without a copy.
    const memory = new Uint8Array(new SharedArrayBuffer(size - FRONT - length))
    if (!fill(memory, FRONT + length) || crc32(memory) !== front.readUInt32LE(8)) return undefined
    return { ...(JSON.parse(header.toString()) as Omit<CompiledVocabulary, 'memory'>), memory }
  } catch {
    return undefined
  } finally {
    closeSync(file)
  }
}

/** Keeps a compiled vocabulary. Where that can't be, it is compiled again next time. */
export function keepCompiled(path: string, { memory, ...reported }: CompiledVocabulary): void {
  const header = Buffer.from(JSON.stringify(reported))
  const front = Buffer.alloc(FRONT)
  front.writeUInt32LE(header.length)
  front.writeUInt32LE(crc32(header), 4)
  front.writeUInt32LE(crc32(memory), 8)
  try {
    mkdirSync(dirname(path), { recursive: true })
    const draft = Draft.open(path)
    try {
      for (const part of [front, header, memory]) draft.write(part)
      draft.commit(false)
    } catch (error) {
      draft.discard()
      throw error
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}
