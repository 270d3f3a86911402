/**
 * Compiled vocabularies on disk, in the user's cache folder: reading one takes milliseconds, compiling one seconds. A file is called by
 * what it was made of; what is not as it was written is made anew.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder } from '../../system/files/cache-folder.js'
import { Draft } from '../../system/files/draft.js'
import type { CompiledVocabulary } from './compile.js'

/** Changes with the tables and the kernel. */
const VERSION = 1
/** The file: u32 bytes of the header, 16 bytes checksum of all that follows, the header as JSON, the tables. */
const FRONT = 20

/** Where the tables of a vocabulary file are kept. */
export function compiledPath(text: Uint8Array, detail: string): string {
  const hash = createHash('sha256').update(`${VERSION} ${detail}\n`).update(text).digest('hex')
  return join(cacheFolder(), 'tokenizers', `${hash.slice(0, 32)}.tables`)
}

/** The compiled vocabulary that is kept; undefined where there is none that can be believed. */
export function readCompiled(path: string): CompiledVocabulary | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch {
    return undefined
  }
  if (bytes.length < FRONT) return undefined
  const header = bytes.readUInt32LE(0)
  const body = bytes.subarray(FRONT)
  if (header > body.length || !checksum(body).equals(bytes.subarray(4, FRONT))) return undefined
  const told = JSON.parse(body.toString('utf8', 0, header)) as Omit<CompiledVocabulary, 'memory'>
  const memory = new Uint8Array(new SharedArrayBuffer(body.length - header))
  memory.set(body.subarray(header))
  return { ...told, memory }
}

/** Keeps a compiled vocabulary. Where that can't be, it is compiled again next time. */
export function keepCompiled(path: string, { memory, ...told }: CompiledVocabulary): void {
  const header = Buffer.from(JSON.stringify(told))
  const body = Buffer.concat([header, memory])
  const front = Buffer.alloc(FRONT)
  front.writeUInt32LE(header.length)
  checksum(body).copy(front, 4)
  try {
    mkdirSync(dirname(path), { recursive: true })
    const draft = Draft.open(path)
    try {
      draft.write(front)
      draft.write(body)
      draft.commit(false)
    } catch (error) {
      draft.discard()
      throw error
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}

function checksum(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest()
}
