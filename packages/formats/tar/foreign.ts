/**
 * Indexes that other programs left beside a shard. DALI's `train-0000.idx` (made by wds2idx, format 1.2) has one line a
 * sample, `extension offset size name` for each member. With it the bodies need not be read. It is used only if the shard
 * agrees: members in order and inside the file, every member's header as the index has it, only zeros after the last.
 */

import type { ReadAt } from '../../core/source/index/read-at.js'
import { readWhole, type StoreOf } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { BLOCK, isZero, PAX_KEY, type Pax, readPax, readTarHeader, type TarHeader } from './header.js'
import { SampleColumns, splitName } from './samples.js'
import { SMALL } from './scan.js'

/** Bytes of a header between two members that are read. */
const MOST_EXTENSION = 1 << 20

/** The samples as DALI's index has them; undefined when there is none, or none that is right. */
export async function readDaliIndex(
  { file, bytes }: { file: string; bytes: number },
  read: ReadAt,
  stores: StoreOf,
  notice?: (text: string) => void,
): Promise<SampleColumns | undefined> {
  const path = file.replace(/\.tar$/, '.idx')
  if (path === file) return undefined
  try {
    // A member takes more bytes in the shard, by its header alone, than in the index.
    const text = (await readWhole(stores, path, bytes)).toString()
    return await convert(text, file, bytes, read)
  } catch (error) {
    if (isMissing(error)) return undefined
    notice?.(`${path} is not used, the shard is scanned instead: ${(error as Error).message}`)
    return undefined
  }
}

async function convert(text: string, file: string, bytes: number, read: ReadAt): Promise<SampleColumns> {
  const lines = text.trimEnd().split('\n')
  const [version, count] = lines[0].split(' ')
  if (version !== 'v1.2') throw new Error(`it has format "${version}", only v1.2 names the members`)
  if (number(count) !== lines.length - 1)
    throw new Error(`it promises ${count} samples and has ${lines.length - 1}`)

  const samples = new SampleColumns(file)
  const check = new Checker(read)
  let end = 0
  for (let i = 1; i < lines.length; i++) {
    const words = lines[i].split(' ')
    if (words.length % 4 !== 0) throw new Error(`line ${i + 1} is garbled`)
    for (let w = 0; w < words.length; w += 4) {
      const [offset, size, name] = [number(words[w + 1]), number(words[w + 2]), words[w + 3]]
      if (splitName(name)?.extension !== words[w].toLowerCase())
        throw new Error(`line ${i + 1}: extension of "${name}"`)
      if (!(offset % BLOCK === 0 && offset >= end + BLOCK && size >= 0 && offset + size <= bytes)) {
        throw new Error(`line ${i + 1}: "${name}" can't lie at byte ${offset}`)
      }
      if (offset > end + BLOCK) await check.between(end, offset - BLOCK, name)
      end = offset + Math.ceil(size / BLOCK) * BLOCK
      samples.member(name, offset, size, await check.member(name, offset, size))
    }
    if (samples.count !== i) throw new Error(`line ${i + 1} is not one sample of its own`)
  }
  await check.onlyZeros(end, bytes)
  return samples
}

/** A whole number in digits; NaN for anything else. */
function number(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

class Checker {
  private readonly block = Buffer.alloc(BLOCK + SMALL)
  private readonly header: TarHeader = { name: '', size: 0, type: '0' }

  constructor(private readonly read: ReadAt) {}

  /** Compares a member's header with what the index says; gives its bytes if they are few. */
  async member(name: string, offset: number, size: number): Promise<Uint8Array | undefined> {
    const got = await this.read(this.block.subarray(0, BLOCK + Math.min(size, SMALL)), offset - BLOCK)
    if (got < BLOCK + Math.min(size, SMALL)) throw new Error(`the shard ends before "${name}"`)
    const header = readTarHeader(this.block, 0, this.header)
    // A long name stands in an extension before the header, which has only its beginning.
    const named = header.name === name || (name.length > 100 && name.startsWith(header.name))
    if (header.type !== '0' || header.size !== size || !named) {
      throw new Error(
        `at byte ${offset - BLOCK} the shard has "${header.name}" (${header.size} bytes), not "${name}"`,
      )
    }
    return size <= SMALL ? this.block.subarray(BLOCK, BLOCK + size) : undefined
  }

  /**
   * Between two members of the index there are only headers: of folders, links, and PAX, which may say of the next
   * member what the index does not (its sample's key, its size, that it is sparse).
   */
  async between(from: number, to: number, next: string): Promise<void> {
    let at = from
    while (at < to) {
      const { name, size, type } = await this.headerAt(at)
      if (type === '0') throw new Error(`the index leaves out "${name}" at byte ${at}`)
      const body = type >= '1' && type <= '6' ? 0 : size
      if (body > MOST_EXTENSION) throw new Error(`at byte ${at} the shard has a header of ${body} bytes`)
      if (type === 'x' || type === 'X' || type === 'g') await this.pax(at + BLOCK, body, next)
      at += BLOCK + Math.ceil(body / BLOCK) * BLOCK
    }
    if (at !== to) throw new Error(`"${next}" does not begin where the shard has it`)
  }

  private async pax(at: number, size: number, next: string): Promise<void> {
    const buffer = Buffer.alloc(size)
    const got = await this.read(buffer, at)
    if (got < size) throw new Error(`the shard ends before "${next}"`)
    const said: Pax = {}
    readPax(buffer, 0, size, said)
    if (buffer.includes(`${PAX_KEY}=`)) throw new Error('the shard has keys that the index lacks')
    if (said.size !== undefined || (said.path !== undefined && said.path !== next)) {
      throw new Error(`the shard says something else of "${next}"`)
    }
  }

  private async headerAt(at: number): Promise<TarHeader> {
    const got = await this.read(this.block.subarray(0, BLOCK), at)
    if (got < BLOCK) throw new Error(`the shard ends at byte ${at + got}`)
    return readTarHeader(this.block, 0, this.header)
  }

  /** Behind the last member there is the end-of-archive mark, and nothing else. */
  async onlyZeros(from: number, to: number): Promise<void> {
    const buffer = Buffer.alloc(64 << 10)
    if (to - from < BLOCK) throw new Error('the shard ends without the end-of-archive mark')
    for (let at = from; at < to; at += buffer.length) {
      const got = await this.read(buffer.subarray(0, Math.min(buffer.length, to - at)), at)
      buffer.fill(0, got)
      for (let b = 0; b < got; b += BLOCK) {
        if (!isZero(buffer, b)) throw new Error(`the shard goes on at byte ${at + b}, where the index ends`)
      }
    }
  }
}
